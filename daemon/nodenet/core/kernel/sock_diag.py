"""Which sockets of this host wait for clients, and whose are they? (sock_diag(7), linux/inet_diag.h)"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.rtnetlink import AF_INET, AF_INET6, attributes
from nodenet.core.value import frozen

ANY = IPv4Address(0)
FAMILIES = (AF_INET, AF_INET6)
_BY_FAMILY, _REQUEST_DUMP, _DONE = 20, 0x301, 3
TCP, UDP = 6, 17
_STATES = {TCP: 1 << 10, UDP: 1 << 7}
"""TCP_LISTEN; a UDP socket without a peer is in TCP_CLOSE."""
_ONLY_IPV6, _CGROUP_ID = 11, 21
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBxI")
_ID_BYTES = 48
_MESSAGE_BYTES = 4 + _ID_BYTES + 20
_UID = 4 + _ID_BYTES + 12


@frozen
class Listening:
    """A socket: its port, the id of its maker's control group (Linux 5.8 and later; None before), and its address.

    *uid* is its maker's. *only_ipv6*: it gets nothing by IPv4, though its address is unspecified (IPV6_V6ONLY).
    """

    port: int
    group: int | None
    address: IPAddress = ANY
    uid: int = 0
    only_ipv6: bool = False

    def hears(self, address: IPAddress) -> bool:
        """Return whether a packet to *address* may come to it."""
        if self.address.is_unspecified:
            return self.address.version == address.version or (self.address.version == 6 and not self.only_ipv6)
        return address in (self.address, getattr(self.address, "ipv4_mapped", None))


def question(family: int, port: int, protocol: int = TCP) -> bytes:
    """Return the question for all sockets of *family* that wait on *port*: the kernel passes over all others."""
    body = _QUESTION.pack(family, protocol, 0, _STATES[protocol]) + struct.pack("!H", port) + bytes(_ID_BYTES - 2)
    return _HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + body


def answers(data: bytes) -> Iterator[Listening]:
    """Yield the sockets of one part of the answer. Raises OSError when the kernel refused."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, offset)
        if length < _HEADER.size or kind < _DONE:
            raise OSError(5, "the kernel does not list its sockets")
        if kind == _DONE:
            return
        message = memoryview(data)[offset + _HEADER.size : offset + length]
        if len(message) >= _MESSAGE_BYTES:
            (port,) = struct.unpack_from("!H", message, 4)
            (uid,) = struct.unpack_from("=I", message, _UID)
            more = attributes(message, _MESSAGE_BYTES)
            group, only = more.get(_CGROUP_ID), more.get(_ONLY_IPV6)
            made = struct.unpack("=Q", group)[0] if group is not None and len(group) == 8 else None
            yield Listening(port, made, _address(message[0], bytes(message[8:24])), uid, bool(only and only[0]))
        offset += (length + 3) & ~3


def _address(family: int, octets: bytes) -> IPAddress:
    return IPv4Address(octets[:4]) if family == AF_INET else IPv6Address(octets)


def is_last(data: bytes) -> bool:
    """Return whether the answer ends with this part."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, offset)
        if kind <= _DONE or length < _HEADER.size:
            return True
        offset += (length + 3) & ~3
    return False


def raw_sockets(table: str, protocol: int) -> Mapping[int, int]:
    """Return the raw sockets of *protocol* in ``/proc/net/raw`` or ``raw6``: inode → user id (proc_pid_net(5))."""
    found = {}
    for line in table.splitlines()[1:]:
        words = line.split()
        if len(words) > 9 and words[1].endswith(f":{protocol:04X}") and words[7].isdigit() and words[9].isdigit():
            found[int(words[9])] = int(words[7])
    return found
