"""When do two boots of one node have the same network? And how does a node become one that was never configured?"""

from __future__ import annotations

import contextlib
from typing import Any

from harness import LabError, Node, Shell, eventually

FORGOTTEN = (
    "/etc/NetworkManager/system-connections/*",
    "/var/lib/NetworkManager/*",
    "/var/lib/nodenet",
    "/etc/nmstate/openshift/*",
    "/etc/openvswitch/conf.db",
    "/var/lib/openvswitch/conf.db",
)
"""What a node knows of its network from boot to boot."""


def network(node: Shell) -> dict[str, Any]:
    """Return addresses, routes, rules, name servers and links, as the kernel has them."""
    links = node.json("ip -j -d link")
    return {
        "addresses": sorted(
            (link["ifname"], info["local"], info["prefixlen"])
            for link in node.json("ip -j address")
            for info in link["addr_info"]
            if info["scope"] == "global"
        ),
        "routes": sorted(
            (
                str(each["dst"]),
                str(each.get("gateway")),
                each["dev"],
                str(each.get("table", "main")),
                each.get("metric"),
            )
            for family in ("-4", "-6")
            for each in node.json(f"ip -j {family} route show table all")
            if each.get("protocol") in ("static", "dhcp", "ra") and not _is_of_the_kernel(each)
        ),
        "rules": sorted((each["priority"], each.get("src"), each.get("table")) for each in node.json("ip -j rule")),
        "name servers": [
            line for line in node.run("cat /etc/resolv.conf").stdout.splitlines() if line.startswith("nameserver ")
        ],
        "links": sorted(
            (link["ifname"], link["mtu"], link["address"], str(link.get("master")), _kind(link))
            for link in links
            if link["ifname"] != "ovs-netdev"
        ),
    }


def steady(node: Shell) -> dict[str, Any]:
    """Return the network once it has been the same for two seconds: a lease or an advertisement may come late."""
    seen = [network(node)]

    def same() -> bool:
        seen.append(network(node))
        return seen[-1] == seen[-2]

    eventually(same, "the network to be steady", timeout=60, pause=2)
    return seen[-1]


def becomes(node: Shell, expected: dict[str, Any], timeout: float = 30) -> None:
    """Assert that the network is *expected*, at once or after the last lease or advertisement."""
    with contextlib.suppress(LabError):
        eventually(lambda: network(node) == expected, "the same network", timeout=timeout, pause=1)
    assert network(node) == expected


def _is_of_the_kernel(route: dict[str, Any]) -> bool:
    """Return whether the kernel made the route of an advertisement that came before NetworkManager took the link."""
    return bool(route["protocol"] == "ra" and route.get("metric") == 1024) or route.get("type", "unicast") != "unicast"


def _kind(link: dict[str, Any]) -> tuple[str, str]:
    """Return the kernel's kind, and what makes a VLAN or a bond what it is."""
    info = link.get("linkinfo", {})
    data = info.get("info_data", {})
    shown = ("id", "mode", "miimon", "ad_lacp_rate", "xmit_hash_policy", "table", "stp_state")
    return str(info.get("info_kind")), " ".join(f"{key}={data[key]}" for key in shown if key in data)


def wiped(node: Node) -> None:
    """Turn the node off, as one that was never configured."""
    node.run("systemctl stop nodenetd", check=False)
    node.run(f"rm -rf {' '.join(FORGOTTEN)}")
    node.off()
    for pattern in FORGOTTEN:  # what was written while it went off
        directory, _, name = pattern.rpartition("/")
        for path in node.path(directory).glob(name) if node.path(directory).is_dir() else ():
            if path.is_file():
                path.unlink()
