"""What does a test with a kernel of its own get for free?

`lab` for LANs, `vm`: a booted VM with the product installed, not enabled, and every cable out. Everything is removed
after each test; when one fails, console, journal and DHCP log are kept and the report says where.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from factories import installed, keep_evidence, leave_out, started, uncaptured
from harness import Lab, Lan
from vm.harness import Frozen, Vm, frozen, obstacle, thaw

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything below this directory: it is of the lab, and slower."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)
            item.add_marker(pytest.mark.vm)


@pytest.fixture(scope="session")
def lab_session(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The run's lab for VMs."""
    leave_out(obstacle())
    yield from started(request)


@pytest.fixture
def lab(lab_session: Lab) -> Iterator[Lab]:
    """An empty lab; what the test makes in it is removed afterwards."""
    yield lab_session
    lab_session.clear()


@pytest.fixture
def lan(lab: Lab) -> Lan:
    """10.88.0.0/24 and fd88::/64 with DHCPv4, SLAAC and DNS."""
    return lab.lan()


@pytest.fixture(scope="session")
def frozen_vm(request: pytest.FixtureRequest, lab_session: Lab) -> Frozen:  # noqa: ARG001 -- decides the skip
    """The VM that all tests go on from, booted once for each state of the sources."""
    product = installed(request)
    with uncaptured(request):
        return frozen(product)


@pytest.fixture
def vm(lab: Lab, frozen_vm: Frozen) -> Vm:
    """A copy of the frozen VM."""
    return thaw(lab, frozen_vm)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the evidence of a failed test while its VM still exists."""
    report = yield
    if HERE in item.path.parents:
        keep_evidence(item, report)
    return report
