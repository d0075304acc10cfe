"""What holds of every boot of the whole chain, from the first name server to kubelet on br-ex?

`chain_node` defines such a node, with a watcher on it that samples resolv.conf through the whole boot; `whole` asserts
what is the same however the boot went, and returns what two boots of one node must agree on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from factories import NodeFactory
from harness import Flavour, Lan, Node, eventually
from lookups import ANSWERS, RESOLVER, servers
from story import (
    CRIO,
    KUBELET,
    checkpoints,
    lease_confirmed,
    nothing_left,
    ready_monotonic,
    settle,
    stage,
    story,
    told_of_cycles,
)

SETTINGS = "/etc/nodenet/nodenet.toml"
DROP_IN = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
NETDEV = 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
VIPS = ("10.88.0.5", "10.88.0.6")
ON_PREMISES = f"""platform = "baremetal"
api_vips = ["{VIPS[0]}"]
ingress_vips = ["{VIPS[1]}"]
cluster_domain = "example.com"
"""
FLAGS = (
    "/run/nodeip-configuration/primary-ip",
    "/run/nodeip-configuration/ipv4",
    "/run/nodeip-configuration/br-ex-up",
    "/run/resolv-prepender-kni-conf-done",
)
SEEN = "/run/lab-resolv.conf.seen"
WATCH = "/usr/local/libexec/lab-watch"
WATCHER = f"""#!/usr/bin/python3
import json, time
seen = None
while True:
    try:
        text = open("/etc/resolv.conf").read()
    except OSError:
        text = ""
    servers = [line.split()[1] for line in text.splitlines() if line.startswith("nameserver ")]
    if servers != seen:
        seen = servers
        with open("{SEEN}", "a") as kept:
            kept.write(json.dumps(servers) + "\\n")
    time.sleep(0.003)
"""
"""Writes down each list of name servers that a look-up of this boot could meet."""
WATCHING = f"""[Unit]
DefaultDependencies=no
After=local-fs.target
Before=NetworkManager.service nodenetd.service
[Service]
Type=exec
ExecStart={WATCH}
[Install]
WantedBy=sysinit.target
"""
OF_THE_NETWORK = ("nodenet*", "kubelet*", "crio*", "NetworkManager*", "ov*", "dbus*", "network*.target")
LOOKS_FOR_FLAGS = f"[Service]\nExecStartPre=/bin/ls {' '.join(FLAGS)}\n"
"""kubelet's own programs may look for any of them as soon as it starts."""


def chain_node(product_node: NodeFactory, settings: str = ON_PREMISES, **options: Any) -> Node:
    """Define a node on premises whose chain ends with br-ex."""
    files = {
        SETTINGS: settings,
        DROP_IN: NETDEV,
        "/etc/systemd/system/lab-watch.service": WATCHING,
        "/etc/systemd/system/kubelet.service.d/10-lab-flags.conf": LOOKS_FOR_FLAGS,
        **options.pop("files", {}),
    }
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, **options)
    node.write(WATCH, WATCHER, 0o755)
    node.write(RESOLVER, ANSWERS, 0o755)
    node.enable("lab-watch.service")
    return node


def hold_vips(lan: Lan) -> None:
    """Let the LAN answer for the VIPs, as another node's keepalived does."""
    for vip in VIPS:
        lan.run("ip", "address", "add", f"{vip}/32", "dev", "br0")


def seen_name_servers(node: Node) -> list[list[str]]:
    """Return every list of name servers that resolv.conf held in this boot, in order."""
    return [json.loads(line) for line in node.run(["cat", SEEN]).stdout.splitlines()]


def never_without_a_name_server(node: Node) -> None:
    """Assert that resolv.conf did not lose the name servers it once had."""
    seen = seen_name_servers(node)
    first = next(number for number, each in enumerate(seen) if each)
    assert all(seen[first:]), seen


def forwards(node: Node, link: str) -> list[str]:
    """Return what the kernel is told of forwarding on *link*: IPv4, IPv6."""
    return node.run(f"cat /proc/sys/net/ipv[46]/conf/{link}/forwarding").stdout.split()


def without_complaint(node: Node) -> None:
    """Assert that the boot's story is that of a good boot: no warning, no error, nothing out of order.

    Units that the network does not need, as logind's, are another program's business: on a busy machine one may fail.
    """
    assert [entry["MESSAGE"] for entry in story(node) if int(entry["PRIORITY"]) <= 4] == []
    assert told_of_cycles(node) == []
    assert node.run(["systemctl", "list-units", "--failed", "--plain", "--no-legend", *OF_THE_NETWORK]).stdout == ""


def started_after_ready(node: Node, node_ip: str) -> None:
    """Assert that kubelet and CRI-O started once, behind READY, on a node that was whole, and told where it is."""
    kubelet, crio = node.record("kubelet"), node.record("crio")
    for seen in (crio, kubelet):
        assert seen.starts == 1
        assert seen.monotonic > ready_monotonic(node)
        assert "Port br-ex" in seen.ovs
        carried = [info["local"] for link in seen.addresses if link["ifname"] == "br-ex" for info in link["addr_info"]]
        assert node_ip in carried
    assert kubelet.environment["KUBELET_NODE_IP"] == node_ip
    assert crio.environment["CONTAINER_STREAM_ADDRESS"] == node_ip


def whole(node: Node, *, first: bool = False, vips: Sequence[str] = (), timeout: float = 90) -> dict[str, Any]:
    """Wait for READY, assert that nothing is missing, and return the final state.

    *first*: the node's own resolver is known to answer, and is asked first. *vips*: those that the node holds.
    """
    settle(node, timeout=timeout)
    lease_confirmed(node)
    document = settle(node)
    assert (document["health"], document["ready"], document["last_error"]) == ("ok", True, None), document
    assert (document["bridge"], document["uplink"], document["link"]) == ("br-ex", "eth0", "br-ex")
    (node_ip,) = document["node_ips"]
    assert set(node.addresses("br-ex")) == {node_ip, *vips}
    assert node.addresses("eth0") == []
    assert node_ip not in VIPS
    assert {each["status"] for each in document["stages"]} <= {"done", "skipped"}
    over = [each["ended"] for each in document["stages"]]
    assert over == sorted(over), "the stages are over in their order"
    started_after_ready(node, node_ip)
    node.run(["ls", *FLAGS])
    eventually(lambda: forwards(node, "br-ex") == ["1", "1"], "forwarding on br-ex", timeout=20, pause=0.3)
    text = node.run("cat /etc/resolv.conf").stdout
    assert servers(text) == [*([node_ip] if first else []), "10.88.0.1"]
    (search,) = [line for line in text.splitlines() if line.startswith("search ")]
    assert search.split()[1] == "example.com"
    never_without_a_name_server(node)
    without_complaint(node)
    eventually(lambda: checkpoints(node) == "ao 0", "no checkpoint", timeout=10, pause=0.2)
    nothing_left(node)
    return final_state(node, document)


def final_state(node: Node, document: dict[str, Any]) -> dict[str, Any]:
    """Return all that must not depend on how the boot went."""
    told = ("hostname", "node_file", "applied_digest", "node_ips", "link", "bridge", "uplink", "health")
    routes = node.json("ip -j -4 route show table main")
    return {
        **{key: document[key] for key in told},
        "resolver": stage(document, "resolv-prepender")["detail"],
        "mac": node.json("ip -j link show dev br-ex")[0]["address"],
        "mtu": node.json("ip -j link show dev br-ex")[0]["mtu"],
        "routes": sorted((route["dst"], route["dev"], route.get("gateway"), route.get("metric")) for route in routes),
        "resolv.conf": node.run("cat /etc/resolv.conf").stdout,
        "drop-ins": node.run(["cat", KUBELET, CRIO]).stdout,
        "profiles": sorted(node.run("nmcli -g NAME connection").stdout.split("\n")),
        "ports": sorted(node.run("ovs-vsctl list-ports br-ex; ovs-vsctl list-br").stdout.split()),
        "static name": node.run("cat /etc/hostname", check=False).stdout,
    }
