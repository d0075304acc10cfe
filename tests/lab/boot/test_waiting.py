"""What a boot waits for, how it says so, and that kubelet waits with it."""

from __future__ import annotations

import re
import time

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import PAUSES
from story import RUN, STATIC, causes, node_file, nothing_left, settle, stage, status, story


def test_network_manager_that_comes_late(product_node: NodeFactory) -> None:
    """STATUS= says what is awaited; then everything is done."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.delay_unit("NetworkManager.service", 8)
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'NetworkManager is not on the bus yet'", timeout=20)
    shown = node.run("systemctl show -p StatusText --value nodenetd").stdout
    assert shown.strip() == "nmstate: NetworkManager is not on the bus yet"
    assert not node.started("kubelet")
    document = settle(node, timeout=90)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"


def test_a_system_bus_that_is_killed_during_the_boot(product_node: NodeFactory) -> None:
    """The boot goes on with the bus that comes back; the object is there again."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("test -e /run/nodenet/state.json", timeout=20)
    node.run("systemctl kill --signal=KILL --kill-whom=main dbus.service")
    node.wait_until("systemctl is-active dbus.service || systemctl start dbus.service", timeout=30)
    # It never connects to a new bus by itself. systemd stops it with the bus, which cancels a restart in that moment.
    node.wait_until("systemctl restart NetworkManager.service", timeout=30)
    document = settle(node, timeout=120)
    assert document["node_ips"] == ["10.88.0.50"]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"
    node.wait_until("busctl get-property org.nodenet1 /org/nodenet1 org.nodenet1.Manager PrimaryIP", timeout=20)


def test_a_system_bus_that_stalls_during_the_boot(product_node: NodeFactory) -> None:
    """Nothing hangs with it, nothing is lost: the boot goes on when it reads again."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("test -e /run/nodenet/state.json", timeout=20)
    node.run("systemctl kill --signal=STOP --kill-whom=main dbus.service; sleep 12")
    assert node.run("systemctl show -p NRestarts --value nodenetd").stdout.strip() == "0"
    node.run("systemctl kill --signal=CONT --kill-whom=main dbus.service")
    document = settle(node, timeout=90)
    assert document["node_ips"] == ["10.88.0.50"]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"
    node.wait_until("busctl get-property org.nodenet1 /org/nodenet1 org.nodenet1.Manager PrimaryIP", timeout=20)


def test_a_boot_without_a_bus_publishes_all_the_same(product_node: NodeFactory) -> None:
    """No node file, no bus: the kernel's addresses are enough."""
    node = product_node(flavour=Flavour.PLAIN)
    node.write(
        "/etc/systemd/system/lab-address.service",
        "[Unit]\nBefore=nodenetd.service\n[Service]\nType=oneshot\n"
        "ExecStart=/bin/sh -c 'ip address add 10.88.0.60/24 dev eth0; ip link set eth0 up;"
        " ip route add default via 10.88.0.1'\n[Install]\nWantedBy=multi-user.target\n",
    )
    node.enable("lab-address.service")
    for unit in ("dbus.service", "dbus.socket", "NetworkManager.service"):
        node.path(f"/etc/systemd/system/{unit}").symlink_to("/dev/null")
    node.boot()
    document = settle(node)
    assert document["node_ips"][0] == "10.88.0.60"
    assert node.run(f"cat {RUN}/primary-ip").stdout == "10.88.0.60"
    assert "made to last" not in node.run("journalctl -b -u nodenetd").stdout  # /etc/hostname has it
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.60"


SHORT_STARTS = {"/etc/systemd/system.conf.d/10-lab.conf": "[Manager]\nDefaultTimeoutStartSec=20s\n"}


def without_dhcp(product_node: NodeFactory) -> Node:
    """Return a node that waits for an address."""
    node = product_node(files=SHORT_STARTS, flavour=Flavour.OPENSHIFT)
    node.nics[0].lan.stop_dhcp()
    node.boot()
    node.wait_until('nodenetctl status --json | grep -q \'"stage": "nodeip"\'', timeout=30)
    return node


def test_no_eligible_address_until_a_dhcp_server_answers(product_node: NodeFactory) -> None:
    """Kubelet waits without a limit, the reason stands in the status; then it gets the address."""
    node = without_dhcp(product_node)
    time.sleep(30)  # longer than a default start timeout, which a daemon-reload would begin to count from the start
    document = status(node)
    assert stage(document, "nodeip")["status"] == "waiting"
    assert "eth0" in stage(document, "nodeip")["detail"]
    assert document["node_ips"] == []
    assert not node.started("kubelet")
    assert node.run(f"test -e {RUN}/primary-ip", check=False).returncode == 1
    node.nics[0].lan.start_dhcp()
    node.run("nmcli device connect eth0", check=False)
    document = settle(node)
    assert document["health"] == "ok"
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert causes(node) == []
    assert node.run("systemctl show -p NRestarts --value nodenetd").stdout == "0\n"


def test_an_uplink_without_a_carrier_is_waited_for(product_node: NodeFactory) -> None:
    """The cable is out before NetworkManager starts, and is plugged in later: nothing has to be started again."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.delay_unit("NetworkManager.service", 6)
    node.boot()
    node.set_carrier("eth0", up=False)
    node.wait_until("nodenetctl status --json | grep -q 'eth0 has no carrier'", timeout=60)
    pid = node.run("systemctl show -p MainPID --value nodenetd").stdout
    time.sleep(10)
    assert stage(status(node), "nodeip")["status"] == "waiting"
    assert not node.started("kubelet")
    node.set_carrier("eth0", up=True)
    document = settle(node)
    assert document["health"] == "ok"
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert node.run("systemctl show -p MainPID --value nodenetd").stdout == pid
    assert causes(node) == []
    nothing_left(node)


def test_a_start_that_hangs_is_ended_by_systemd_and_tried_again(product_node: NodeFactory) -> None:
    """While it waits for DHCP, by the watchdog: the start itself has no timeout. The next start gets ready."""
    node = without_dhcp(product_node)
    hung = node.run("systemctl show -p MainPID --value nodenetd").stdout.strip()
    node.run(["kill", "-STOP", hung])
    another = f"p=$(systemctl show -p MainPID --value nodenetd); test $p -gt 0 -a $p != {hung}"
    node.wait_until(another, timeout=90)
    assert int(node.run("systemctl show -p NRestarts --value nodenetd").stdout) >= 1
    assert not node.started("kubelet")
    node.nics[0].lan.start_dhcp()
    node.run("nmcli device connect eth0", check=False)
    document = settle(node)
    assert document["health"] == "ok"
    assert node.record("kubelet").starts == 1
    nothing_left(node)


def test_dual_stack_by_dhcp_and_router_advertisement(product_node: NodeFactory, lan: Lan) -> None:
    """Both families are waited for where the settings name them; the first one is primary."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    settings = 'families = ["ipv4", "ipv6"]\n'
    node = product_node(files={"/etc/nodenet/nodenet.toml": settings}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    first, second = document["node_ips"]
    assert first in node.addresses()
    assert second in node.addresses(family="inet6")
    assert node.record("kubelet").environment["KUBELET_NODE_IPS"] == f"{first},{second}"
    assert node.run(f"cat {RUN}/ipv6").stdout == second
    nothing_left(node)


def test_edits_are_taken_while_the_boot_waits(product_node: NodeFactory) -> None:
    """A file that failed for good, then a hint that matches nothing: mended, each heals; a reload need not be known of.

    systemd keeps `systemctl reload` back meanwhile, and lets it go on when the boot has gone on.
    """
    settings = "/etc/nodenet/nodenet.toml"
    hinted = 'on_failure = "wait"\nhint_required = true\nhint = "{}"\n'
    bad = STATIC.replace("prefix-length", "prefix-lenght")
    files = {settings: hinted.format("192.0.2.77"), node_file("worker-0.yml"): bad}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("nodenetctl status | grep -q 'problem .*prefix-lenght'", timeout=60)
    node.run("systemctl reload --no-block nodenetd")
    shown = node.run("nodenetctl reload --wait", check=False)
    assert (shown.returncode, shown.stderr.count("Did you mean `prefix-length`?")) == (65, 1), shown.stderr
    node.write(node_file("worker-0.yml"), STATIC)
    taken = "ip address show eth0 | grep -q 10.88.0.50"
    node.wait_until(f"{taken} && nodenetctl status | grep -q 'waiting .*192.0.2.77'", timeout=30)
    assert not node.started("kubelet")
    node.write(settings, hinted.format("10.88.0.50"))
    node.run("systemctl reload nodenetd", timeout=60)
    document = settle(node)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    node.record("kubelet")
    told = [str(line["MESSAGE"]) for line in story(node)]
    edits = [line for line in told if line.startswith("Settings or node file were edited while the boot waits")]
    assert [line.split(", ")[-1] for line in edits] == ["unchanged for 1 s", "unchanged for 5 s"]
    nothing_left(node)


UNIT = "NetworkManager.service"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/10-lab.conf"


def mask(node: Node) -> None:
    node.path(f"/etc/systemd/system/{UNIT}").symlink_to("/dev/null")


@pytest.mark.parametrize("how", ["masked", "stopped", "failed: signal"])
def test_a_network_manager_that_somebody_keeps_away_is_told_with_the_way_out(
    product_node: NodeFactory, how: str
) -> None:
    """Nodenetd leaves it alone; what stands in the brackets is what ends the wait.

    As systemd sees it, one that is stopped while it starts may have failed.
    """
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    if how == "masked":
        mask(node)
    else:
        slow = "ExecStart=\nExecStart=" if how == "stopped" else "ExecStartPre="
        node.write(DROP_IN, f"[Service]\n{slow}/bin/sleep 60\n")
    node.boot()
    if how != "masked":
        node.wait_until("nodenetctl status --json | grep -q 'NetworkManager is not on the bus yet'", timeout=20)
        node.run(f"systemctl stop {UNIT}; rm {DROP_IN}; systemctl daemon-reload")
    node.wait_until(f"systemctl show -p StatusText --value nodenetd | grep 'NetworkManager .* {how}'", timeout=20)
    (way,) = re.findall(r"\((.*)\)", stage(status(node), "nmstate")["detail"])
    time.sleep(8)  # longer than the first pause before a start of nodenetd's own
    assert node.run(f"systemctl is-active {UNIT}", check=False).stdout.strip() != "active"
    assert not node.started("kubelet")
    node.run(way)
    document = settle(node, timeout=60)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert causes(node) == []


def test_a_network_manager_that_systemd_has_given_up_is_started_again(product_node: NodeFactory) -> None:
    """Nothing else would, and the node would stay dark; it is told once for each start."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.write(DROP_IN, "[Service]\nExecStartPre=/bin/test -e /run/lab-mended\n")
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'NetworkManager has failed: '", timeout=30)
    assert not node.started("kubelet")
    node.run("touch /run/lab-mended")
    document = settle(node, timeout=90)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"
    starts = [line for line in story(node) if line.get("MESSAGE_ID") == Message.MANAGER_AWAY.value]
    assert 1 <= len(starts) <= 2
    assert str(starts[-1]["MESSAGE"]).endswith(f"; start {len(starts)} of {len(PAUSES)}")
    nothing_left(node)
