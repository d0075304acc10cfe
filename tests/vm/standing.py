"""What must a node still be after its address has moved to br-ex?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness import Shell

NEGOTIATED = frozenset({"active_slave", "ad_info"})


@dataclass(frozen=True, slots=True)
class Identity:
    """All that must stay as it is when another link comes to carry the addresses."""

    addresses: tuple[str, ...]
    """The kernel's order; the one that others ping first."""
    mac: str
    mtu: int
    gateways: frozenset[tuple[str, str]]
    """Of each default route, with its table."""
    resolv_conf: str
    client_id: tuple[str, ...]
    """DHCPv4's, as NetworkManager sent it."""


def identity(node: Shell, link: str) -> Identity:
    """Return how the node is known by the addresses on that link."""
    (shown,) = node.json(["ip", "-j", "address", "show", "dev", link])
    routes = node.json("ip -j -4 route show table all") + node.json("ip -j -6 route show table all")
    defaults = [route for route in routes if route["dst"] == "default" and route.get("dev") == link]
    lease = node.run(["nmcli", "-f", "DHCP4", "device", "show", link], check=False).stdout
    return Identity(
        tuple(info["local"] for info in shown["addr_info"] if info["scope"] == "global"),
        shown["address"],
        shown["mtu"],
        frozenset((route.get("table", "main"), route["gateway"]) for route in defaults),
        node.run(["cat", "/etc/resolv.conf"]).stdout,
        tuple(re.findall(r"dhcp_client_identifier = (\S+)", lease)),
    )


def below(node: Shell, link: str) -> object:
    """Return what the kernel makes of that link: a bond's mode, options and ports, a VLAN's id and parent.

    Not the port in use, nor what was negotiated: NetworkManager activates a bond anew when it becomes a port.
    """
    (shown,) = node.json(["ip", "-j", "-d", "link", "show", "dev", link])
    made = shown.get("linkinfo", {})
    options = {key: value for key, value in made.get("info_data", {}).items() if key not in NEGOTIATED}
    return shown.get("link"), made.get("info_kind"), options, ports(node, link)


def index(node: Shell, link: str) -> int:
    """Return the link's number in this boot; one that is made anew gets another."""
    return int(node.run(["cat", f"/sys/class/net/{link}/ifindex"]).stdout)


def ports(node: Shell, link: str) -> list[str]:
    """Return the links that are ports of a bond."""
    return [shown["ifname"] for shown in node.json(["ip", "-j", "link", "show", "master", link])]


def profiles(node: Shell) -> list[str]:
    """Return the names of NetworkManager's profiles."""
    return sorted(node.run("nmcli -g NAME connection").stdout.splitlines())


def datapath_of_br_ex(node: Shell) -> str:
    """Return the kind of br-ex's own link: `openvswitch` in the kernel's datapath, `tun` in userspace."""
    (link,) = node.json(["ip", "-j", "-d", "link", "show", "dev", "br-ex"])
    return str(link["linkinfo"]["info_kind"])
