"""Which VRRP advertisements reach this node, and how is one sent for a keepalived that has died? (raw(7))

They are read where keepalived reads them, behind the packet filter: what is filtered is not heard here either. What a
router has passed on is none (RFC 5798, 5.1.1.3 and 5.1.2.3): of IPv4 the header says it, of IPv6 the kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import packets
from nodenet.core.hosted_services.packets import Advert
from nodenet.core.hosted_services.resignation import Resignation
from nodenet.core.ip import Family

Heard = Callable[[Advert, Family], None]
_LONGEST_WAY = 255
"""The TTL and hop limit that a receiver asks for (RFC 5798, 5.1.1.3 and 5.1.2.3)."""
_RECEIVE_BYTES = 2048
_BURST = 64
_ANCILLARY_BYTES = socket.CMSG_SPACE(4)
_NEAR = struct.pack("=i", packets.NEAR)


@contextlib.asynccontextmanager
async def listen(heard: Heard) -> AsyncIterator[frozenset[int]]:
    """Call *heard* with each advertisement of another host and its family, until the block ends.

    Yield the inodes of the sockets. Raises Unavailable.
    """
    loop = asyncio.get_running_loop()
    inodes: set[int] = set()
    with contextlib.ExitStack() as opened:
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                line = opened.enter_context(_socket(family))
            except OSError as error:
                if family == socket.AF_INET6:  # a kernel without IPv6
                    continue
                raise Unavailable(f"VRRP cannot be listened to: {error.strerror or error}") from error
            inodes.add(os.fstat(line.fileno()).st_ino)
            loop.add_reader(line, _reader(line, family, heard))
            opened.callback(loop.remove_reader, line)
        yield frozenset(inodes)


def send(resignation: Resignation) -> None:
    """Send one packet to one peer. Raises Unavailable."""
    source, peer = str(resignation.source), str(resignation.peer)
    try:
        with _socket(socket.AF_INET6 if resignation.source.version == 6 else socket.AF_INET) as line:
            if line.family == socket.AF_INET6:
                line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, _LONGEST_WAY)
            else:
                line.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, _LONGEST_WAY)
            line.bind((source, 0))
            line.sendto(resignation.packet, (peer, 0))
    except OSError as error:
        raise Unavailable(f"{peer} cannot be sent VRRP from {source}: {error.strerror or error}") from error


def _socket(family: socket.AddressFamily) -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    line = socket.socket(family, kind, packets.VRRP_PROTOCOL)
    if family == socket.AF_INET6:
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
    return line


def _reader(line: socket.socket, family: socket.AddressFamily, heard: Heard) -> Callable[[], None]:
    def readable() -> None:
        with contextlib.suppress(OSError):
            for _ in range(_BURST):
                packet, ancillary, _, _ = line.recvmsg(_RECEIVE_BYTES, _ANCILLARY_BYTES)
                if family == socket.AF_INET:
                    packet = packets.after_ipv4_header(packet)
                elif (socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT, _NEAR) not in ancillary:
                    continue
                if (found := packets.advert(packet)) is not None:
                    heard(found, Family.IPV4 if family == socket.AF_INET else Family.IPV6)

    return readable
