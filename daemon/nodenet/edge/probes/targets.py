"""Does a host answer a ping, a TCP connection or an HTTPS request, and do packets as large as the MTU reach it?

Pings use the kernel's ICMP sockets, which need no capability (icmp(7), ``net.ipv4.ping_group_range``). A large ping
must not be fragmented (ip(7), IP_PMTUDISC_DO). If a router reports that it is too large, the path MTU is known: TCP
works then (RFC 1191), and that is as good as an answer. If it vanishes, large packets of every connection do.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import struct
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from nodenet.core.ip import IPAddress
from nodenet.core.probes.questions import Answer
from nodenet.core.settings.model import ProbeTarget
from nodenet.core.value import frozen

AGAIN_SECONDS = 0.3
"""Between two pings, and between two connections that are refused."""
_HEADER = struct.Struct("!BBHHH")
"""ICMP echo: type, code, checksum and identifier (both set by the kernel), sequence (RFC 792, RFC 4443)."""
_SMALL, _LARGE = 1, 2
"""The sequence numbers of the two pings."""
_SMALL_PAYLOAD = 32
_MOST = 65_535
_DO = 2
REQUEST = Path(__file__).with_name("https_request.py")
_BY_EXIT = {0: Answer.YES, 3: Answer.NO}
"""Of that program; without the CA, and where it fails, nothing is known."""


@frozen
class _Protocol:
    """What differs between the families (linux/in.h, linux/in6.h)."""

    family: int
    protocol: int
    level: int
    mtu_discover: int
    path_mtu: int
    ip_header: int
    request: int
    reply: int


_V4 = _Protocol(socket.AF_INET, socket.IPPROTO_ICMP, socket.IPPROTO_IP, 10, 14, 20, 8, 0)
_V6 = _Protocol(socket.AF_INET6, socket.IPPROTO_ICMPV6, socket.IPPROTO_IPV6, 23, 24, 40, 128, 129)


class Targets:
    """Hosts that an administrator named."""

    async def answers(self, target: ProbeTarget, seconds: float) -> Answer:
        """Return whether *target* answers within *seconds*, at once when it does; never raises."""
        heard: set[int] = set()
        try:
            async with asyncio.timeout(seconds):
                if target.port is None:
                    await _pinged(target.address, heard)
                elif target.path:
                    return await _served(target, target.port, seconds)
                else:
                    await _connected(target.address, target.port)
        except TimeoutError:
            return Answer.SMALL if _SMALL in heard else Answer.NO
        except OSError:  # this node may not ping, or has no memory for the request
            return Answer.UNKNOWN
        return Answer.YES


async def _connected(address: IPAddress, port: int) -> None:
    """Return when *address* accepts a connection."""
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(str(address), port)
            writer.transport.abort()
            return
        await asyncio.sleep(AGAIN_SECONDS)


async def _served(target: ProbeTarget, port: int, seconds: float) -> Answer:
    """Return whether the HTTPS server of *target* answers (``edge.probes.https_request``)."""
    options = ("-I", "-X", "utf8")  # a bundled Python does not have every locale's encoding
    words = (str(target.address), str(port), target.path, target.ca_file, str(seconds))
    process = await asyncio.create_subprocess_exec(sys.executable, *options, str(REQUEST), *words)
    try:
        return _BY_EXIT.get(await process.wait(), Answer.UNKNOWN)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _pinged(address: IPAddress, heard: set[int]) -> None:
    """Return when a small ping and one as large as the MTU were answered; *heard* gets each. Raises PermissionError."""
    while True:
        try:
            async with _ping_socket(address) as (line, protocol):
                await _exchange(line, protocol, heard)
                return
        except PermissionError:
            raise
        except OSError:  # no route at present
            await asyncio.sleep(AGAIN_SECONDS)


@contextlib.asynccontextmanager
async def _ping_socket(address: IPAddress) -> AsyncIterator[tuple[socket.socket, _Protocol]]:
    """Yield a socket connected to *address*. Raises OSError."""
    protocol = _V4 if address.version == 4 else _V6
    kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    with socket.socket(protocol.family, kind, protocol.protocol) as line:
        line.setsockopt(protocol.level, protocol.mtu_discover, _DO)
        line.connect((str(address), 0))
        yield line, protocol


async def _exchange(line: socket.socket, protocol: _Protocol, heard: set[int]) -> None:
    """Ask until both are answered. Raises OSError."""
    while lacking := {_SMALL, _LARGE} - heard:
        for sequence in sorted(lacking):
            _send(line, protocol, sequence, heard)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AGAIN_SECONDS):
                await _take(line, protocol, heard)


def _send(line: socket.socket, protocol: _Protocol, sequence: int, heard: set[int]) -> None:
    size = _SMALL_PAYLOAD
    if sequence == _LARGE:
        mtu = line.getsockopt(protocol.level, protocol.path_mtu)
        size = min(mtu, _MOST) - protocol.ip_header - _HEADER.size
    # Not sent at present (ENOBUFS, no route): like a packet that was lost.
    with contextlib.suppress(OSError), _noting_size(heard):
        line.send(_HEADER.pack(protocol.request, 0, 0, 0, sequence) + bytes(size))


async def _take(line: socket.socket, protocol: _Protocol, heard: set[int]) -> None:
    """Take answers until both are there. Raises OSError."""
    while not heard >= {_SMALL, _LARGE}:
        with _noting_size(heard):
            packet = await asyncio.get_running_loop().sock_recv(line, _MOST)
            if len(packet) >= _HEADER.size and packet[0] == protocol.reply:
                heard.add(_HEADER.unpack_from(packet)[4])


@contextlib.contextmanager
def _noting_size(heard: set[int]) -> Iterator[None]:
    """Take "too large" for an answer to the large ping: the path MTU is known now. Raises other OSErrors."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EMSGSIZE:
            raise
        heard.add(_LARGE)
