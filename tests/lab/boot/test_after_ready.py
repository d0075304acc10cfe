"""A node that is ready, and a program that fails: the network, the published files and kubelet stay as they are."""

from __future__ import annotations

import time

import pytest

from factories import NodeFactory
from harness import Flavour, Lan, Node
from story import STATIC, causes, disk_times, network, node_file, nothing_left, settle, stage, story

WATCHDOG = "/etc/systemd/system/nodenetd.service.d/lab.conf"
ABSENT = """interfaces:
- name: eth9
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 10.88.9.50
      prefix-length: 24
"""


LATE_MAC = "52:54:00:88:00:99"
ABSENT_BY_MAC = ABSENT.replace(
    "- name: eth9\n", f"- name: uplink\n  identifier: mac-address\n  mac-address: {LATE_MAC}\n"
)


def waits_for_udev(node: Node) -> list[str]:
    return [str(line["MESSAGE"]) for line in story(node) if "which udev may still bring" in str(line["MESSAGE"])]


def main_pid(node: Node, unit: str) -> str:
    return node.run(f"systemctl show -p MainPID --value {unit}").stdout.strip()


def test_a_daemon_that_hangs_is_started_again_and_changes_nothing(product_node: NodeFactory) -> None:
    """Systemd's watchdog ends it; kubelet is not restarted."""
    files = {node_file("worker-0.yml"): STATIC, WATCHDOG: "[Service]\nWatchdogSec=3\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.record("kubelet")
    before, hung = (network(node), disk_times(node)), main_pid(node, "nodenetd")
    node.run(["kill", "-STOP", hung])
    another = f"p=$(systemctl show -p MainPID --value nodenetd); test $p -gt 0 -a $p != {hung} && nodenetctl status"
    node.wait_until(another, timeout=60)
    assert settle(node)["health"] == "ok"
    assert (network(node), disk_times(node)) == before
    assert node.record("kubelet").starts == 1


def test_a_network_manager_that_crashes_after_ready_costs_nothing(product_node: NodeFactory) -> None:
    """It is started again, finds its links as they are, and nodenetd looks again: the same node IP, nothing written."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    node.record("kubelet")
    before, killed, daemon = network(node), main_pid(node, "NetworkManager"), main_pid(node, "nodenetd")
    files = disk_times(node)
    node.run(["kill", "-KILL", killed])
    another = f"p=$(systemctl show -p MainPID --value NetworkManager); test $p -gt 0 -a $p != {killed} && nm-online -s"
    node.wait_until(another, timeout=60)
    again = settle(node)
    assert (again["health"], again["node_ips"]) == ("ok", document["node_ips"])
    assert (network(node), disk_times(node), main_pid(node, "nodenetd")) == (before, files, daemon)
    assert node.record("kubelet").starts == 1


def test_a_boot_without_journald_ends_as_any_other(product_node: NodeFactory) -> None:
    """What cannot be logged costs nothing but the line."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    for unit in ("systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket"):
        (node.path("/etc/systemd/system") / unit).symlink_to("/dev/null")
    node.boot()
    document = settle(node, timeout=60)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"


def test_a_nic_that_is_missing_is_named(product_node: NodeFactory) -> None:
    """After 20 s kubelet starts on the lease that the node has, and the status names the NIC. Nothing was touched."""
    node = product_node(files={node_file("worker-0.yml"): ABSENT}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], document["last_error"]["stage"]) == ("degraded", "nmstate")
    assert "eth9" in document["last_error"]["cause"]
    assert len([cause for cause in causes(node) if "eth9" in cause]) == 1
    assert 19 < float(stage(document, "nmstate")["waited"]) < 25
    assert len(waits_for_udev(node)) == 1
    assert node.record("kubelet").starts == 1
    assert "10.88.9.50" not in str(network(node)["addresses"])
    assert network(node)["keyfiles"] == ""
    assert node.run("test -e /var/lib/nodenet/intent.json", check=False).returncode == 1
    audits = [str(line["MESSAGE"]) for line in node.journal("NetworkManager") if "audit:" in str(line["MESSAGE"])]
    assert [line for line in audits if "checkpoint" in line or "connection-" in line] == []
    began = time.monotonic()
    assert node.run("systemctl reload nodenetd", check=False).returncode != 0
    assert time.monotonic() - began < 15, "who asks for the file gets the answer at once"
    assert len(waits_for_udev(node)) == 1
    nothing_left(node)


@pytest.mark.parametrize(
    ("text", "link"), [(ABSENT, "eth9"), (ABSENT_BY_MAC, LATE_MAC)], ids=["by name", "by MAC address"]
)
def test_a_nic_that_udev_brings_late_is_waited_for(product_node: NodeFactory, lan: Lan, text: str, link: str) -> None:
    """Its driver loads after NetworkManager has started. The reason is visible, kubelet waits, and the file holds."""
    node = product_node(files={node_file("worker-0.yml"): text}, flavour=Flavour.OPENSHIFT)
    node.boot()
    reason = f"the link {link} of worker-0.yml, which udev may still bring"
    node.wait_until(f"nodenetctl status --json | grep -q '{reason}'", timeout=30)
    time.sleep(4)
    assert not node.started("kubelet")
    lan.plug("late9", node.netns, "eth9", LATE_MAC)
    document = settle(node)
    assert (document["health"], stage(document, "nmstate")["status"]) == ("ok", "done")
    assert stage(document, "nmstate")["detail"].startswith("Applied worker-0.yml and verified it in ")
    assert node.addresses("eth9") == ["10.88.9.50"]
    assert len(waits_for_udev(node)) == 1
    assert node.record("kubelet").starts == 1
    assert causes(node) == []
    nothing_left(node)
