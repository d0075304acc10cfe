"""Is what kubelet starts with true, although systemd does not read, a file overrides or an address changes?"""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from boot.test_coordination import HOLD, HOLDER
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nodenet.core.node_ip.policy_from_settings import HINT_FILE
from story import CRIO, KUBELET, RUN, causes, nothing_left, settle, stage, status, story

SETTINGS = "/etc/nodenet/nodenet.toml"
DROP_INS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
BRIDGED = 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
KEYFILE = "/etc/NetworkManager/system-connections/eth0.nmconnection"
STATIC = """[connection]
id=eth0
type=ethernet
interface-name=eth0
[ipv4]
method=manual
{addresses}
gateway=10.88.0.1
dns=10.88.0.1
[ipv6]
method=disabled
"""
ONE_RELOAD = "[Manager]\nReloadLimitIntervalSec=30s\nReloadLimitBurst=1\n"
"""systemd refuses every reload but the first one within this time (systemd-system.conf(5))."""
OLD_DROP_IN = '[Service]\nEnvironment="KUBELET_NODE_IP={0}" "KUBELET_NODE_IPS={0}"\n'
OLD_CRIO_DROP_IN = '[Service]\nEnvironment="CONTAINER_STREAM_ADDRESS={0}"\n'


def static(*addresses: str) -> str:
    """Return a profile with *addresses*, in order."""
    return STATIC.format(addresses="\n".join(f"address{i}={text}/24" for i, text in enumerate(addresses, 1)))


def early(command: str) -> str:
    """Return a unit that runs *command* before nodenetd."""
    return (
        "[Unit]\nDefaultDependencies=no\nAfter=local-fs.target\nBefore=nodenetd.service NetworkManager.service\n"
        f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -ec '{command}'\n"
        "[Install]\nWantedBy=sysinit.target\n"
    )


def with_early(node: Node, command: str) -> Node:
    """Let *command* run on the node before nodenetd starts."""
    node.write("/etc/systemd/system/lab-early.service", early(command))
    node.enable("lab-early.service")
    return node


def waits(node: Node) -> str:
    """Return what nodeip waits for."""
    return str(stage(status(node), "nodeip")["detail"])


def test_kubelet_waits_until_systemd_has_read_the_drop_ins(product_node: NodeFactory, lan: Lan) -> None:
    """It refuses to reload for a time: the drop-in of the last boot is not what kubelet gets (R14)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    hint = {HINT_FILE: "NODEIP_HINT=10.88.0.1\n"}  # without one, the old node IP would be awaited
    files = {KUBELET: OLD_DROP_IN.format("192.0.2.99"), "/etc/systemd/system.conf.d/lab.conf": ONE_RELOAD, **hint}
    node = product_node(flavour=Flavour.OPENSHIFT, files=files)
    with_early(node, "systemctl daemon-reload")
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q '(try 2, next in 2 s)'", timeout=40)
    assert waits(node).startswith("systemd did not read the drop-ins again: ")
    assert not node.started("kubelet")
    document = settle(node, timeout=90)
    assert (document["health"], document["ready"]) == ("ok", True)
    seen = node.record("kubelet")
    assert seen.environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert seen.starts == 1
    (cause,) = causes(node)
    assert cause.startswith("systemd did not read the drop-ins again: ")
    nothing_left(node)


@pytest.mark.parametrize("kind", ["drop-in", "environment file", "removal"])
def test_a_file_that_overrides_the_node_ip_is_named(product_node: NodeFactory, lan: Lan, kind: str) -> None:
    """It wins, as systemd wants it; the node is degraded and says by whom, until the file is gone (S2).

    However long the cause is: systemd ignores a message of more than 4096 bytes, and READY with it (R17).
    """
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    directory = "/etc/systemd/system/kubelet.service.d"
    value = "10.0.0.9"
    if kind == "drop-in":
        source = f"{directory}/99-site.conf"
        files = {source: "[Service]\nEnvironment=KUBELET_NODE_IP=10.0.0.9\n"}
    elif kind == "removal":
        source = f"{directory}/99-site.conf"
        files = {source: "[Service]\nUnsetEnvironment=KUBELET_NODE_IP\n"}
    else:
        source = "/etc/kubernetes/kubelet-env"
        drop_in = f"[Service]\nEnvironmentFile=-{source}\n"
        value = ",".join([value] * 500)
        files = {source: f"KUBELET_NODE_IP={value}\n", f"{directory}/10-env.conf": drop_in}
    node = product_node(flavour=Flavour.OPENSHIFT, files=files)
    node.boot()
    document = settle(node)
    (node_ip,) = document["node_ips"]
    assert document["health"] == "degraded"
    cause = f"kubelet.service starts with {value} instead of KUBELET_NODE_IP={node_ip} ({source} sets it)"
    if kind == "removal":
        cause = f"kubelet.service starts without KUBELET_NODE_IP={node_ip} ({source} unsets it)"
    assert causes(node) == [cause]
    assert cause in node.run("nodenetctl status", check=False).stdout
    assert node.record("kubelet").environment.get("KUBELET_NODE_IP") == (None if kind == "removal" else value)
    # Until it is started again, kubelet runs with what the file said.
    node.run(f"rm {source}; systemctl daemon-reload; systemctl restart kubelet; systemctl reload nodenetd", timeout=60)
    assert settle(node)["health"] == "ok"


def test_a_directory_in_the_place_of_a_published_file_is_one_problem(product_node: NodeFactory, lan: Lan) -> None:
    """A container's mount makes such a directory: kubelet starts, and the status names path and remedy (R15).

    So do mounts of files that are only read, and that do not exist: the static host name and the hint.
    """
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    others = f"/etc/hostname {HINT_FILE}"
    makes = f"rm -f /etc/hostname; mkdir -p {RUN}/primary-ip {others}"
    node = with_early(product_node(flavour=Flavour.OPENSHIFT), makes)
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"], document["hostname"]) == ("degraded", True, node.name)
    remedy = "Remove this directory (a file belongs in its place)"
    assert document["notes"] == [f"{HINT_FILE} cannot be read: Is a directory. {remedy}"]
    cause = f"{RUN}/primary-ip cannot be written: Is a directory"
    assert causes(node) == [cause]
    shown = node.run("nodenetctl status", check=False).stdout
    assert cause in shown
    assert f"{remedy}; then run `nodenetctl reload --wait`" in shown
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    node.run(f"rmdir {RUN}/primary-ip {others}; nodenetctl reload --wait")
    assert settle(node)["health"] == "ok"
    assert node.run(f"cat {RUN}/primary-ip").stdout == document["node_ips"][0]
    nothing_left(node)


def test_a_node_of_the_replaced_tools_keeps_its_node_ip(product_node: NodeFactory) -> None:
    """The daemon is installed beside a kubelet that runs: the lower address is not published in its place (R18)."""
    drop_in = OLD_DROP_IN.format("10.88.0.60")
    files = {KUBELET: drop_in, CRIO: OLD_CRIO_DROP_IN.format("10.88.0.60")}
    node = product_node(flavour=Flavour.OPENSHIFT, enable=[], files=files)
    node.write(KEYFILE, static("10.88.0.40", "10.88.0.60"), 0o600)
    with_early(node, f"mkdir -p {RUN}; printf 10.88.0.60 > {RUN}/primary-ip; cp {RUN}/primary-ip {RUN}/ipv4")
    node.boot()
    node.run("systemctl start kubelet", timeout=60)
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.60"
    node.run("systemctl enable nodenetd; systemctl start nodenetd", timeout=60)
    for verb in ("start", "restart", "reload"):
        node.run(f"systemctl {verb} nodenetd", timeout=60)
        document = settle(node)
        assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.60"])
        assert node.run(f"cat {RUN}/primary-ip").stdout == "10.88.0.60"
        assert node.run(f"cat {KUBELET}").stdout == drop_in
    assert node.record("kubelet").starts == 1
    node.reboot()
    assert settle(node)["node_ips"] == ["10.88.0.60"]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.60"


def test_a_vip_that_is_the_nodes_own_address_is_refused(product_node: NodeFactory) -> None:
    """Kubelet does not start, the setting is named; corrected, the boot goes on by itself (R25)."""
    settings = 'platform = "baremetal"\napi_vips = ["10.88.0.50"]\n'
    node = product_node(flavour=Flavour.OPENSHIFT, files={SETTINGS: settings})
    node.write(KEYFILE, static("10.88.0.50"), 0o600)
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'own address'", timeout=40)
    document = status(node)
    cause = "api_vips contains this node's own address 10.88.0.50 (eth0)"
    assert document["last_error"]["cause"] == cause
    assert (document["ready"], document["node_ips"]) == (False, [])
    assert causes(node) == [cause]
    assert not node.started("kubelet")
    assert node.run(f"test -e {RUN}/primary-ip", check=False).returncode == 1
    node.write(SETTINGS, settings.replace("0.50", "0.5"))
    node.wait_until("nodenetctl status --json | grep -q '\"ready\": *true'", timeout=60)
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"


def test_kubelet_starts_with_the_lease_that_came_while_br_ex_waited(product_node: NodeFactory, lan: Lan) -> None:
    """The address was published, and is another one before READY (R13)."""
    files = {DROP_INS: BRIDGED, "/usr/local/libexec/hold": HOLDER.replace('"nodeip"', '"configure-ovs"')}
    node = product_node(flavour=Flavour.OPENSHIFT, files=files)
    mac = node.mac()
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, addresses={mac: IPv4Address("10.88.0.60")}))
    node.delay_unit("NetworkManager.service", 8)
    node.boot()
    node.run(HOLD)
    node.wait_until(f"grep -qx 10.88.0.60 {RUN}/primary-ip", timeout=40)
    node.wait_until("nodenetctl status --json | grep -q 'inhibited by lab'", timeout=40)
    lan.forget_leases()
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, addresses={mac: IPv4Address("10.88.0.61")}))
    node.run(
        "nmcli device disconnect eth0; rm -f /var/lib/NetworkManager/*lease; nmcli device connect eth0", timeout=60
    )
    node.wait_until("ip -o address show dev eth0 | grep -q 10.88.0.61", timeout=20)
    assert not node.started("kubelet")
    node.run("systemctl kill --signal=KILL lab-holder.service")
    settle(node, timeout=120)
    node.wait_until("nodenetctl status --json | grep -q '\"ready\": true'", timeout=60)
    document = settle(node)
    assert (document["ready"], document["node_ips"]) == (True, ["10.88.0.61"])
    assert node.run(f"cat {RUN}/primary-ip").stdout == "10.88.0.61"
    seen = node.record("kubelet")
    assert seen.environment["KUBELET_NODE_IP"] == "10.88.0.61"
    assert "10.88.0.61" in str(seen.addresses)
    assert [entry for entry in story(node) if "Node IP 10.88.0.60 is missing" in entry["MESSAGE"]]
