"""What do both tiers of booted nodes share? Their labs, the product's tree, and the evidence of a failure."""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import Lab, Node, Suite, host, install_product
from harness.product import DEFAULT_TREE, Tree
from harness.rootfs import DEFAULT

ARTIFACTS = Path(__file__).resolve().parents[2] / "build" / "lab-artifacts"
LABS = pytest.StashKey[list[Lab]]()

NO_BRIDGE = {"/etc/nodenet/nodenet.toml.d/10-lab.toml": 'on_failure = "degrade"\n[stages]\nconfigure-ovs = "skip"\n'}
"""Most boots are about something else than br-ex, or than a failing file that holds kubelet; others write this file."""
NodeFactory = Callable[..., Node]
"""Takes what `Lab.node()` takes; `nics` defaults to one NIC on the `lan`."""


@contextlib.contextmanager
def uncaptured(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let progress lines reach the terminal while something slow is made."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        yield


def leave_out(why: str | None) -> None:
    """Skip the tier if it cannot run here; fail it if that is not allowed."""
    if why and os.environ.get("NODENET_REQUIRE_LAB") == "1":
        pytest.fail(f"NODENET_REQUIRE_LAB=1, and the lab cannot run: {why}")
    if why:
        pytest.skip(why)


def started(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Yield a lab that lives as long as the fixture."""
    leave_out(host.obstacle())
    with uncaptured(request):
        made = Lab()
    labs = request.config.stash.setdefault(LABS, [])
    labs.append(made)
    yield made
    labs.remove(made)
    made.close()


def installed(request: pytest.FixtureRequest, suite: Suite = DEFAULT, kind: Tree = DEFAULT_TREE) -> Path:
    """Return the product's install tree, made once for each state of the sources."""
    with uncaptured(request):
        return install_product(suite=suite, kind=kind)


def keep_evidence(item: pytest.Item, report: pytest.TestReport) -> None:
    """Keep what a failed test's nodes told, while they still exist."""
    labs = item.config.stash.get(LABS, [])
    if report.failed and report.when != "teardown" and labs:
        directory = ARTIFACTS / re.sub(r"[^A-Za-z0-9_.-]+", "-", item.name)
        shutil.rmtree(directory, ignore_errors=True)
        for lab in labs:
            lab.keep(directory)
        report.sections.append(("lab artifacts", f"console, journal and DHCP log: {directory}"))
