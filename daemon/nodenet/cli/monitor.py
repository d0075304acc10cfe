"""What changes on the node? Printed as it happens: from the bus, or from the state file while the bus is away."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodenet.cli.ask import BUS_SECONDS, carried
from nodenet.cli.outputs import printable
from nodenet.cli.status import STATE, read
from nodenet.core.status.bus_interfaces import MANAGER, NAME, PATH
from nodenet.core.status.text import Event, Known, of_document, of_properties, of_signal

if TYPE_CHECKING:
    from nodenet.edge.bus.connection import Bus

POLL_SECONDS, CHECK_SECONDS = 0.2, 2.0
"""How often the state file is read without the bus, and with it: a signal can be lost."""
News = asyncio.Queue[Iterable[Event] | None]
"""Events that arrived; None: the reader of our output has gone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Print the present status and then each change, one line for each event, until interrupted: stages, node IPs, "
        "readiness, problems. The first lines have the time at which the status was reached, or `now` where that time "
        "is not known. Events come from the bus. Without the bus, the state file is read, which may show several "
        "quick changes as one."
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object in each line; time in seconds since boot, null where it is not known",
    )
    parser.add_argument(
        "--file", type=Path, default=STATE, metavar="FILE", help="read this state file (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print until interrupted or until the reader of the output is gone."""
    with asyncio.Runner() as runner:
        runner.run(_watch(arguments.file, _as_json if arguments.json else _as_text))
    return 0


async def _watch(path: Path, as_line: Any) -> None:  # noqa: ANN401
    """Print what is new. Raises BrokenPipeError when the reader of the output is gone."""
    heard: News = asyncio.Queue()
    _notice_a_closed_pipe(heard)
    bus = _listening(heard, path)
    known = Known()
    async with carried(bus):
        for event in known.news(_present(path, first=True)):
            print(as_line(event), flush=True)
        if not await bus.wait_up(BUS_SECONDS):
            heard.put_nowait([_bus("away", f"reading {path} instead")])
        while True:
            for event in known.news(await _next(heard, bus, path)):
                print(as_line(event), flush=True)


async def _next(heard: News, bus: Bus, path: Path) -> Iterable[Event]:
    """Return the next message, or the content of the state file when no message came for a while."""
    try:
        async with asyncio.timeout(CHECK_SECONDS if bus.connected else POLL_SECONDS):
            events = await heard.get()
    except TimeoutError:
        return _present(path)
    if events is None:
        raise BrokenPipeError
    return events


def _listening(heard: News, path: Path) -> Bus:
    """Return a bus, not yet running, that puts nodenetd's messages into *heard*."""
    # Imported here: help and completions of all verbs are made without D-Bus.
    from nodenet.edge.bus.connection import PROPERTIES, Bus, Signal, name_owner_changed  # noqa: PLC0415

    was_up: list[bool] = []

    def changed(up: bool) -> None:  # noqa: FBT001
        if not up:
            heard.put_nowait([_bus("away", f"reading {path} instead")])
        elif was_up:
            heard.put_nowait([_bus("back")])
        was_up.append(up)
        heard.put_nowait(_present(path))

    def owner(body: Sequence[Any]) -> None:
        heard.put_nowait([Event(_now(), "bus", NAME, "on the bus" if body[2] else "has left the bus")])
        heard.put_nowait(_present(path))

    def properties(body: Sequence[Any]) -> None:
        heard.put_nowait(of_properties({name: value.value for name, value in body[1].items()}, _now()))

    def signal(member: str, body: Sequence[Any]) -> None:
        heard.put_nowait(of_signal(member, body, _now()))

    bus = Bus(changed=changed)
    for member in MANAGER.signals:
        bus.subscribe(Signal(NAME, PATH, MANAGER.name, member), partial(signal, member))
    bus.subscribe(Signal(NAME, PATH, PROPERTIES, "PropertiesChanged"), properties)
    bus.subscribe(name_owner_changed(NAME), owner)
    return bus


def _present(path: Path, *, first: bool = False) -> Iterator[Event]:
    """Yield the content of the state file as events; at *first* they have no time, as they happened before."""
    document = read(path)
    if document is None:
        yield Event(None if first else _now(), "health", "node", "unknown", "nodenetd has not reported in this boot")
    else:
        yield from of_document(document, _now(), first=first)


def _notice_a_closed_pipe(heard: News) -> None:
    """Put None into *heard* when the reader of our output is gone (`| head -1`): the next event may take hours."""
    with suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            # The writing end never has data to read; it only becomes ready by EPOLLERR (epoll_ctl(2)).
            asyncio.get_running_loop().add_reader(descriptor, heard.put_nowait, None)


def _bus(status: str, detail: str = "") -> Event:
    return Event(_now(), "bus", "bus", status, detail)


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _as_json(event: Event) -> str:
    return json.dumps({name: value for name, value in dataclasses.asdict(event).items() if name != "as_of"})


def _as_text(event: Event) -> str:
    when = "now"
    if event.time is not None:
        at = datetime.fromtimestamp(time.time() - _now() + event.time).astimezone()
        when = f"{at:%H:%M:%S}.{at.microsecond // 1000:03}"
    return printable(f"{when:<12} {event.subject:<17} {event.status:<11} {event.detail}".rstrip())
