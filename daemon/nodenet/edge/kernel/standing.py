"""What have other programs put on the links of this node, and can it be taken away and put back as it was?"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing

from nodenet.core.errors import Unavailable
from nodenet.core.kernel import rtnetlink as rt
from nodenet.core.ownership import messages
from nodenet.core.ownership.things import Kind, Thing

RECEIVE_BYTES = 65_536
_TIMEOUT_SECONDS = 10.0
_DONE = frozenset({0, errno.EEXIST})
_GONE = frozenset({0, errno.ESRCH, errno.ENOENT, errno.EADDRNOTAVAIL, errno.ENODEV})


def noted() -> tuple[Thing, ...]:
    """Return what other programs have on links at this moment. Raises Unavailable."""
    names = dict(socket.if_nameindex())
    try:
        return tuple(thing for kind in Kind for body in _listed(kind) for thing in messages.things(kind, body, names))
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
                kernel.send(messages.order(thing, index, away=away))
                yield thing, messages.refusal(kernel.recv(RECEIVE_BYTES))
    except (OSError, struct.error, ValueError, KeyError) as error:
        raise Unavailable(f"The kernel takes no order about its links: {error}") from error


def _listed(kind: Kind) -> Iterator[memoryview]:
    """Yield the body of each message about things of *kind*, valid until the next. Raises OSError."""
    buffer, dump = memoryview(bytearray(RECEIVE_BYTES + rt.SCRATCH)), rt.Dump()
    message, body = messages.QUESTIONS[kind]
    with closing(_socket()) as kernel:
        kernel.send(rt.request(message, 1, body))
        while not dump.done:
            yield from dump.every(buffer, kernel.recv_into(buffer, RECEIVE_BYTES))


def _socket() -> socket.socket:
    kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    kernel.settimeout(_TIMEOUT_SECONDS)
    kernel.bind((0, 0))
    return kernel
