"""What does a boot test get for free?

`lan` (DHCPv4, SLAAC), `lab` for more than that, `bare_node` and `product_node` to define nodes. Everything is
removed after each test; when one fails, console, journal and DHCP log are kept and the report says where.
"""

import functools
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from factories import NO_BRIDGE, NodeFactory, installed, keep_evidence, started
from harness import Lab, Lan, Node, Suite
from harness.rootfs import DEFAULT
from images import Images
from suites import MAIN_BOOTS

HERE = Path(__file__).parent
NODENETD = "nodenetd.service"
PINGS = {"/etc/sysctl.d/50-lab.conf": "net.ipv4.ping_group_range = 0 2147483647\n"}
"""As systemd sets it, where a distribution does not leave that to a package of its own, as Debian does."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything below this directory, so that `-m "not lab"` leaves the whole tier out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the main boots on every suite."""
    path = Path(metafunc.module.__file__ or "")
    main = MAIN_BOOTS.get(str(path.relative_to(HERE)), set()) if HERE in path.parents else set()
    if metafunc.function.__name__ in main:
        metafunc.parametrize("suite", Suite, ids=lambda suite: suite.value, indirect=True)


@pytest.fixture(scope="session")
def lab_session(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The run's lab: it builds the root file system when there is none yet."""
    yield from started(request)


@pytest.fixture
def lab(lab_session: Lab) -> Iterator[Lab]:
    """An empty lab; what the test makes in it is removed afterwards."""
    yield lab_session
    lab_session.clear()


@pytest.fixture
def lan(lab: Lab) -> Lan:
    """10.88.0.0/24 and fd88::/64 with DHCPv4, SLAAC and DNS; `lan.start_dhcp(Dhcp(…))` changes that."""
    return lab.lan()


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> Suite:
    """The Debian that the test's nodes boot: the default, and for the main boots each of them."""
    found: Suite = getattr(request, "param", DEFAULT)
    return found


@pytest.fixture
def bare_node(lab: Lab, lan: Lan, suite: Suite) -> NodeFactory:
    """Defines nodes without the product."""

    def make(name: str = "worker-0", **options: object) -> Node:
        return lab.node(name, **{"nics": [lan], "suite": suite, **options})  # type: ignore[arg-type]

    return make


@pytest.fixture
def images(lab_session: Lab) -> Iterator[Images]:  # noqa: ARG001 -- decides the skip
    """A builder of images. A test whose nodes boot one names it before `lab` and `lan`: those end first."""
    with Images() as made:
        yield made


@pytest.fixture(scope="session")
def products(request: pytest.FixtureRequest, lab_session: Lab) -> Callable[[Suite], Path]:  # noqa: ARG001 -- decides the skip
    """The product's install tree for a suite, made once for each state of the sources."""
    return functools.cache(functools.partial(installed, request))


@pytest.fixture(scope="session")
def product(products: Callable[[Suite], Path]) -> Path:
    """The product's install tree for the default suite."""
    return products(DEFAULT)


@pytest.fixture
def product_node(bare_node: NodeFactory, products: Callable[[Suite], Path], suite: Suite) -> NodeFactory:
    """Defines nodes with the product installed and enabled; give `flavour` for kubelet and CRI-O."""

    def make(name: str = "worker-0", **options: object) -> Node:
        given: dict[str, str | bytes] = options.pop("files", {})  # type: ignore[assignment]
        files = NO_BRIDGE | PINGS | given
        return bare_node(name, **{"layers": [products(suite)], "enable": [NODENETD], "files": files, **options})

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the evidence of a failed test while its nodes still exist."""
    report = yield
    if HERE in item.path.parents:
        keep_evidence(item, report)
    return report
