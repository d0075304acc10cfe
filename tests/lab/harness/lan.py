"""What is at the other end of a node's cable?

One network namespace with a bridge, and dnsmasq on it: DHCPv4, router advertisements, DHCPv6 and DNS. Every lab has the
same addresses, because no packet leaves the namespace: LAN number N is 10.88.N.0/24 and fd88:0:0:N::/64, and the first
address of each is the router's.
"""

import contextlib
import enum
import ipaddress
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness import host
from harness import namespaces as ns

BRIDGE = "br0"
MAX_LEASES = 150


class Ipv6(enum.Enum):
    """How nodes get their IPv6 address."""

    NONE = "none"
    SLAAC = "slaac"
    """By router advertisement: fd88:0:0:N:<from the link>/64."""
    DHCP = "dhcp"
    """A /128 by DHCPv6, fd88:0:0:N::100 and up; the prefix is only in the router advertisement."""


@dataclass(frozen=True, slots=True)
class Dhcp:
    """What the LAN's dnsmasq offers."""

    ipv4: bool = True
    ipv6: Ipv6 = Ipv6.SLAAC
    names: Mapping[str, str] = field(default_factory=dict)
    """MAC -> host name (short or FQDN) sent as DHCP option 12."""
    addresses: Mapping[str, ipaddress.IPv4Address] = field(default_factory=dict)
    """MAC -> address; other nodes get one of .100 to .199."""
    router: bool = True
    """False: no default route by DHCPv4."""
    domain: str | None = None
    reply_delay: int = 0
    """Seconds before a DHCPv4 request is answered."""
    lease: int = 3600
    """Seconds; dnsmasq takes 120 at least."""
    extra: tuple[str, ...] = ()
    """More options, as on dnsmasq's command line."""


class Lan:
    """One broadcast domain; made by `Lab.lan()`, gone with its lab."""

    def __init__(self, state: Path, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.netns = f"nodenet-{state.name}-{name}"
        self.subnet4 = ipaddress.IPv4Network(f"10.88.{number}.0/24")
        self.subnet6 = ipaddress.IPv6Network(f"fd88:0:0:{number:x}::/64")
        self.gateway4 = self.subnet4[1]
        self.gateway6 = self.subnet6[1]
        self.state = state
        self._log = state / f"{name}.dnsmasq.log"
        self._leases = state / f"{name}.leases"
        self._group = host.cgroups() / f"nodenet-lab-{state.name}" / f"lan-{name}"
        self._dnsmasq: subprocess.Popen[bytes] | None = None
        self._make()

    def start_dhcp(self, dhcp: Dhcp | None = None) -> None:
        """Start dnsmasq, or restart it with other options; known leases stay."""
        self.stop_dhcp()
        argv = ["ip", "netns", "exec", self.netns, "dnsmasq", *self._options(dhcp or Dhcp())]
        self._log.write_text("")
        self._dnsmasq = ns.start_in_cgroup(self._group, argv, output=self._log)
        host.eventually(self._answers, f"dnsmasq on {self.name}", timeout=10, pause=0.01)

    def stop_dhcp(self) -> None:
        """Stop dnsmasq: DHCP, DNS and router solicitations get no answer."""
        if self._dnsmasq is not None:
            ns.end(self._dnsmasq)
            self._dnsmasq = None

    def forget_leases(self) -> None:
        """Stop dnsmasq and delete its leases."""
        self.stop_dhcp()
        self._leases.unlink(missing_ok=True)

    def log(self) -> str:
        """Return what dnsmasq has logged since its last start."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def run(self, *words: str) -> str:
        """Run a command on the LAN's router, such as `ping` towards a node."""
        return ns.inside(self.netns, *words)

    def start(self, *argv: str | Path, output: Path) -> subprocess.Popen[bytes]:
        """Start a program on the LAN's router; it ends with the LAN at the latest."""
        return ns.start_in_cgroup(self._group, ["ip", "netns", "exec", self.netns, *argv], output=output)

    def plug(self, port: str, netns: str, link: str, mac: str) -> None:
        """Connect a new link in a node's namespace to this LAN's bridge."""
        peer = ["type", "veth", "peer", "name", link, "address", mac, "netns", netns]
        ns.ip(self.netns, "link", "add", port, *peer)
        # Open vSwitch's userspace datapath drops packets with a partial checksum.
        ns.inside(self.netns, "ethtool", "-K", port, "tx", "off")
        ns.ip(self.netns, "link", "set", port, "master", BRIDGE, "up")

    def unplug(self, port: str) -> None:
        """Remove a cable and the link at its other end; a missing one is no error."""
        if port in ns.ip(self.netns, "-o", "link"):
            with contextlib.suppress(host.LabError):  # the kernel is taking it away with the node's namespace
                ns.ip(self.netns, "link", "delete", port)

    def set_carrier(self, port: str, *, up: bool) -> None:
        """Take the carrier from a cable, or give it back."""
        ns.ip(self.netns, "link", "set", port, "up" if up else "down")

    def remove(self) -> None:
        """Remove the LAN; links of running nodes lose their peer."""
        self.forget_leases()
        ns.remove_netns(self.netns)
        ns.kill_cgroup(self._group)

    def _make(self) -> None:
        ns.make_netns(self.netns)
        ns.ip(self.netns, "link", "add", BRIDGE, "type", "bridge")
        # A router that still checks its own address sends no advertisement; a node asks again after four seconds.
        ns.inside(self.netns, "/bin/sh", "-c", f"echo 0 > /proc/sys/net/ipv6/conf/{BRIDGE}/dad_transmits")
        ns.inside(self.netns, "ethtool", "-K", BRIDGE, "tx", "off")
        ns.ip(self.netns, "address", "add", f"{self.gateway4}/24", "dev", BRIDGE)
        ns.ip(self.netns, "address", "add", f"{self.gateway6}/64", "dev", BRIDGE, "nodad")
        ns.ip(self.netns, "link", "set", BRIDGE, "up")

    def _answers(self) -> bool:
        if self._dnsmasq is None or self._dnsmasq.poll() is not None:
            raise host.LabError(f"dnsmasq on {self.name} ended:\n{host.tail(self.log())}")
        return "started, version" in self.log()

    def _options(self, dhcp: Dhcp) -> list[str]:
        # --no-ping: a lease at once instead of after three seconds.
        options = [
            *("--keep-in-foreground", "--no-ping", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"),
            *(f"--interface={BRIDGE}", "--bind-dynamic", "--except-interface=lo", "--dhcp-authoritative"),
            *("--user=root", "--log-facility=-", "--log-dhcp", f"--dhcp-lease-max={MAX_LEASES}"),
            *(f"--dhcp-leasefile={self._leases}", f"--pid-file={self._leases.with_suffix('.pid')}"),
            f"--address=/lab.test/{self.gateway4}",
        ]
        if dhcp.domain:
            options.append(f"--domain={dhcp.domain}")
        return [*options, *self._options4(dhcp), *self._options6(dhcp), *dhcp.extra]

    def _options4(self, dhcp: Dhcp) -> list[str]:
        if not dhcp.ipv4:
            return []
        pool = f"{self.subnet4[100]},{self.subnet4[199]},{self.subnet4.netmask},{dhcp.lease}s"
        options = [f"--dhcp-range={pool}"]
        if not dhcp.router:
            options.append("--dhcp-option=option:router")
        if dhcp.reply_delay:
            options.append(f"--dhcp-reply-delay={dhcp.reply_delay}")
        for mac, address in dhcp.addresses.items():
            options.append(f"--dhcp-host={mac},{address}")
        for number, (mac, name) in enumerate(dhcp.names.items()):
            # dnsmasq would cut a foreign domain off a name that it sends by itself.
            options.append(f"--dhcp-mac=set:name{number},{mac}")
            options.append(f"--dhcp-option-force=tag:name{number},12,{name}")
        return options

    def _options6(self, dhcp: Dhcp) -> list[str]:
        if dhcp.ipv6 is Ipv6.NONE:
            return []
        # A second DNS server that comes a second later would make every check of resolv.conf a race.
        options = ["--enable-ra", *(["--dhcp-option=option6:dns-server"] if dhcp.ipv4 else [])]
        if dhcp.ipv6 is Ipv6.SLAAC:
            return [*options, f"--dhcp-range=::,constructor:{BRIDGE},ra-only,64,{dhcp.lease}s"]
        return [*options, f"--dhcp-range=::100,::1ff,constructor:{BRIDGE},64,{dhcp.lease}s"]
