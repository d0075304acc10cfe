"""The chain over the bus: stages that units do, stages that somebody holds, buses that misbehave."""

from __future__ import annotations

import json

import pytest

from factories import NodeFactory
from harness import Flavour
from story import STATIC, causes, node_file, settle, stage, status

MANAGER = "org.nodenet1 /org/nodenet1 org.nodenet1.Manager"
PUBLISHED = "10.88.0.50"
STUBS = {
    # stage → what a unit that does it leaves behind
    "hostname": "hostnamectl set-hostname worker-0",
    "nmstate": "cp /etc/nmstate/openshift/cluster.yml /etc/nmstate/openshift/applied",
    "resolv-prepender": "touch /run/resolv-prepender-kni-conf-done",
    "nodeip": (
        "mkdir -p /run/nodeip-configuration; for i in $(seq 100); do"
        " ip=$(ip -4 -o address show dev eth0 scope global | sed 's,.*inet ,,; s,/.*,,;q'); test -n \"$ip\" && break;"
        " sleep 0.1; done; printf %s $ip > /run/nodeip-configuration/primary-ip;"
        " cp /run/nodeip-configuration/primary-ip /run/nodeip-configuration/ipv4"
    ),
    "configure-ovs": "mkdir -p /run/nodeip-configuration; touch /run/nodeip-configuration/br-ex-up",
    "hosted-services": "true",
}


def old_unit(name: str, script: str) -> dict[str, str]:
    """Return a oneshot that writes down each of its runs, as the units that nodenetd replaces are made."""
    text = f"""[Unit]
Description=Recording stub of the stage {name}
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo run >> /run/lab-{name}.runs'
ExecStart=/bin/sh -ec '{script.replace("'", chr(34)) if "'" in script and '"' not in script else ""}'
"""
    path = f"/usr/local/libexec/old-{name}"
    text = text.rsplit("ExecStart=", 1)[0] + f"ExecStart=/bin/sh -e {path}\n"
    return {f"/etc/systemd/system/old-{name}.service": text, path: script + "\n"}


def provided_by(name: str, provider: str) -> dict[str, str]:
    """Return settings in which *provider* does stage *name*."""
    return {"/etc/nodenet/nodenet.toml": f'[stages]\n{name} = "{provider}"\n'}


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
    node.wait_until("nodenetctl status --json | grep -q 'held by lab: looks at the node'", timeout=40)
    path = "/org/nodenet1/stage/nodeip org.nodenet1.Stage"
    assert '"lab" "looks at the node"' in node.run(f"busctl get-property org.nodenet1 {path} Held").stdout
    shown = node.run("systemctl show -p StatusText --value nodenetd").stdout.strip()
    assert shown == "nodeip: held by lab: looks at the node"
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
