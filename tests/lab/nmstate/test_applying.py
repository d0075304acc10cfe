"""What an apply does to a node, and what is left when it does not hold."""

from __future__ import annotations

import pytest

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from nodenet.core.messages import Message
from saboteur import add_saboteur
from story import (
    BRIDGE,
    CRIO,
    KUBELET,
    RUN,
    STATIC,
    causes,
    disk_times,
    mtu,
    network,
    node_file,
    nothing_left,
    ready_monotonic,
    settle,
    stage,
    story,
    with_mtu,
)

WRONG = STATIC.replace(
    "  state: up\n", "  state: up\n  ethernet: {speed: 100, duplex: half, auto-negotiation: false}\n", 1
)
"""Syntactically right, and impossible here: the lab's cables have no speed that could be set."""


@pytest.mark.parametrize("flavour", list(Flavour))
def test_the_static_document(product_node: NodeFactory, flavour: Flavour) -> None:
    """Address, DNS and route as written; kubelet and CRI-O get the node IP, and start after READY."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=flavour)
    node.boot()
    document = settle(node)
    assert (document["health"], document["node_ips"], document["link"]) == ("ok", ["10.88.0.50"], "eth0")
    kubelet, crio = node.record("kubelet"), node.record("crio")
    assert kubelet.environment["KUBELET_NODE_IP"] == kubelet.environment["KUBELET_NODE_IPS"] == "10.88.0.50"
    assert crio.environment["CONTAINER_STREAM_ADDRESS"] == "10.88.0.50"
    assert min(kubelet.monotonic, crio.monotonic) > ready_monotonic(node)
    assert node.addresses() == ["10.88.0.50"]
    (default,) = [route for route in kubelet.routes if route["dst"] == "default" and "gateway" in route]
    assert (default["gateway"], default["dev"]) == ("10.88.0.1", "eth0")
    assert "nameserver 10.88.0.1" in kubelet.resolv_conf
    assert node.run(f"cat {RUN}/primary-ip").stdout == "10.88.0.50"
    assert node.run(f"cat {RUN}/ipv4").stdout == "10.88.0.50"
    assert node.run(f"test -e {RUN}/ipv6", check=False).returncode == 1
    assert node.run("cmp /etc/nmstate/openshift/applied /etc/nmstate/openshift/worker-0.yml").returncode == 0
    assert causes(node) == []
    nothing_left(node)


def test_the_br_ex_document(product_node: NodeFactory) -> None:
    """The node IP is on br-ex, and configure-ovs stands aside."""
    files = {node_file("worker-0.yml"): BRIDGE, **dict.fromkeys(NO_BRIDGE, "")}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["health"], document["node_ips"], document["link"]) == ("ok", ["10.88.0.50"], "br-ex")
    assert node.run("test -e /run/nodeip-configuration/br-ex-up").returncode == 0
    skipped = stage(document, "configure-ovs")
    assert (skipped["status"], skipped["detail"]) == ("skipped", "worker-0.yml defines br-ex itself")
    assert "br-ex" in node.record("kubelet").ovs
    assert node.addresses("br-ex") == ["10.88.0.50"]
    node.reboot()
    document = settle(node)
    assert (document["health"], document["node_ips"], document["link"]) == ("ok", ["10.88.0.50"], "br-ex")
    assert stage(document, "nmstate")["status"] == "skipped"


def test_a_file_is_checked_on_the_node_that_has_applied_it(product_node: NodeFactory) -> None:
    """By the libnmstate that the daemon uses, bundled where the system has none; nothing of the node changes."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.PLAIN)
    node.boot()
    settle(node)
    before = network(node)
    assert node.run(["nodenetctl", "check", node_file("worker-0.yml")]).stdout.startswith("worker-0.yml: good (")
    node.write("/root/worker-1.yml", STATIC.replace("  state: up\n", "  state: up\n  mtuu: 1400\n"))
    done = node.run(["nodenetctl", "check", "/root/worker-1.yml"], check=False)
    assert (done.returncode, done.stdout) == (65, "")
    assert "worker-1.yml" in done.stderr
    assert "line 6, column 3: interfaces[0].mtuu: NMState has no such key here. Did you mean `mtu`?" in done.stderr
    odd = STATIC.replace("next-hop-address: 10.88.0.1", "next-hop-address: 198.51.100.1")  # (R31)
    node.write(node_file("worker-0.yml"), odd)
    done = node.run(["nodenetctl", "check", node_file("worker-0.yml")])
    assert (
        "warning: routes.config[0].next-hop-address = 198.51.100.1: the gateway is outside every subnet" in done.stderr
    )
    assert network(node) == before


def test_a_reboot_with_nothing_changed(product_node: NodeFactory) -> None:
    """Nothing is applied, nothing is written."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = disk_times(node)
    node.reboot()
    document = settle(node)
    assert document["health"] == "ok"
    assert stage(document, "nmstate")["detail"] == "worker-0.yml is applied already and the state matches it"
    assert disk_times(node) == before
    audits = [line["MESSAGE"] for line in node.journal("NetworkManager") if "audit:" in str(line["MESSAGE"])]
    assert [line for line in audits if "checkpoint" in line or "connection-" in line] == []
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"


def test_a_power_cut_during_an_apply(product_node: NodeFactory) -> None:
    """The next boot is right, whatever the cut left on the disk."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("test -e /var/lib/nodenet/change.json", timeout=30)
    node.power_cut()
    node.boot()
    document = settle(node)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"
    nothing_left(node)


def test_after_a_power_cut_the_keyfiles_are_back_before_networkmanager_starts(
    product_node: NodeFactory, lan: Lan
) -> None:
    """NetworkManager never sees the network of the file; no bus, no activation."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = network(node)["keyfiles"]
    node.write(node_file("worker-0.yml"), STATIC)
    node.run("systemctl reload --no-block nodenetd")
    node.wait_until("test -e /var/lib/nodenet/change.json && ip address | grep -q 10.88.0.50", timeout=60)
    node.run("sync")
    node.power_cut()
    node.path(node_file("worker-0.yml")).unlink()
    node.boot()
    document = settle(node)
    assert document["health"] == "ok"
    assert "10.88.0.50" not in node.run("ip address").stdout
    assert network(node)["keyfiles"] == before
    undone = node.run("systemctl show -P ActiveState nodenet-undo.service").stdout.strip()
    assert undone == "active"
    put_back = "Put the keyfiles from before the apply of worker-0.yml back, before NetworkManager reads them"
    assert [line for line in node.journal() if line.get("MESSAGE") == put_back]
    nothing_left(node)


def test_an_apply_that_does_not_hold(product_node: NodeFactory) -> None:
    """Addresses, routes, resolver and profiles are as before; kubelet starts; one cause line."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = network(node)
    node.write(node_file("worker-0.yml"), WRONG)
    node.reboot()
    document = settle(node, timeout=120)
    assert document["health"] == "degraded"
    assert len(causes(node)) == 1
    assert "worker-0.yml" in causes(node)[0]
    after = network(node)
    for what in ("addresses", "routes", "resolv.conf", "keyfiles"):
        assert after[what] == before[what], what
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert document["applied_digest"] is None
    nothing_left(node)


def test_published_files_name_kubelet_and_crio(product_node: NodeFactory) -> None:
    """The drop-ins are what the old tools wrote, byte for byte."""
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1450)}, flavour=Flavour.OPENSHIFT)
    node.boot()
    (address, *rest) = settle(node)["node_ips"]
    everything = ",".join([address, *rest])
    assert node.run(f"cat {KUBELET}").stdout == (
        f'[Service]\nEnvironment="KUBELET_NODE_IP={address}" "KUBELET_NODE_IPS={everything}"\n'
    )
    assert node.run(f"cat {CRIO}").stdout == f'[Service]\nEnvironment="CONTAINER_STREAM_ADDRESS={address}"\n'
    assert mtu(node) == 1450


def test_a_reload_restores_a_network_that_was_changed_by_hand(product_node: NodeFactory) -> None:
    """The file is unchanged, and what nmcli changed is as it says again; a second reload writes nothing (S8)."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = network(node)
    profile = node.run("nmcli -g GENERAL.CONNECTION device show eth0").stdout.strip()
    change = ["ipv4.dns", "10.88.0.99", "+ipv4.addresses", "10.88.0.66/24", "802-3-ethernet.mtu", "1444"]
    node.run(["nmcli", "connection", "modify", profile, *change])
    node.run(["nmcli", "connection", "up", profile], timeout=60)
    assert (mtu(node), "10.88.0.66" in node.addresses()) == (1444, True)
    node.run("systemctl reload nodenetd", timeout=90)
    document = settle(node)
    assert document["health"] == "ok"
    assert stage(document, "nmstate")["detail"].startswith("Applied worker-0.yml and verified it in ")
    assert network(node)["addresses"] == before["addresses"]
    assert "10.88.0.99" not in node.run(["nmcli", "-g", "ipv4.dns", "connection", "show", profile]).stdout
    times = disk_times(node)
    node.run("systemctl reload nodenetd", timeout=90)
    assert disk_times(node) == times
    assert causes(node) == []
    nothing_left(node)


def test_what_another_program_has_changed_is_logged_and_undone_by_a_reboot(product_node: NodeFactory) -> None:
    """One line names link and key; the next reboot has nothing to say."""
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1402)}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    profile = node.run("nmcli -g GENERAL.CONNECTION device show eth0").stdout.strip()
    node.run(["nmcli", "connection", "modify", profile, "802-3-ethernet.mtu", "1444"])
    node.run(["nmcli", "connection", "up", profile], timeout=60)
    assert mtu(node) == 1444
    text = "The network was not as an earlier boot had made it; worker-0.yml was applied again: eth0 (mtu)"
    for told in ([text], []):
        node.reboot()
        document = settle(node)
        assert (document["health"], mtu(node)) == ("ok", 1402)
        lines = [entry for entry in story(node) if entry.get("MESSAGE_ID") == Message.NETWORK_CHANGED.value]
        assert [line["MESSAGE"] for line in lines] == told
    assert causes(node) == []
    nothing_left(node)


def test_a_good_file_that_is_no_yaml_any_more_leaves_the_network(product_node: NodeFactory) -> None:
    """After a reboot: the profiles of the file before are on the disk, and kubelet starts, degraded."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    good, before = settle(node), network(node)
    node.write(node_file("worker-0.yml"), "interfaces: [\n")
    node.reboot()
    document = settle(node)
    assert (document["health"], document["ready"], document["node_ips"]) == ("degraded", True, ["10.88.0.50"])
    assert document["applied_digest"] == good["applied_digest"] is not None
    after = network(node)
    for what in ("addresses", "routes", "resolv.conf", "keyfiles"):
        assert after[what] == before[what], what
    (cause,) = causes(node)
    assert cause.startswith("worker-0.yml, line 2")
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"
    nothing_left(node)


CRASHER = """#!/bin/sh
# Kill NetworkManager in the middle of each apply, once it has a checkpoint, and take away what it has done: otherwise
# the next try may find that everything is there already.
while sleep 0.02; do
  started=$(grep -o '"started": [0-9.]*' /var/lib/nodenet/change.json 2>/dev/null) || continue
  [ "$started" = "$before" ] && continue
  busctl get-property org.freedesktop.NetworkManager /org/freedesktop/NetworkManager org.freedesktop.NetworkManager \
    Checkpoints 2>/dev/null | grep -q Checkpoint/ || continue
  systemctl kill --signal=SIGKILL NetworkManager && echo killed
  rm -f /etc/NetworkManager/system-connections/*
  ip address flush dev eth0
  before=$started
done
"""


def test_an_apply_that_crashes_network_manager_is_given_up(product_node: NodeFactory, lan: Lan) -> None:
    """After three tries the node is degraded on the network it had, and kubelet starts (R8)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    add_saboteur(node, CRASHER)
    node.boot()
    document = settle(node, timeout=240)
    assert (document["health"], document["ready"]) == ("degraded", True)
    assert stage(document, "nmstate")["status"] == "failed"
    tries = [entry for entry in story(node) if entry.get("MESSAGE_ID") == Message.APPLY_RETRY.value]
    killed = sum(entry.get("MESSAGE") == "killed" for entry in node.journal("saboteur"))
    assert (len(tries), killed) == (2, 3)
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert node.addresses() == document["node_ips"] != ["10.88.0.50"]  # the lease that it had before
    assert "default via 10.88.0.1 dev eth0 proto dhcp" in node.run("ip route").stdout
    assert network(node)["keyfiles"] == ""
    assert len(causes(node)) == 1


PERMANENT_SECONDS = 30
"""Far from the two minutes for which libnmstate tries to activate a profile."""
BOND = """interfaces:
- name: bond0
  type: bond
  state: up
  ipv4:
    enabled: true
    dhcp: true
  link-aggregation:
    mode: active-backup
    port: [eth0]
"""


def test_a_type_of_link_that_the_kernel_does_not_have_is_tried_once(product_node: NodeFactory, lan: Lan) -> None:
    """No driver for bonds: the cause and the file are in the status, and kubelet starts on the plain network (R11)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): BOND}, flavour=Flavour.OPENSHIFT)
    node.boot()
    refusal = node.run("ip link add probe0 type bond", check=False).stderr
    if "Unknown device type" not in refusal:
        pytest.skip("this machine's kernel has bonds")
    document = settle(node, timeout=300)
    assert (document["health"], document["ready"], document["node_file"]) == ("degraded", True, "worker-0.yml")
    tries = [entry for entry in story(node) if entry.get("MESSAGE_ID") == Message.APPLY_RETRY.value]
    assert tries == []
    failed = stage(document, "nmstate")
    assert "the kernel of this host cannot make bond0" in failed["detail"]
    assert failed["ended"] - failed["started"] < PERMANENT_SECONDS
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
