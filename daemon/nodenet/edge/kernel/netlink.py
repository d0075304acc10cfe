"""What does the kernel say about links, addresses and routes, and when does it change?

Reading is done with the standard library (rtnetlink(7)): importing pyroute2 costs 120-160 ms, which is too
long for a boot and for a command, and decoding whole routing tables takes even longer. Events are read by pyroute2 in a
child process (``edge.kernel.watcher``), which starts later and only when a stage waits.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel import rtnetlink
from nodenet.core.kernel import rtnetlink_messages as messages
from nodenet.core.kernel.snapshot import Address, Route, Snapshot
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import is_denied
from nodenet.core.ownership import rule
from nodenet.core.ownership.things import Kind, Thing

ATTEMPTS = 5
"""How often a dump that the kernel marks as inconsistent is read again; a busy host may change all the time."""
RECEIVE_BYTES = 65_536
WATCHER = Path(__file__).with_name("watcher.py")
_TIMEOUT_SECONDS = 10.0
_SOL_NETLINK = 270
_NETLINK_GET_STRICT_CHK = 12
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_IFREQ = struct.Struct("16sH22x")
"""struct ifreq of netdevice(7), with its flags: 40 bytes on a 64-bit machine."""

_Found = TypeVar("_Found")
_Select = Callable[[rtnetlink.Dump, memoryview, int], Iterator[memoryview]]


def snapshot(*, complete: bool = False) -> Snapshot:
    """Return the present state; unless *complete*, only what node IP selection looks at.

    Left out are routes that are neither defaults nor static nor advertised by a router, or lead nowhere, and what is
    said about the addresses of links that are denied under every policy. Raises Unavailable when the kernel does not
    answer.
    """
    return _read(_Reading.snapshot, "links, addresses and routes", complete=complete)


def read_addresses() -> tuple[Address, ...]:
    """Return all addresses, without links and routes: for who asks often. Raises Unavailable."""
    return _read(_Reading.addresses, "addresses", complete=True)


def _read(take: Callable[[_Reading], _Found], what: str, *, complete: bool) -> _Found:
    """Return what *take* reads; it is read again while the kernel marks it as inconsistent. Raises Unavailable."""
    try:
        for attempt in range(1, ATTEMPTS + 1):
            with closing(_Reading(complete=complete)) as reading:
                found = take(reading)
                if reading.whole or attempt == ATTEMPTS:
                    break
    except (OSError, struct.error, ValueError, IndexError) as error:
        raise Unavailable(f"The kernel's {what} cannot be read: {error}") from error
    # On a host that changes all the time this is the best answer: the next change is reported.
    return found


class _Reading:
    """One attempt to read everything; *whole*: nothing changed in between that we could notice."""

    def __init__(self, *, complete: bool) -> None:
        self.whole = True
        self._complete = complete
        self._buffer = memoryview(bytearray(RECEIVE_BYTES + rtnetlink.SCRATCH))
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._socket.settimeout(_TIMEOUT_SECONDS)
        with suppress(OSError):
            # The kernel answers what was asked and nothing more; Linux < 4.20 cannot, and the decoder skips the rest.
            self._socket.setsockopt(_SOL_NETLINK, _NETLINK_GET_STRICT_CHK, 1)
        self._socket.bind((0, 0))

    def close(self) -> None:
        self._socket.close()

    def snapshot(self) -> Snapshot:
        found = map(rtnetlink.link, self._list(rtnetlink.RTM_GETLINK, rtnetlink.LINK_REQUEST))
        numbered = {item.link.index: item for item in found}
        names = {index: item.link.name for index, item in numbered.items()}
        terse = () if self._complete else {i for i, item in numbered.items() if is_denied(item.link, Policy())}
        # DHCP's routes come after the address: with the routes listed first none lacks its address here.
        listed = self._routes(names)
        return Snapshot(rtnetlink.with_names(numbered), self._addresses(names, terse), listed)

    def addresses(self) -> tuple[Address, ...]:
        return self._addresses(dict(socket.if_nameindex()))

    def _addresses(self, names: Mapping[int, str], terse: Collection[int] = ()) -> tuple[Address, ...]:
        """Return the addresses of the links *names*, by index. Raises OSError."""
        found = list(messages.addresses(self._list(messages.RTM_GETADDR, messages.ADDRESS_REQUEST), names, terse))
        # An address on a link that came after the links were listed.
        self.whole &= None not in found
        return tuple(filter(None, found))

    def _routes(self, names: Mapping[int, str]) -> tuple[Route, ...]:
        select = rtnetlink.Dump.every if self._complete else rtnetlink.Dump.telling_routes
        # Each address has its own local routes: the kernel leaves them out, or the selection here does.
        request = partial(messages.route_request, unicast=not self._complete)
        raw = [
            messages.raw_route(message)
            for family in (rtnetlink.AF_INET, rtnetlink.AF_INET6)
            for message in self._list(messages.RTM_GETROUTE, request(family), select)
            if message[0] == family  # a kernel without IPv6 answers with everybody's
        ]
        objects = messages.NO_OBJECTS
        if any(item.route.nexthop_id and not item.hops for item in raw):
            # The kernel lists the hops with the route unless net.ipv4.nexthop_compat_mode is 0.
            objects = messages.next_hop_objects(self._list(messages.RTM_GETNEXTHOP, messages.NEXT_HOP_REQUEST))
        return tuple(messages.route(item, names, objects) for item in raw)

    def _list(self, kind: int, body: bytes, select: _Select = rtnetlink.Dump.every) -> Iterator[memoryview]:
        """Yield the messages of one list, each valid until the next is asked for. Raises OSError."""
        self._socket.send(rtnetlink.request(kind, 1, body))
        dump = rtnetlink.Dump()
        while not dump.done:
            yield from select(dump, self._buffer, self._socket.recv_into(self._buffer, RECEIVE_BYTES))
        self.whole &= not dump.interrupted


def can_bind(address: IPAddress, link_index: int) -> bool:
    """Return whether a TCP server could listen on *address* now: IPv6 in duplicate address detection refuses it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    scope = link_index if address.version == 6 and address.is_link_local else 0
    where = (str(address), 0) if address.version == 4 else (str(address), 0, 0, scope)
    try:
        with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as server:
            server.bind(where)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return True  # the kernel looks for a free port only once the address is good (bind(2)): every port is taken
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENODEV):
            return False
        raise Unavailable(f"No server can be tried on {address}: {error}") from error
    return True


def set_up(link: str) -> None:
    """Set *link* up, as `ip link set LINK up` does (netdevice(7)). Raises Unavailable."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as kernel:
            name = link.encode()
            answer = fcntl.ioctl(kernel, _SIOCGIFFLAGS, _IFREQ.pack(name, 0))
            (_, flags) = _IFREQ.unpack(answer)
            fcntl.ioctl(kernel, _SIOCSIFFLAGS, _IFREQ.pack(name, flags | _IFF_UP))
    except OSError as error:
        raise Unavailable(f"{link} cannot be set up: {error.strerror or error}") from error


async def watch(changed: Callable[[], None]) -> None:
    """Call *changed* after links, addresses or routes changed, until cancelled.

    *changed* is also called once when the watch has begun, for what happened before. Raises Unavailable when the
    kernel cannot be watched.
    """
    import asyncio  # noqa: PLC0415 - the command line reads without it

    pipe = asyncio.subprocess.PIPE
    options = ("-I", "-X", "utf8")  # a bundled Python does not have every locale's encoding
    process = await asyncio.create_subprocess_exec(
        sys.executable, *options, str(WATCHER), os.pathsep.join(sys.path), stdin=pipe, stdout=pipe
    )
    try:
        while process.stdout and await process.stdout.read(RECEIVE_BYTES):
            changed()
        code = await process.wait()
        raise Unavailable(f"The process that watches the kernel's links, addresses and routes ended (exit {code})")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


_DONE = frozenset({0, errno.EEXIST})
_GONE = frozenset({0, errno.ESRCH, errno.ENOENT, errno.EADDRNOTAVAIL, errno.ENODEV})


def noted() -> tuple[Thing, ...]:
    """Return what other programs have on links at this moment. Raises Unavailable."""
    names = dict(socket.if_nameindex())
    try:
        return tuple(thing for kind in Kind for body in _listed(kind) for thing in rule.things(kind, body, names))
    except (OSError, struct.error, ValueError, IndexError) as error:
        raise Unavailable(f"What other programs have on the links cannot be read: {error}") from error


def take(things: Iterable[Thing]) -> None:
    """Take *things* off their links. Raises Unavailable; one that is not there any more is no error."""
    for thing, code in _ordered(things, away=True):
        if code not in _GONE:
            raise Unavailable(
                f"The {thing.kind} {thing.name[0]} on {thing.link} cannot be set aside: {os.strerror(code)}"
            )


def put(things: Iterable[Thing]) -> tuple[tuple[Thing, str], ...]:
    """Put *things* on their links again; return those that the kernel refused, and why. Raises Unavailable."""
    return tuple((thing, os.strerror(code)) for thing, code in _ordered(things, away=False) if code not in _DONE)


def _ordered(things: Iterable[Thing], *, away: bool) -> Iterator[tuple[Thing, int]]:
    """Give an order about each of *things*; yield it with the kernel's answer, errno(3). Raises Unavailable."""
    try:
        with closing(_socket()) as kernel:
            for thing in things:
                try:
                    index = socket.if_nametoindex(thing.link)
                except OSError:
                    yield thing, errno.ENODEV
                    continue
                kernel.send(rule.order(thing, index, away=away))
                yield thing, rule.refusal(kernel.recv(RECEIVE_BYTES))
    except (OSError, struct.error, ValueError, KeyError) as error:
        raise Unavailable(f"The kernel takes no order about its links: {error}") from error


def _listed(kind: Kind) -> Iterator[memoryview]:
    """Yield the body of each message about things of *kind*, valid until the next. Raises OSError."""
    buffer, dump = memoryview(bytearray(RECEIVE_BYTES + rtnetlink.SCRATCH)), rtnetlink.Dump()
    message, body = rule.QUESTIONS[kind]
    with closing(_socket()) as kernel:
        kernel.send(rtnetlink.request(message, 1, body))
        while not dump.done:
            yield from dump.every(buffer, kernel.recv_into(buffer, RECEIVE_BYTES))


def _socket() -> socket.socket:
    kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    kernel.settimeout(_TIMEOUT_SECONDS)
    kernel.bind((0, 0))
    return kernel


# Which of the kernel's settings does a link have? (/proc/sys/net, ip-sysctl in the kernel's documentation)
#
# Read and written as files, never by sysctl(8): a dot in a link's name, as in ``bond0.354``, is a separator there.

ROOT = Path("/proc/sys")
AREAS = ("net/ipv4/conf", "net/ipv6/conf")
_SECRET = "stable_secret"  # noqa: S105  (the name of a file, not what is in it)


class Sysctls:
    """The settings of links, by name below /proc/sys with the link left out: ``net/ipv4/conf/forwarding``.

    The link ``default`` has those of every new link.
    """

    def __init__(self, root: Path = ROOT) -> None:
        """Look below *root*."""
        self._root = root

    def of_link(self, link: str) -> dict[str, str]:
        """Return all settings of *link*, a hundred (2 ms); none of one that is gone."""
        found = {}
        for area in AREAS:
            directory = self._file(link, f"{area}/x").parent
            names = sorted(file.name for file in directory.iterdir()) if directory.is_dir() else []
            for name in (f"{area}/{name}" for name in names if name != _SECRET):
                if (value := self.read(link, name)) is not None:
                    found[name] = value
        return found

    def read(self, link: str, name: str) -> str | None:
        """Return one setting, None when link or setting is not there."""
        try:
            return self._file(link, name).read_text().strip()
        except OSError:
            return None

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """Set what differs; return the names of what did. Raises Unavailable naming the file that took no value."""
        changed = tuple(name for name, value in values.items() if self.read(link, name) != value)
        for name in changed:
            file = self._file(link, name)
            try:
                file.write_text(f"{values[name]}\n")
            except OSError as error:
                raise Unavailable(f"{file} cannot be set to {values[name]}: {error.strerror}") from error
        return changed

    def _file(self, link: str, name: str) -> Path:
        area, _, key = name.rpartition("/")
        if area not in AREAS or key in ("", ".", "..") or "/" in link or link in ("", ".", ".."):
            raise ValueError(f"{name!r} of {link!r} is no setting of a link")
        return self._root / area / link / key
