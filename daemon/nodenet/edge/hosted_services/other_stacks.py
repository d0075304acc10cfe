"""Does another stack run on this node: static pods, listening sockets, programs that speak VRRP?"""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from itertools import chain, product
from pathlib import Path, PurePath

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import keepalived
from nodenet.core.hosted_services.keepalived import VRRP_PROTOCOL
from nodenet.core.hosted_services.model import KEEPALIVED_USER
from nodenet.core.hosted_services.units import MANIFESTS, Listener, Others
from nodenet.core.ip import IPAddress
from nodenet.core.kernel import sock_diag
from nodenet.core.kernel.sock_diag import TCP, UDP, Listening

# Which sockets of this node wait for clients on a port? (sock_diag(7))
#
# The kernel is asked for one port at a time: any user may have any number of sockets on the others.

_SOCK_DIAG = 4
_TIMEOUT_SECONDS = 5.0
_RECEIVE_BYTES = 65_536
_PARTS = 64
"""Parts of an answer that are read: some ten thousand sockets on one port."""


class Sockets:
    """The sockets of this node."""

    def __init__(self, groups: Path = Path("/sys/fs/cgroup")) -> None:
        """Look at the tree of control *groups*."""
        self._groups = groups

    def udp(self, ports: Collection[int]) -> tuple[Listening, ...]:
        """Return the UDP sockets that wait for packets of anyone on *ports*. Raises Unavailable."""
        return tuple(waiting(sock_diag.UDP, ports))

    def services(self) -> frozenset[int]:
        """Return the ids of the control groups of systemd's services, without groups below them.

        What is below may be a container's, and a container of Docker is a scope of system.slice.
        """
        found = set()
        for place in self._groups.glob("system.slice/*.service"):
            with contextlib.suppress(OSError):  # the unit ended meanwhile
                found.add(place.stat().st_ino)
        return frozenset(found)


def waiting(protocol: int, ports: Collection[int]) -> Iterator[Listening]:
    """Yield the sockets of *protocol* that wait on *ports*, in both families. Raises Unavailable."""
    try:
        for family, port in product(sock_diag.FAMILIES, ports):
            yield from _waiting_on(sock_diag.question(family, port, protocol))
    except OSError as error:
        raise Unavailable(f"The sockets that listen cannot be listed: {error.strerror or error}") from error


def _waiting_on(question: bytes) -> Iterator[Listening]:
    # A socket for each question: the kernel takes no second one before it has answered the first to its end.
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
        kernel.settimeout(_TIMEOUT_SECONDS)
        kernel.send(question)
        for _ in range(_PARTS):
            data = kernel.recv(_RECEIVE_BYTES)
            yield from sock_diag.answers(data)
            if sock_diag.is_last(data):
                break


# What does another stack have on this node now?

PROGRAM = "keepalived"
DNS_PORTS = frozenset({53})
"""Where a server may listen by UDP alone. On ports above 1023 a UDP socket of any user is in no way of ours."""


class OtherStacks:
    """The look at this node."""

    def __init__(
        self, manifests: Path = Path(MANIFESTS), groups: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")
    ) -> None:
        """Look at kubelet's *manifests*, at the tree of control *groups* and at the processes in *proc*."""
        self._proc = proc
        self._manifests = manifests
        self._groups = groups

    def look(self, units: Collection[str], ports: Collection[int]) -> Others:
        """Return what is there of others than *units*. Raises Unavailable."""
        groups = {status.st_ino for unit in units for status in self._statuses(unit)}
        found = [
            one for one in chain(waiting(TCP, ports), waiting(UDP, DNS_PORTS & set(ports))) if one.group is not None
        ]
        # Any user may have thousands of sockets on a port above 1023: one search for all of them.
        programs = self._programs({one.group for one in found if one.group is not None} - groups)
        listeners = tuple(
            Listener(one.port, one.group in groups, one.address, programs.get(one.group or 0, "")) for one in found
        )
        return Others(self._names(), listeners, self._speakers())

    def manifests_stamp(self) -> int | None:
        """Return when a file of the folder of static pods came or went last, None without the folder."""
        try:
            return self._manifests.stat().st_mtime_ns
        except OSError:
            return None

    def _statuses(self, unit: str) -> Iterator[os.stat_result]:
        for place in self._groups.glob(f"*.slice/{unit}"):
            with contextlib.suppress(OSError):  # the unit ended meanwhile
                yield place.stat()

    def _speakers(self) -> int:
        """Return how many sockets of another keepalived speak VRRP; a socket of any other program says nothing.

        They are separated by their user, also while ours run: keepalived has one of its own.
        """
        user = _user(KEEPALIVED_USER)
        foreign = [inode for inode, uid in _vrrp_sockets().items() if uid != user]
        return len(foreign) if foreign and self._has_another(user) else 0

    def _has_another(self, user: int | None) -> bool:
        """Return whether a keepalived runs that is not this user's."""
        for place in self._proc.iterdir():
            with contextlib.suppress(OSError):  # it ended meanwhile
                named = place.name.isdigit() and (place / "comm").read_text(errors="replace").strip() == PROGRAM
                if named and place.stat().st_uid != user:
                    return True
        return False

    def _programs(self, groups: set[int]) -> Mapping[int, str]:
        """Return the names of the control groups with these ids, mostly those of units; none for one that is gone."""
        found: dict[int, str] = {}
        if not groups:
            return found
        # Not Path.glob: in Python 3.11 it raises where a group, as that of a pod, ends meanwhile.
        for place, _, _ in chain.from_iterable(map(os.walk, self._groups.glob("*.slice"))):
            with contextlib.suppress(OSError):
                group = os.stat(place).st_ino  # noqa: PTH116  (there may be ten thousand)
                if group in groups:
                    name = PurePath(place).name  # a user may have made it, in a group that is the user's own
                    found[group] = name if name.isprintable() else ascii(name)
            if len(found) == len(groups):
                break
        return found

    def _names(self) -> frozenset[str]:
        try:
            return frozenset(path.name for path in self._manifests.iterdir())
        except OSError:  # no kubelet with static pods
            return frozenset()


def _user(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def _vrrp_sockets() -> Mapping[int, int]:
    found: dict[int, int] = {}
    for name in ("raw", "raw6"):
        with contextlib.suppress(OSError):  # a kernel without IPv6
            found |= sock_diag.raw_sockets(Path("/proc/self/net", name).read_text(encoding="ascii"), VRRP_PROTOCOL)
    return found


# Which other hosts of a link say that they have an address of this node? (packet(7); RFC 5227, RFC 4861)
#
# A question costs no wake-up: it is sent, and what arrived is read later. The kernel passes on only what is about the
# address (socket(7), SO_ATTACH_FILTER). Any host can say anything.

MOST_PACKETS = 64
"""Packets of one address that are read."""
_ICMP6_FILTER = 1
_SO_ATTACH_FILTER = 26
_BYTES = 2048
_SENDER = 14
"""Where an ARP packet has the address of its sender."""


class Rivals:
    """Questions about addresses of this node."""

    def __init__(self) -> None:
        """Ask nothing yet."""
        self._lines: dict[IPAddress, socket.socket] = {}
        self._own = ""

    def ask(self, addresses: Iterable[IPAddress], link: str) -> None:
        """Ask the hosts on *link* who has each of *addresses*; a link that cannot be asked has no rivals."""
        self.close()
        for address in addresses:
            with contextlib.suppress(OSError):
                line, self._own, ask = _arp(address, link) if address.version == 4 else _icmp(address, link)
                self._lines[address] = line
                ask()

    def heard(self) -> Mapping[IPAddress, frozenset[str]]:
        """Return the MACs of other hosts that have claimed each address since it was asked for; none are left out."""
        found = {address: frozenset(_claims(address, line)) - {self._own} for address, line in self._lines.items()}
        self.close()
        return {address: macs for address, macs in found.items() if macs}

    def close(self) -> None:
        """Listen no longer."""
        for line in self._lines.values():
            line.close()
        self._lines.clear()


def _claims(address: IPAddress, line: socket.socket) -> Iterable[str]:
    read = keepalived.arp_sender if isinstance(address, IPv4Address) else keepalived.neighbour_claim
    with contextlib.suppress(OSError):  # nothing more
        for _ in range(MOST_PACKETS):
            claim = read(line.recv(_BYTES))
            if claim is not None and claim.address == address:
                yield claim.mac


def _arp(address: IPv4Address, link: str) -> tuple[socket.socket, str, partial[int]]:
    line = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0)
    try:
        _pass_on(line, int(address))
        line.bind((link, keepalived.ARP_ETHERTYPE))
        mac: bytes = line.getsockname()[4]
    except OSError:
        line.close()
        raise
    where = (link, keepalived.ARP_ETHERTYPE, 0, 1, keepalived.BROADCAST)
    return line, keepalived.shown(mac), partial(line.sendto, keepalived.arp_probe(mac, address), where)


def _pass_on(line: socket.socket, sender: int) -> None:
    """Let the kernel drop every packet of another *sender* (classic BPF, linux/filter.h)."""
    import ctypes  # noqa: PLC0415 -- few nodes need it, and each would pay for it at its start

    orders = ((0x20, 0, 0, _SENDER), (0x15, 0, 1, sender), (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *order) for order in orders))
    line.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(orders), ctypes.addressof(program)))


def _icmp(address: IPv6Address, link: str) -> tuple[socket.socket, str, partial[int]]:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 0) as any_link:
        any_link.bind((link, 0))
        mac: bytes = any_link.getsockname()[4]
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    line = socket.socket(socket.AF_INET6, kind, socket.IPPROTO_ICMPV6)
    try:
        words = [0xFFFFFFFF] * 8  # a set bit blocks a type (RFC 3542, 3.2)
        words[keepalived.NEIGHBOUR_ADVERT // 32] &= ~(1 << (keepalived.NEIGHBOUR_ADVERT % 32))
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
        line.setsockopt(socket.IPPROTO_ICMPV6, _ICMP6_FILTER, struct.pack("=8I", *words))
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)  # RFC 4861, 4.3
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(link))
        group = (str(keepalived.solicited_node(address)), 0, 0, socket.if_nametoindex(link))
    except OSError:
        line.close()
        raise
    return line, keepalived.shown(mac), partial(line.sendto, keepalived.neighbour_solicit(mac, address), group)
