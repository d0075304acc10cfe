"""What must a node still be after its address has moved to br-ex, and how long was it away?"""

from __future__ import annotations

import itertools
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from harness import Lan, Shell
from harness import namespaces as ns

EVERY_SECONDS = 0.1
"""Between two pings: under emulation the node cannot answer much oftener."""
REPLY = re.compile(r"^\[([\d.]+)\] \d+ bytes from ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Standing:
    """The node as the rest of the world knows it; the link's name and its metrics are the node's own affair."""

    addresses: tuple[str, ...]
    mac: str
    gateway: str
    nameservers: tuple[str, ...]


def standing(node: Shell, link: str) -> Standing:
    """Return how the node stands with its address on that link."""
    (route,) = node.json(["ip", "-j", "-4", "route", "show", "default"])
    assert route["dev"] == link
    resolv_conf = node.run(["cat", "/etc/resolv.conf"]).stdout
    return Standing(
        tuple(sorted(node.addresses(link))),
        node.json(["ip", "-j", "link", "show", "dev", link])[0]["address"],
        route["gateway"],
        tuple(re.findall(r"^nameserver (\S+)", resolv_conf, re.MULTILINE)),
    )


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
    """Return what the kernel makes of that link: its index, a bond's mode and options, a VLAN's id and parent.

    Not the port in use: NetworkManager activates a bond anew when it becomes a port, and the kernel chooses again.
    """
    (shown,) = node.json(["ip", "-j", "-d", "link", "show", "dev", link])
    made = shown.get("linkinfo", {})
    options = {key: value for key, value in made.get("info_data", {}).items() if key != "active_slave"}
    return shown["ifindex"], shown.get("link"), made.get("info_kind"), options, ports(node, link)


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


class Pinger:
    """Somebody on the LAN who asks all the time whether the node is there; a context manager."""

    def __init__(self, lan: Lan, address: str, log: Path) -> None:
        self._argv = ["ping", "-D", "-n", "-W1", f"-i{EVERY_SECONDS}", address]
        self._lan = lan
        self._log = log

    @property
    def outage(self) -> float:
        """Seconds between two answers, at most."""
        heard = self._heard()
        return max((late - early for early, late in itertools.pairwise(heard)), default=0.0)

    def answers(self) -> int:
        """How often the node has answered by now."""
        return len(self._heard())

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            inside = ["ip", "netns", "exec", self._lan.netns, "stdbuf", "-oL", *self._argv]
            self._process = subprocess.Popen(inside, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ns.end(self._process)

    def _heard(self) -> list[float]:
        return [float(second) for second in REPLY.findall(self._log.read_text())]
