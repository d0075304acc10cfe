"""How does a verb send a request to the daemon, and how is a refusal reported?"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from nodenet.cli.outputs import note
from nodenet.core.errors import AccessDenied, NodenetError, Unavailable, UsageInvalid, error_named
from nodenet.core.trial.trial import RUNNING, Trial

if TYPE_CHECKING:
    from nodenet.edge.bus.connection import Bus

# How does a verb connect to the bus, and how long does it wait for a bus that does not answer?

QUIET_SECONDS = 0.3
"""A bus that answers does so much earlier."""
BUS_SECONDS = 1.0
"""How long a verb waits for a bus that says nothing at all."""
SLOW_SECONDS = 10.0
"""How much longer it waits for one that has answered: others may give it much to do."""


@contextlib.asynccontextmanager
async def system_bus() -> AsyncIterator[Bus]:
    """Give a connection to the system bus for as long as the body runs.

    Raises Unavailable when the bus does not answer within ``BUS_SECONDS``; a wait is reported on standard error.
    """
    from nodenet.edge.bus.connection import Bus  # noqa: PLC0415  (most verbs speak no D-Bus)

    bus = Bus(changed=lambda _: None)
    async with carried(bus):
        if not await bus.wait_up(QUIET_SECONDS):
            note("nodenetctl: waiting for the system bus")
            dead = not await bus.wait_up(BUS_SECONDS - QUIET_SECONDS) and not bus.greeted
            if dead or not await bus.wait_up(SLOW_SECONDS):
                seconds = BUS_SECONDS if dead else BUS_SECONDS + SLOW_SECONDS
                cause = f"the system bus did not answer within {seconds:g} s"
                raise Unavailable(cause, remedy="See `systemctl status dbus`")
        yield bus


@contextlib.asynccontextmanager
async def carried(bus: Bus) -> AsyncIterator[None]:
    """Keep the connection of *bus* up for as long as the body runs."""
    connection = asyncio.create_task(bus.run())
    try:
        yield
    finally:
        connection.cancel()
        await asyncio.wait({connection})


FULL_QUEUE_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

# How is a request sent, and how is a refusal reported?

PROGRAMS = {
    "org.nodenet1": "nodenetd",
    "org.nodenet1.Hosted": "nodenet-hosted",
    "org.nodenet1.Ipam": "nodenet-ipam",
}
"""By the names that they have on the bus."""
UNKNOWN = "is not known here"
"""In every release, the words for a call with a signature that the called method does not have."""
GLANCE_SECONDS = 0.2
"""Long enough for a refusal that comes at once."""


def ask(  # noqa: PLR0913  (a D-Bus call has that many parts)
    member: str,
    signature: str = "",
    body: Sequence[Any] = (),
    *,
    seconds: float,
    wait: bool = True,
    at: tuple[str, str, str] | None = None,
) -> list[Any]:
    """Call a method and return the body of its reply; without *wait*, nothing.

    *at*: name, path and interface; those of org.nodenet1.Manager where none are given.

    Raises what the daemon raised, or Unavailable.
    """
    return asyncio.run(_ask(at, (member, signature, body), seconds=seconds, wait=wait))


async def _ask(
    at: tuple[str, str, str] | None, message: tuple[str, str, Sequence[Any]], *, seconds: float, wait: bool
) -> list[Any]:
    # Imported here: most verbs speak no D-Bus.
    from nodenet.core.status.bus_interfaces import MANAGER, NAME, PATH  # noqa: PLC0415
    from nodenet.edge.bus.connection import Refused  # noqa: PLC0415

    where = at or (NAME, PATH, MANAGER.name)
    try:
        async with system_bus() as bus:
            call = partial(bus.call, *where, *message, seconds=seconds)
            return await _passed_on(call, None if wait else GLANCE_SECONDS)
    except TimeoutError:
        return []
    except Unavailable as error:
        raise error.saying(error.cause, error.remedy or f"See `systemctl status {PROGRAMS[where[0]]}`") from None
    except Refused as refusal:
        if is_unknown(refusal.name, refusal.text):
            raise another_release(where[0], message[0]) from refusal
        raise error_from_reply(refusal.name, refusal.text, as_root=os.geteuid() == 0) from refusal


async def _passed_on(call: Callable[[], Awaitable[list[Any]]], seconds: float | None) -> list[Any]:
    """Call until the bus passes the call on: dbus-daemon refuses while another program fills nodenetd's queue.

    Raises as *call*, TimeoutError when the answer takes longer than *seconds*.
    """
    from nodenet.edge.bus.connection import Refused  # noqa: PLC0415

    for pause in FULL_QUEUE_PAUSES:
        try:
            async with asyncio.timeout(seconds):
                return await call()
        except Refused as refusal:
            if not refusal.name.endswith(".LimitsExceeded"):
                raise
        await asyncio.sleep(pause)
    async with asyncio.timeout(seconds):
        return await call()


def is_unknown(name: str, text: str) -> bool:
    """Return whether the D-Bus error *name* with *text* says that the program does not know what we call."""
    return name.endswith(".UnknownMethod") or (name == UsageInvalid.bus_name and UNKNOWN in text)


def another_release(service: str, member: str) -> Unavailable:
    """Return the error for a *member* that the running program behind the bus name *service* does not know."""
    program = PROGRAMS.get(service, service)
    rolls_back = ", which rolls back a trial of a node file" if member in ("ConfirmTrial", "RollBackTrial") else ""
    return Unavailable(
        f"the {program} that runs is of another release than nodenetctl: it does not know this call of {member}",
        remedy=f"Start the installed release with `systemctl restart {program}`{rolls_back}",
    )


def error_from_reply(name: str, text: str, *, as_root: bool) -> NodenetError:
    """Return the D-Bus error *name* as one of ours; *text* of dbus-daemon itself would name match rules."""
    kind = error_named(name)
    if kind is not AccessDenied:
        return kind(text)
    if not as_root:
        return AccessDenied("only root may do this", remedy="Run it with sudo")
    return AccessDenied(
        text, remedy="Look whether the bus has its policy, /usr/share/dbus-1/system.d/org.nodenet1.conf"
    )


# Which node file is on trial, or was last, and is it the one that this program has asked for?

SECONDS = 10.0


def reported() -> dict[str, Any]:
    """Return the present trial, or the last one, from nodenetd: the state file is an older one where /run is full.

    Nothing where there was none in this run of nodenetd. Raises NodenetError.
    """
    (text,) = ask("GetStatus", seconds=SECONDS)
    return json.loads(text).get("trial") or {}


def runs(trial: Mapping[str, Any]) -> bool:
    """Return whether the *trial* of a status document holds the network."""
    return trial.get("state") in RUNNING


def is_same(mine: Trial, trial: Mapping[str, Any]) -> bool:
    """Return whether the *trial* of a status document is *mine*: another program may try the same file later."""
    return (trial.get("digest"), trial.get("who")) == (mine.digest, mine.who)


def refuse_another(mine: Trial, trial: Mapping[str, Any]) -> None:
    """Return where *mine* may be the present trial. Raises Unavailable where *trial*, another one, runs."""
    if runs(trial) and not is_same(mine, trial):
        raise another_runs(trial)


def another_runs(trial: Mapping[str, Any]) -> Unavailable:
    """Return the error for a trial that is over, where *trial* has begun since: nodenetd reports that one only."""
    return Unavailable(
        f"the trial is over, and another one, of {trial['node_file']}, has begun since; {trial['who']} started it",
        remedy="Look at `journalctl -u nodenetd` for how this one has ended",
    )
