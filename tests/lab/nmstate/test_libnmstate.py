"""What does libnmstate do to a real NetworkManager: apply, keep, undo, and what it says when it cannot?

Every call is a process of its own on the node, so a checkpoint is known by what `apply` returned and nothing else.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from factories import uncaptured
from harness import Lab, LabError, Node, eventually
from nmstate_call import call, failure
from story import BRIDGE, STATIC, checkpoints, mtu, network, with_mtu

BUILD = Path(__file__).resolve().parents[3] / "packaging" / "libnmstate" / "build_wheel.py"
PACKAGES = "usr/lib/python3/dist-packages"
KEYFILES = "/etc/NetworkManager/system-connections"
FORCED_SPEED = """  state: up
  ethernet:
    auto-negotiation: false
    speed: 1000
    duplex: full
"""


def assert_as_before(node: Node, before: dict[str, Any]) -> None:
    """Assert that the network comes back to *before*, and that no checkpoint is left."""

    def settled() -> bool:
        return network(node) == before and checkpoints(node) == "ao 0"

    try:
        eventually(settled, "the network as before", timeout=20, pause=0.3)
    except LabError:
        assert network(node) == before
        assert checkpoints(node) == "ao 0"


def applied(node: Node, document: str, **options: Any) -> str:
    """Apply without commit; returns the checkpoint, which NetworkManager has, and no other."""
    checkpoint = call(node, "apply", document, commit=False, **options)
    assert checkpoints(node) == f'ao 1 "{checkpoint}"'
    return str(checkpoint)


@pytest.fixture(scope="module")
def layer(
    request: pytest.FixtureRequest,
    lab_session: Lab,  # noqa: ARG001 -- decides the skip
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The unpacked wheel, where any Python of the node finds it."""
    with uncaptured(request):
        wheel = subprocess.run([sys.executable, BUILD], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    tree = tmp_path_factory.mktemp("libnmstate")
    tree.chmod(0o755)  # it becomes the node's root directory
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tree / PACKAGES)
    return tree


@pytest.fixture(scope="module")
def fresh_node(lab_session: Lab, layer: Path) -> Iterator[Callable[[str], Node]]:
    """Boots nodes with libnmstate on one LAN; they live as long as this module's tests."""
    lan = lab_session.lan()

    def make(name: str) -> Node:
        node = lab_session.node(name, nics=[lan], layers=[layer])
        node.boot()
        node.wait_settled()
        node.wait_until("ip -6 address show dev eth0 scope global | grep fd88 && grep 10.88.0.1 /etc/resolv.conf")
        return node

    yield make
    lab_session.clear()


@pytest.fixture(scope="module")
def shared_node(fresh_node: Callable[[str], Node]) -> tuple[Node, dict[str, Any]]:
    """One node for all tests that leave the network as it was, and how it was."""
    node = fresh_node("worker-0")
    return node, network(node)


@pytest.fixture
def node(shared_node: tuple[Node, dict[str, Any]]) -> Iterator[Node]:
    """The shared node; whatever the test did, the network must be as before when it ends."""
    node, before = shared_node
    if checkpoints(node) != "ao 0":  # of a test that failed
        call(node, "rollback")
    yield node
    assert_as_before(node, before)


def test_it_runs_under_the_nodes_python(node: Node) -> None:
    """The module that is tested is the built one, under the Python of the node."""
    found = node.run(["python3", "-c", "import libnmstate, sys; print(libnmstate.__file__, sys.version_info[:2])"])
    assert found.stdout.strip() == f"/{PACKAGES}/libnmstate/__init__.py (3, 14)"


def test_rollback_puts_everything_back(node: Node) -> None:
    """Addresses, routes, resolver and profiles are as before (the fixture compares them)."""
    before = network(node)
    checkpoint = applied(node, STATIC)
    assert node.addresses() == ["10.88.0.50"]
    after = network(node)
    assert [what for what in ("addresses", "routes", "keyfiles") if after[what] == before[what]] == []
    call(node, "rollback", checkpoint=checkpoint)


def test_rollback_without_a_name_takes_the_newest(node: Node) -> None:
    """As with the official binding, the checkpoint need not be named."""
    applied(node, with_mtu(1450))
    assert mtu(node) == 1450
    call(node, "rollback")


def test_a_second_apply_finds_the_first_ones_checkpoint(node: Node) -> None:
    """It is refused, and the first checkpoint stays good."""
    first = applied(node, with_mtu(1450))
    refused = failure(node, "apply", with_mtu(1460), commit=False)
    assert (refused.kind, refused.fields["checkpoint"]) == ("NmstateCheckpointBusyError", None)
    assert checkpoints(node) == f'ao 1 "{first}"'
    assert mtu(node) == 1450
    call(node, "rollback", checkpoint=first)


def test_nobody_commits_in_time(node: Node, shared_node: tuple[Node, dict[str, Any]]) -> None:
    """NetworkManager undoes the change by itself; a commit after that is told so, and so is a rollback."""
    checkpoint = applied(node, STATIC, rollback_timeout=3)
    assert_as_before(node, shared_node[1])
    for late in ("commit", "rollback"):
        assert failure(node, late, checkpoint=checkpoint).kind == "NmstateCheckpointGoneError"


def test_a_state_that_does_not_hold(node: Node) -> None:
    """Verification fails, the error names the checkpoint it went back to, the network is as before."""
    unheeded = STATIC.replace("  state: up\n", FORCED_SPEED)  # NetworkManager only warns that a veth has no speed
    broken = failure(node, "apply", unheeded, commit=False)
    assert broken.kind == "NmstateVerificationError"
    assert "eth0.interface.ethernet" in broken.said
    assert broken.fields["checkpoint"].startswith("/org/freedesktop/NetworkManager/Checkpoint/")
    assert broken.fields["rollback_error"] is None


def test_network_manager_is_stopped(node: Node) -> None:
    """That is no fault of the document: the error says which service to wait for."""
    node.run("systemctl mask --runtime --now NetworkManager")  # only stopped, the bus would start it again
    try:
        refused = failure(node, "apply", with_mtu(1450))
    finally:
        node.run("systemctl unmask --runtime NetworkManager && systemctl start NetworkManager && nm-online -s -q")
    assert (refused.kind, refused.fields["backend"]) == ("NmstateBackendUnavailableError", "NetworkManager")
    assert refused.fields["checkpoint"] is None


def test_open_vswitch_is_stopped(node: Node) -> None:
    """A document with an Open vSwitch bridge names ovsdb as what is missing, and changes nothing."""
    node.run("systemctl stop ovsdb-server.socket openvswitch-switch ovsdb-server ovs-vswitchd")
    try:
        refused = failure(node, "apply", BRIDGE)
    finally:
        node.run("systemctl start ovsdb-server.socket openvswitch-switch")
    assert (refused.kind, refused.fields["backend"]) == ("NmstateBackendUnavailableError", "ovsdb")


def test_an_unknown_key_is_found_before_anything_is_touched(node: Node) -> None:
    """NetworkManager is not even asked for a checkpoint."""
    before = last_checkpoint(node)
    wrong = with_mtu(1450).replace("  mtu:", "  mtuu:")
    refused = failure(node, "apply", wrong, commit=False)
    assert (refused.kind, refused.fields["interface"], refused.fields["key"]) == ("NmstateValueError", "eth0", "mtuu")
    assert refused.fields["line"] == wrong.splitlines().index("- name: eth0") + 1
    assert refused.fields["checkpoint"] is None
    assert last_checkpoint(node) == before


def last_checkpoint(node: Node) -> str:
    """Return the last record of a checkpoint in NetworkManager's audit log."""
    entries = [str(entry["MESSAGE"]) for entry in node.journal("NetworkManager")]
    return next((text for text in reversed(entries) if "checkpoint" in text), "")


def test_a_state_for_this_boot_only(node: Node) -> None:
    """With save_to_disk=False no keyfile is written."""
    keyfiles = f"ls -A {KEYFILES}"
    before = node.run(keyfiles).stdout
    checkpoint = applied(node, with_mtu(1450), save_to_disk=False)
    assert mtu(node) == 1450
    assert node.run(keyfiles).stdout == before
    call(node, "rollback", checkpoint=checkpoint)


def test_commit_keeps_the_change(fresh_node: Callable[[str], Node]) -> None:
    """The checkpoint is gone, the address stays, over a reboot as well."""
    node = fresh_node("worker-1")
    checkpoint = applied(node, STATIC)
    call(node, "commit", checkpoint=checkpoint)
    assert checkpoints(node) == "ao 0"
    assert node.addresses() == ["10.88.0.50"]
    node.reboot()
    node.wait_settled()
    assert node.addresses() == ["10.88.0.50"]
    assert "nameserver 10.88.0.1" in node.run("cat /etc/resolv.conf").stdout
    node.off()  # the next node gets the same address


def test_the_br_ex_document_twice(fresh_node: Callable[[str], Node]) -> None:
    """The second apply changes nothing: no profile is another or activated again, no port is made anew."""
    node = fresh_node("worker-2")
    assert call(node, "apply", BRIDGE) is None
    assert node.addresses("br-ex") == ["10.88.0.50"]
    before = identities(node)
    call(node, "apply", BRIDGE)
    assert identities(node) == before
    assert checkpoints(node) == "ao 0"


def identities(node: Node) -> dict[str, Any]:
    """Return the network with all that would be another if it had been made again."""
    return {
        **network(node),
        "links": node.run("ip -o link | cut -d: -f1,2").stdout,
        "active": node.run("nmcli -t -f UUID,ACTIVE-PATH connection show --active | sort").stdout,
        "ports": node.run("ovs-vsctl --columns=_uuid,name --format=csv list Interface | sort").stdout,
        # A profile written again gets the time of its last activation beside what it had.
        "keyfiles": node.run(f"grep -v ^timestamp= {KEYFILES}/*").stdout,
    }
