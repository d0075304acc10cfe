"""The chain over the bus: stages that units do, stages that somebody holds, buses that misbehave."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from br_ex.test_make import DHCP_ONLY
from br_ex.test_more import BRIDGED4
from factories import NodeFactory
from harness import Flavour, Lan, Node
from nodenet.core.messages import Message
from old_units import STUBS, old_unit
from story import STATIC, causes, node_file, settle, stage, status, story

MANAGER = "org.nodenet1 /org/nodenet1 org.nodenet1.Manager"


def told(node: Node, message: Message) -> int:
    """Return how often the journal was told of *message*."""
    return sum(entry.get("MESSAGE_ID") == message.value for entry in story(node))


def provided_by(name: str, provider: str) -> dict[str, str]:
    """Return settings in which *provider* does stage *name*."""
    return {"/etc/nodenet/nodenet.toml.d/50-test.toml": f'[stages]\n{name} = "{provider}"\n'}


@pytest.mark.parametrize("name", STUBS)
def test_each_stage_as_a_unit(product_node: NodeFactory, name: str) -> None:
    """The unit is started once, awaited, believed; the others are ours; a reload does not start it again."""
    files = old_unit(name, STUBS[name]) | provided_by(name, f"unit:old-{name}.service")
    files |= {node_file("cluster.yml"): STATIC} if name == "nmstate" else {}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node, timeout=90)
    done = stage(document, name)
    assert (done["status"], done["provider"]) == ("done", f"unit:old-{name}.service"), document
    assert document["health"] == "ok"
    assert node.run(f"cat /run/lab-{name}.runs").stdout == "run\n"
    assert node.record("kubelet").starts == 1
    node.run(["nodenetctl", "reload", "--wait"], timeout=90)
    assert node.run(f"cat /run/lab-{name}.runs").stdout == "run\n"
    assert causes(node) == []


@pytest.mark.parametrize("name", [name for name in STUBS if name != "nodeip"])
def test_each_stage_skipped(product_node: NodeFactory, name: str) -> None:
    """The chain goes on without it."""
    node = product_node(files=provided_by(name, "skip"), flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node, timeout=90)
    assert stage(document, name)["detail"] == "switched off in the settings"
    assert (document["health"], len(document["node_ips"]) > 0) == ("ok", True)
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]


def test_a_unit_that_fails_and_is_mended_by_hand(product_node: NodeFactory) -> None:
    """One cause line that names it; kubelet runs, degraded; its next good run ends the failure by itself."""
    files = old_unit("resolv-prepender", "test -e /run/mended; touch /run/resolv-prepender-kni-conf-done")
    files |= provided_by("resolv-prepender", "unit:old-resolv-prepender.service")
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node, timeout=90)
    assert document["health"] == "degraded"
    assert causes(node) == ["old-resolv-prepender.service failed (exit-code)"]
    assert "journalctl -u old-resolv-prepender.service" in document["last_error"]["remedy"]
    node.run("touch /run/mended; systemctl start old-resolv-prepender.service")
    node.wait_until('nodenetctl status --json | grep -q \'"health": "ok"\'', timeout=20)


def test_a_unit_that_hangs_is_named_with_its_job(product_node: NodeFactory) -> None:
    """Nobody needs to search for what the boot waits for."""
    files = old_unit("resolv-prepender", "sleep 600") | provided_by(
        "resolv-prepender", "unit:old-resolv-prepender.service"
    )
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("systemctl show -p StatusText --value nodenetd | grep -q 'old-resolv-prepender.*job'", timeout=40)
    assert not node.started("kubelet")
    assert stage(status(node), "resolv-prepender")["status"] == "waiting"


def test_a_unit_that_waits_for_what_waits_for_nodenetd(product_node: NodeFactory) -> None:
    """Systemd sees no cycle: the boot goes on without the unit, which runs then and ends the failure (R62)."""
    name = "old-resolv-prepender.service"
    files = old_unit("resolv-prepender", STUBS["resolv-prepender"]) | provided_by("resolv-prepender", f"unit:{name}")
    ordered = "[Unit]\nWants=lab-middle.service\nAfter=lab-middle.service\n"
    middle = "[Unit]\nWants=network-online.target\nAfter=network-online.target\n"
    files[f"/etc/systemd/system/{name}"] = ordered + files[f"/etc/systemd/system/{name}"]
    files["/etc/systemd/system/lab-middle.service"] = f"{middle}[Service]\nType=oneshot\nExecStart=/bin/true\n"
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node, timeout=90)
    chain = ("lab-middle.service", "network-online.target", "nodenetd.service", "this stage")
    assert causes(node) == [f"{name} waits for {', which waits for '.join(chain)}"]
    assert node.record("kubelet").starts == 1
    node.wait_until('nodenetctl status --json | grep -q \'"health": "ok"\'', timeout=40)


@pytest.mark.parametrize(
    ("unit", "words"),
    [("missing.service", "there is no missing.service"), ("old-resolv-prepender.service", "is masked")],
    ids=["not-found", "masked"],
)
def test_a_unit_that_cannot_be_started(product_node: NodeFactory, unit: str, words: str) -> None:
    """A failure at once, with the remedy; never a wait."""
    node = product_node(files=provided_by("resolv-prepender", f"unit:{unit}"), flavour=Flavour.OPENSHIFT)
    if words == "is masked":
        node.path(f"/etc/systemd/system/{unit}").symlink_to("/dev/null")
    node.boot()
    document = settle(node, timeout=90)
    assert document["health"] == "degraded"
    assert words in document["last_error"]["cause"]


HOLD = "systemd-run --unit=lab-holder --collect --property=Type=exec /usr/bin/python3 /usr/local/libexec/hold"
HOLDER = """
import os, sys
sys.path.insert(0, "/usr/lib/nodenet")
import asyncio
from dbus_next.aio import MessageBus
from dbus_next import BusType, Message


async def main():
    bus = await MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect()
    while True:
        reply = await bus.call(Message(
            destination="org.nodenet1", path="/org/nodenet1", interface="org.nodenet1.Manager", member="Inhibit",
            signature="sss", body=["nodeip", "lab", "looks at the node"]))
        if reply.signature == "h":
            break
        await asyncio.sleep(0.05)
    await asyncio.Event().wait()


asyncio.run(main())
"""


def test_a_held_stage_waits_and_kubelet_with_it(product_node: NodeFactory) -> None:
    """Who and why are in status, journal and on the bus; the hold ends with its process."""
    node = product_node(files={"/usr/local/libexec/hold": HOLDER}, flavour=Flavour.OPENSHIFT)
    node.delay_unit("NetworkManager.service", 5)
    node.boot()
    node.run(HOLD)
    node.wait_until("nodenetctl status --json | grep -q 'inhibited by lab: looks at the node'", timeout=40)
    path = "/org/nodenet1/stage/nodeip org.nodenet1.Stage"
    assert '"lab" "looks at the node"' in node.run(f"busctl get-property org.nodenet1 {path} Held").stdout
    shown = node.run("systemctl show -p StatusText --value nodenetd").stdout.strip()
    assert shown == "nodeip: inhibited by lab: looks at the node"
    assert not node.started("kubelet")
    node.run("systemctl kill --signal=KILL lab-holder.service")
    assert settle(node)["health"] == "ok"
    assert node.record("kubelet").starts == 1


def test_every_object_is_found_by_the_usual_programs(product_node: NodeFactory) -> None:
    """Busctl walks the tree; a stage is run by its own object."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    tree = node.run("busctl tree --list org.nodenet1").stdout.split()
    assert "/org/nodenet1" in tree
    assert "/org/nodenet1/stage/configure_ovs" in tree
    described = node.run("busctl introspect org.nodenet1 /org/nodenet1/stage/nodeip").stdout
    assert "org.nodenet1.Stage" in described
    node.run("busctl call org.nodenet1 /org/nodenet1/stage/nodeip org.nodenet1.Stage Run")
    assert settle(node)["health"] == "ok"
    refused = node.run(f"busctl call {MANAGER} RunStage s no-such-stage", check=False).stderr
    assert "there is no stage 'no-such-stage'. Stages are: hostname" in refused
    assert json.loads(node.run(f"busctl --json=short call {MANAGER} GetStatus").stdout)["data"]


def test_without_the_policy_file_the_boot_goes_on(product_node: NodeFactory) -> None:
    """The bus refuses the name: one line says so, the state file says the rest."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.path("/usr/share/dbus-1/system.d/org.nodenet1.conf").unlink()
    node.boot()
    assert settle(node)["health"] == "ok"
    assert node.record("kubelet").environment["KUBELET_NODE_IP"]
    assert told(node, Message.BUS_NAMELESS) == 1
    assert node.run(f"busctl call {MANAGER} GetStatus", check=False).returncode != 0


SQUATTER = """
import asyncio, sys
sys.path.insert(0, "/usr/lib/nodenet")
from dbus_next.aio import MessageBus
from dbus_next import BusType


async def main():
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    await bus.request_name("org.nodenet1")
    await asyncio.Event().wait()


asyncio.run(main())
"""


def test_a_name_that_somebody_else_owns(product_node: NodeFactory) -> None:
    """The boot goes on; the name is ours when it becomes free."""
    unit = (
        "[Unit]\nAfter=dbus.service\nBefore=nodenetd.service\n[Service]\nType=dbus\nBusName=org.nodenet1\n"
        "ExecStart=/usr/bin/python3 /usr/local/libexec/squat\n[Install]\nWantedBy=multi-user.target\n"
    )
    files = {"/usr/local/libexec/squat": SQUATTER, "/etc/systemd/system/lab-squatter.service": unit}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.enable("lab-squatter.service")
    node.boot()
    assert settle(node)["health"] == "ok"
    assert told(node, Message.BUS_NAMELESS) == 1
    node.run("systemctl stop lab-squatter.service")
    node.wait_until(f"busctl call {MANAGER} GetStatus", timeout=20)


UNTIL_TOLD = "while ! test -e /run/lab-go-on; do sleep 0.2; done"
"""What a unit does until the bus misbehaves."""


def stopped(seconds: int) -> str:
    """Return a command that stops the bus for that time; the unit of a stage ends in it."""
    return (
        "systemctl kill --signal=STOP --kill-whom=main dbus.service; touch /run/lab-go-on;"
        f" sleep {seconds}; systemctl kill --signal=CONT --kill-whom=main dbus.service"
    )


FAULTS = {
    "stopped": stopped(12),
    "killed": (
        "systemctl kill --signal=KILL --kill-whom=main dbus.service; touch /run/lab-go-on; sleep 1;"
        " systemctl start dbus.service; systemctl restart NetworkManager.service"
    ),
}


MOMENTS = {
    "br-ex-is-made": "test -e /run/nodeip-configuration/br-ex-up",
    "hosted-services": "test -e /run/lab-hosted-services.runs",
    "ready": "systemctl is-active nodenetd",
}


@pytest.mark.parametrize(("name", "fault"), list(zip(STUBS, itertools.cycle(FAULTS), strict=False)))
def test_the_bus_misbehaves_during_each_stage(product_node: NodeFactory, name: str, fault: str) -> None:
    """The stage's unit ends while the bus carries no signals: its end is read, the boot ends as it would have.

    Each stage has one of the two faults; the simulation draws either of them at any moment of a boot.
    """
    files = old_unit(name, f"{UNTIL_TOLD}\n{STUBS[name]}") | provided_by(name, f"unit:old-{name}.service")
    files |= {node_file("cluster.yml"): STATIC} if name == "nmstate" else {}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until(f"test -e /run/lab-{name}.runs", timeout=40)
    # systemd gives up a NetworkManager that cannot get on the bus, and nothing starts it again: no fault of a stage.
    node.wait_until("systemctl is-active NetworkManager.service", timeout=10)
    node.run(FAULTS[fault], timeout=100)
    document = settle(node, timeout=120)
    assert (document["health"], document["node_ips"][:1]) == ("ok", node.addresses()[:1])
    assert node.run(f"cat /run/lab-{name}.runs").stdout == "run\n"
    assert node.record("kubelet").starts == 1
    assert causes(node) == []
    node.wait_until(f"busctl call {MANAGER} GetStatus", timeout=30)


@pytest.mark.parametrize(("moment", "seconds"), [("br-ex-is-made", 60), ("hosted-services", 12), ("ready", 12)])
def test_the_bus_stops_late_in_the_chain(product_node: NodeFactory, lan: Lan, moment: str, seconds: int) -> None:
    """Right after br-ex, in the last stage, at READY: the boot ends as it would have, on br-ex, without a complaint.

    A minute is longer than every time-out of a call; in the other moments it is enough that signals get lost.
    """
    lan.start_dhcp(DHCP_ONLY)
    files = {"/etc/nodenet/nodenet.toml.d/10-lab.toml": BRIDGED4}
    if moment == "hosted-services":
        files |= old_unit(moment, UNTIL_TOLD) | provided_by(moment, f"unit:old-{moment}.service")
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until(MOMENTS[moment], timeout=60)
    node.run(stopped(seconds), timeout=100)
    document = settle(node, timeout=120)
    assert (document["health"], document["link"], document["last_error"]) == ("ok", "br-ex", None)
    assert document["node_ips"] == node.addresses("br-ex")
    assert node.record("kubelet").starts == 1
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert node.run("systemctl show -p NRestarts --value nodenetd").stdout == "0\n"
    # nodenetd asks once a minute: it may have asked and had its answer just before and just after.
    warned = [line["MESSAGE"] for line in story(node) if int(line["PRIORITY"]) <= 4]
    assert warned in ([], ["The system bus does not answer; nodenetd goes on without it"])
    node.wait_until(f"busctl call {MANAGER} GetStatus", timeout=30)
    of_bus = json.loads(node.run(f"busctl --json=short call {MANAGER} GetStatus").stdout)["data"][0]
    assert json.loads(of_bus)["stages"] == document["stages"]


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    """The other bus, dbus-broker, as a layer over a node; from the package of the machine's own Debian."""
    done = subprocess.run(["apt-get", "download", "dbus-broker"], cwd=tmp_path, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("Debian's package dbus-broker cannot be fetched")
    (package,) = tmp_path.glob("dbus-broker_*.deb")
    layer = tmp_path / "layer"
    subprocess.run(["dpkg-deb", "-x", package, layer], check=True)
    units = layer / "usr/lib/systemd/system"
    if not units.exists():  # packages from before the merge of /usr
        units.parent.mkdir(parents=True, exist_ok=True)
        (layer / "lib/systemd/system").rename(units)
        shutil.rmtree(layer / "lib")
    alias = layer / "etc/systemd/system/dbus.service"
    alias.parent.mkdir(parents=True)
    alias.symlink_to("/usr/lib/systemd/system/dbus-broker.service")
    return layer


def test_on_dbus_broker_all_is_the_same(product_node: NodeFactory, product: Path, broker: Path) -> None:
    """Boot, name, objects, units, holds with their descriptors, and a broker that is killed."""
    files = {"/usr/local/libexec/hold": HOLDER}
    files |= old_unit("resolv-prepender", f"sleep 5\n{STUBS['resolv-prepender']}")
    files |= provided_by("resolv-prepender", "unit:old-resolv-prepender.service")
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, layers=[product, broker])
    node.boot()
    node.wait_until("test -e /run/lab-resolv-prepender.runs", timeout=40)
    assert node.run("systemctl show -p Id --value dbus.service").stdout.strip() == "dbus-broker.service"
    node.run(HOLD)
    node.wait_until("nodenetctl status --json | grep -q 'inhibited by lab: looks at the node'", timeout=40)
    node.run("systemctl kill --signal=KILL lab-holder.service")
    assert settle(node, timeout=90)["health"] == "ok"
    assert "/org/nodenet1/stage/nodeip" in node.run("busctl tree --list org.nodenet1").stdout.split()
    node.run(FAULTS["killed"], timeout=60)
    node.wait_until(f"busctl call {MANAGER} GetStatus", timeout=30)
    assert node.record("kubelet").starts == 1
    assert causes(node) == []
