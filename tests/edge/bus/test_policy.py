"""What the bus lets through to nodenetd, with the policy file as shipped. On dbus-daemon and dbus-broker."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from edge.bus.test_connection import running
from edge.private_bus import PrivateBus
from edge.raw_bus import CALL, ERROR, RETURN, SIGNAL
from nodenet.core.status.bus_interfaces import MANAGER, NAME, OBJECTS, STAGE
from nodenet.edge.bus.connection import BUS_NAME, Bus, Frame, Message

TESTS = Path(__file__).parents[2]
INTROSPECTABLE, PEER = "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Peer"
PROPERTIES = "org.freedesktop.DBus.Properties"
READ_ONLY = {
    (INTROSPECTABLE, "Introspect"),
    (PEER, "Ping"),
    (PEER, "GetMachineId"),
    (PROPERTIES, "Get"),
    (PROPERTIES, "GetAll"),
    (MANAGER.name, "GetStatus"),
    (MANAGER.name, "Explain"),
}
"""What others than root may call."""
OTHERS = {
    (PROPERTIES, "Set"),
    (PROPERTIES, "Unknown"),
    (INTROSPECTABLE, "Unknown"),
    (PEER, "Unknown"),
    ("", "GetStatus"),
    ("x.y", "GetStatus"),
    ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects"),
    *((MANAGER.name, member) for member in MANAGER.mutators),
    *((STAGE.name, member) for member in STAGE.methods),
}
SENDER = """
import sys
from pathlib import Path
from edge.raw_bus import RawClient, become_nobody
path, destination, kind, interface, member, descriptors, user = sys.argv[1:]
if user == "nobody":
    become_nobody()
client = RawClient(Path(path), descriptors=descriptors == "1")
more = ((9, "u", 1),) if descriptors == "1" else ()
more += ((5, "u", 1),) if kind in "23" else ()
more += ((4, "s", "x.y.Error"),) if kind == "3" else ()
client.send(client.call(member, destination=destination, interface=interface, kind=int(kind), more=more),
            [0] if descriptors == "1" else ())
bus = "org.freedesktop.DBus"
client.send(client.call("GetId", destination=bus, path="/org/freedesktop/DBus", interface=bus))
client.answer()
"""


class Hearing(Bus):
    """A connection that keeps every message that others than the bus itself send to it."""

    def __init__(self, address: str) -> None:
        super().__init__(address=address, changed=lambda _: None)
        self.heard: list[Frame] = []

    def _received(self, frame: Frame) -> None:
        if frame.sender != BUS_NAME:
            self.heard.append(frame)
        super()._received(frame)


@contextlib.asynccontextmanager
async def heard(bus: PrivateBus) -> AsyncIterator[tuple[Bus, list[Frame]]]:
    """Own nodenetd's name; give the messages that arrive."""
    ours = Hearing(bus.address)
    ours.serve(NAME, lambda call: ours.reply(call, Message.new_method_return(call)))
    async with running(ours):
        assert await ours.wait_up(10)
        assert ours.owns_name
        yield ours, ours.heard


async def send(  # noqa: PLR0913 -- what a message consists of
    bus: PrivateBus, destination: str, kind: int, interface: str, member: str, *, descriptors: bool = False, user: str
) -> None:
    """Send one message and wait until the bus has read it."""
    arguments = [str(bus.path), destination, str(kind), interface, member, str(int(descriptors)), user]
    environment = {"PYTHONPATH": str(TESTS)}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SENDER, *arguments, env=environment)
    async with asyncio.timeout(30):
        assert await process.wait() == 0


def test_every_method_is_listed_here() -> None:
    """A new one must be put on one of the two sides."""
    known = READ_ONLY | OTHERS
    assert {(one.name, member) for one, _ in OBJECTS.values() for member in one.methods} <= known


async def test_others_than_root_may_only_read(system_bus: PrivateBus) -> None:
    """And nothing else: no other method, no signal, no reply to nothing, no descriptor (R34, R38)."""
    async with heard(system_bus) as (ours, calls):
        (unique,) = await ours.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetNameOwner", "s", [NAME])
        messages = [(NAME, CALL, *method, False) for method in sorted(READ_ONLY | OTHERS)]
        for destination in (NAME, unique):
            messages.append((destination, CALL, PEER, "Ping", True))
            messages += [(destination, kind, PEER, "Ping", False) for kind in (RETURN, ERROR, SIGNAL)]
            messages.append((destination, SIGNAL, "org.freedesktop.NetworkManager", "StateChanged", False))
        for destination, kind, interface, member, descriptors in messages:
            await send(system_bus, destination, kind, interface, member, descriptors=descriptors, user="nobody")
        await ours.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
        assert {(call.interface, call.member) for call in calls} == READ_ONLY
        assert len(calls) == len(READ_ONLY)


async def test_root_may_call_everything(system_bus: PrivateBus) -> None:
    """Descriptors included, though nodenetd wants none."""
    async with heard(system_bus) as (ours, calls):
        for member in sorted(MANAGER.methods):
            await send(system_bus, NAME, CALL, MANAGER.name, member, user="root")
        await send(system_bus, NAME, CALL, MANAGER.name, "GetStatus", descriptors=True, user="root")
        await ours.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
        assert sorted(call.member for call in calls) == sorted([*MANAGER.methods, "GetStatus"])
