"""What does a boot test get for free?

`lan` (DHCPv4, SLAAC), `lab` for more than that, `bare_node` and `product_node` to define nodes. Everything is
removed after each test; when one fails, console, journal and DHCP log are kept and the report says where.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from factories import NO_BRIDGE, NodeFactory, installed, keep_evidence, started
from harness import Lab, Lan, Node

HERE = Path(__file__).parent
NODENETD = "nodenetd.service"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything below this directory, so that `-m "not lab"` leaves the whole tier out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)


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
def bare_node(lab: Lab, lan: Lan) -> NodeFactory:
    """Defines nodes without the product."""

    def make(name: str = "worker-0", **options: object) -> Node:
        return lab.node(name, **{"nics": [lan], **options})  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def product(request: pytest.FixtureRequest, lab_session: Lab) -> Path:  # noqa: ARG001 -- decides the skip
    """The product's install tree, made once for each state of the sources."""
    return installed(request)


@pytest.fixture
def product_node(bare_node: NodeFactory, product: Path) -> NodeFactory:
    """Defines nodes with the product installed and enabled; give `flavour` for kubelet and CRI-O."""

    def make(name: str = "worker-0", **options: object) -> Node:
        given: dict[str, str | bytes] = options.pop("files", {})  # type: ignore[assignment]
        files = NO_BRIDGE | given
        return bare_node(name, **{"layers": [product], "enable": [NODENETD], "files": files, **options})

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the evidence of a failed test while its nodes still exist."""
    report = yield
    if HERE in item.path.parents:
        keep_evidence(item, report)
    return report
