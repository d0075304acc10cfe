"""Who is ordered after an old name or a stage starts when that stage is over, and nothing of it makes a circle."""

from __future__ import annotations

import json
from typing import Any

import pytest

from factories import NodeFactory
from harness import Flavour, LabError, Node
from story import STATIC, causes, node_file, nothing_left, settle, stage, told_of_cycles

OLD_NAMES = {
    "node-valid-hostname.service": "hostname",
    "nmstate-configuration.service": "nmstate",
    "on-prem-resolv-prepender.service": "resolv-prepender",
    "nodeip-configuration.service": "nodeip",
    "wait-for-node-ip.service": "nodeip",
    "ovs-configuration.service": "configure-ovs",
}
FOLLOWER = """[Unit]
After={name}
Before=kubelet-dependencies.target crio.service kubelet.service
{more}
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'mkdir -p /run/lab; cat /run/nodenet/state.json >/run/lab/{follower}'
[Install]
WantedBy=multi-user.target
"""
KDUMP = """[Unit]
DefaultDependencies=no
After=network.target network-online.target remote-fs.target basic.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
[Install]
WantedBy=multi-user.target
"""
"""kdump.service of Fedora, CentOS Stream and RHEL: its ordering lines are facts."""
OVER = {"done", "skipped"}


def follow(node: Node, name: str, more: str = "") -> str:
    """Add a unit that is ordered after *name*, as a MachineConfig does, and keeps the state it saw; return its file."""
    follower = f"after-{name.replace('@', '-').removesuffix('.service')}"
    node.write(f"/etc/systemd/system/{follower}.service", FOLLOWER.format(name=name, follower=follower, more=more))
    node.enable(f"{follower}.service")
    return f"/run/lab/{follower}"


def saw(node: Node, path: str) -> dict[str, Any]:
    """Return the status document a follower saw."""
    document: dict[str, Any] = json.loads(node.run(["cat", path]).stdout)
    return document


def test_units_behind_the_old_names_start_behind_their_stage(product_node: NodeFactory) -> None:
    """With the names enabled, whoever says After= one of them sees its stage settled; kubelet waits for all of them."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.enable("nodenet-compat.target")
    paths = {name: follow(node, name) for name in OLD_NAMES}
    stage_path = follow(node, "nodenet-wait@nodeip.service", more="Requires=nodenet-wait@nodeip.service")
    node.delay_unit("NetworkManager.service", 5)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.record("kubelet")
    for name, path in paths.items():
        assert stage(saw(node, path), OLD_NAMES[name])["status"] in OVER, name
        shown = node.run(["systemctl", "show", "-p", "Id", "--value", name]).stdout.strip()
        assert shown == f"nodenet-compat-{name}"
    assert stage(saw(node, stage_path), "nodeip")["status"] in OVER
    assert saw(node, paths["nmstate-configuration.service"])["hostname"] == "worker-0"
    assert saw(node, paths["nodeip-configuration.service"])["node_ips"] == ["10.88.0.50"]
    assert node.wait_settled() == "running"
    assert told_of_cycles(node) == []


def test_units_behind_the_old_names_boot_without_them_too(product_node: NodeFactory) -> None:
    """Not enabled, the names do not exist: nobody is held, and the boot is the same."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    for name in OLD_NAMES:
        node.write(
            f"/etc/systemd/system/behind-{name}",
            f"[Unit]\nAfter={name}\nBefore=kubelet-dependencies.target\n[Service]\nType=oneshot\nExecStart=/bin/true\n"
            "[Install]\nWantedBy=multi-user.target\n",
        )
        node.enable(f"behind-{name}")
    node.boot()
    assert settle(node)["health"] == "ok"
    node.record("kubelet")
    assert node.wait_settled() == "running"
    assert told_of_cycles(node) == []
    loaded = node.run(["systemctl", "show", "-p", "LoadState", "--value", *OLD_NAMES]).stdout.split()
    assert set(loaded) == {"not-found"}


@pytest.mark.parametrize("flavour", Flavour)
def test_kdump_makes_no_cycle_and_kubelet_starts(product_node: NodeFactory, flavour: Flavour) -> None:
    """kdump.service is ordered after network-online.target, which is ordered after nodenetd (R62)."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=flavour)
    node.write("/etc/systemd/system/kdump.service", KDUMP)
    node.enable("kdump.service", "nodenet-compat.target")
    for _ in range(2):
        node.boot()
        assert node.wait_settled() == "running"
        assert told_of_cycles(node) == []
        assert settle(node)["health"] == "ok"
        node.record("kubelet")
        node.run(["systemctl", "is-active", "kdump.service"])
        node.off()


def test_a_real_unit_keeps_its_name(product_node: NodeFactory) -> None:
    """Where it is in /etc, its name is not given away: it starts itself, and its stand-in does nothing."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.write(
        "/etc/systemd/system/ovs-configuration.service",
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/touch /run/the-real-one\n",
    )
    with pytest.raises(LabError, match="already exists"):
        node.enable("nodenet-compat.target")
    node.boot()
    assert settle(node)["health"] == "ok"
    node.run("systemctl start ovs-configuration.service && test -e /run/the-real-one")
    shown = node.run("systemctl show -p ConditionResult --value nodenet-compat-ovs-configuration.service").stdout
    assert shown.strip() == "no"
    assert node.wait_settled() == "running"
    assert told_of_cycles(node) == []


def test_a_name_that_would_hold_the_boot_in_a_circle_gives_up(product_node: NodeFactory) -> None:
    """The real nmstate-configuration is after nodeip-configuration, whose stage comes later: it runs all the same."""
    settings = '[stages]\nnmstate = "unit:nmstate-configuration.service"\n'
    node = product_node(files={"/etc/nodenet/nodenet.toml": settings}, flavour=Flavour.OPENSHIFT)
    node.write(
        "/etc/systemd/system/nmstate-configuration.service",
        "[Unit]\nAfter=nodeip-configuration.service\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        "ExecStart=/bin/touch /run/the-real-one\n",
    )
    with pytest.raises(LabError, match="already exists"):
        node.enable("nodenet-compat.target")
    node.boot()
    assert settle(node)["ready"]
    assert node.run("test -e /run/the-real-one", check=False).returncode == 0
    show = ["systemctl", "show", "-p", "ExecMainStatus", "--value", "nodeip-configuration.service"]
    assert node.run(show).stdout.strip() == "78"
    why = [str(entry["MESSAGE"]) for entry in node.journal("nodenet-compat-nodeip-configuration.service")]
    assert any("nmstate-configuration.service does the stage nmstate and is ordered after" in line for line in why)
    node.record("kubelet")


def test_a_watcher_sees_a_reload_and_a_bus_that_is_restarted(product_node: NodeFactory) -> None:
    """As somebody who may not change anything; each step once."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.wait_settled()
    node.run("systemd-run --unit=watcher --uid=nobody -p StandardOutput=file:/run/watched nodenetctl monitor --json")
    node.wait_until("grep -q 'kubelet may run' /run/watched")
    node.wait_until("busctl list | grep -q 'watcher.service'")
    node.run("systemctl reload nodenetd", timeout=60)
    node.wait_until('test $(grep -c \'"nodeip", "status": "done"\' /run/watched) = 2')
    events = [json.loads(line) for line in node.run("cat /run/watched").stdout.splitlines()]
    steps = [event["status"] for event in events if (event["kind"], event["subject"]) == ("stage", "nodeip")]
    assert steps == ["done", "pending", "running", "done"]
    node.run("systemctl kill --signal=KILL --kill-whom=main dbus.service")
    node.wait_until('grep -q \'"bus", "status": "away"\' /run/watched')
    node.wait_until("systemctl is-active dbus.service || systemctl start dbus.service")
    node.wait_until('grep -q \'"bus", "status": "back"\' /run/watched')


def test_the_time_line_of_a_boot(product_node: NodeFactory) -> None:
    """The boot before this one and this one, from the node's journal: each wait, READY, then CRI-O, then kubelet."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.delay_unit("NetworkManager.service", 3)
    node.boot()
    settle(node)
    node.record("kubelet")
    node.reboot()
    settle(node)
    node.record("kubelet")
    node.wait_settled()
    boots = node.json(["nodenetctl", "boot-report", "--boots", "5", "--json"])
    assert len(boots) == 2
    for boot in boots:
        spans = {span["actor"]: span for span in boot["spans"]}
        waits = [span["text"] for span in boot["spans"] if span["kind"] == "wait" and span["actor"] == "nmstate"]
        assert waits[0] == "NetworkManager is not on the bus yet"
        assert spans["NetworkManager"]["end"] <= boot["ready"] <= spans["crio"]["start"] <= spans["kubelet"]["start"]
        assert boot["unreadable"] == 0
        assert 0 < boot["share"] < 1
    text = node.run("nodenetctl boot-report -b -1").stdout
    assert "waiting: NetworkManager is not on the bus yet" in text
    assert max(len(line) for line in text.splitlines()) <= 100
    node.run("nodenetctl boot-report --svg /root/boot.svg")
    assert node.run("cat /root/boot.svg").stdout == node.run("nodenetctl boot-report --svg -").stdout


def test_a_node_without_the_units_of_cri_o_and_open_vswitch(product_node: NodeFactory) -> None:
    """Other units name them. The boot is as any other, and kubelet starts."""
    node = product_node(flavour=Flavour.PLAIN)
    for unit in ("crio", "openvswitch-switch", "ovsdb-server", "ovs-vswitchd"):
        node.path(f"/usr/lib/systemd/system/{unit}.service").unlink()
    node.boot()
    document = settle(node)
    assert document["health"] == "ok"
    assert node.run("systemctl show -P LoadState crio.service ovsdb-server.service").stdout.split() == ["not-found"] * 2
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert told_of_cycles(node) == []
    assert causes(node) == []
    nothing_left(node)
