"""An inhibitor lasts as long as its descriptor: over a real bus, with real pipes and real processes."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from dbus_next.constants import MessageFlag

from edge.bus.test_connection import client, running
from edge.bus.test_service import ORDERS, START
from edge.private_bus import PrivateBus
from nodenet.core.boot.stage_state import Inhibitor
from nodenet.core.errors import Busy
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import MANAGER, NAME, PATH
from nodenet.edge.bus.connection import Bus, Message
from nodenet.edge.bus.service import InhibitorLocks, Service


class Book:
    """Who holds, as the reconciler would know it."""

    def __init__(self, refuse: Busy | None = None) -> None:
        self.inhibitors: list[Inhibitor] = []
        self.refuse = refuse
        self.locks = InhibitorLocks(self.take, self.inhibitors.remove)

    def take(self, inhibitor: Inhibitor) -> None:
        if self.refuse:
            raise self.refuse
        self.inhibitors.append(inhibitor)

    async def empty(self) -> None:
        async with asyncio.timeout(5):
            while self.inhibitors:
                await asyncio.sleep(0.005)


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_a_hold_ends_when_the_last_copy_is_closed() -> None:
    """Children that inherited it hold on; what a holder writes is nobody's business."""
    book = Book()
    before = open_descriptors()
    descriptor = book.locks.take(StageName.NMSTATE, "backup", "copies")
    child = await asyncio.create_subprocess_exec("sleep", "60", pass_fds=(descriptor,))
    os.write(descriptor, b"x" * 4096)
    os.close(descriptor)
    await asyncio.sleep(0.05)
    assert [(taken.who, taken.why) for taken in book.inhibitors] == [("backup", "copies")]
    child.kill()
    await child.wait()
    await book.empty()
    assert open_descriptors() == before


async def test_a_refused_hold_leaves_nothing_open() -> None:
    """Whatever the reason."""
    book = Book(refuse=Busy("nmstate runs already"))
    before = open_descriptors()
    with pytest.raises(Busy):
        book.locks.take(StageName.NMSTATE, "backup", "copies")
    assert open_descriptors() == before


async def test_a_holder_sees_the_daemon_go() -> None:
    """Its end of the pipe breaks: poll(2) reports an error."""
    book = Book()
    descriptor = book.locks.take(StageName.NMSTATE, "backup", "copies")
    book.locks.close()
    poll = select.poll()
    poll.register(descriptor, 0)
    assert poll.poll(1000) == [(descriptor, select.POLLERR)]
    os.close(descriptor)


HOLDER = """
import asyncio, sys
from dbus_next.aio import MessageBus
from dbus_next import Message
async def main():
    bus = await MessageBus(sys.argv[1], negotiate_unix_fd=True).connect()
    reply = await bus.call(Message(destination="org.nodenet1", path="/org/nodenet1", interface="org.nodenet1.Manager",
                                   member="Inhibit", signature="sss", body=["nmstate", "backup", "copies"]))
    print(reply.signature, len(reply.unix_fds), flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_a_hold_is_taken_over_the_bus_and_ends_with_its_process(private_bus: PrivateBus) -> None:
    """Killed, not asked: the kernel closes what it held."""
    book = Book()
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, replace(ORDERS, inhibit=book.locks.take), lambda: START)
    async with running(bus):
        assert await bus.wait_up(5)
        before = open_descriptors()
        holder = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, private_bus.address, stdout=asyncio.subprocess.PIPE
        )
        assert holder.stdout
        assert await asyncio.wait_for(holder.stdout.readline(), 20) == b"h 1\n"
        assert [(taken.stage, taken.who) for taken in book.inhibitors] == [(StageName.NMSTATE, "backup")]
        holder.kill()
        await holder.communicate()
        await book.empty()
        assert open_descriptors() <= before


async def test_a_caller_that_takes_no_descriptors_holds_nothing(private_bus: PrivateBus) -> None:
    """The bus cannot pass it on; the inhibitor ends instead of staying for ever."""
    book = Book()
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, replace(ORDERS, inhibit=book.locks.take), lambda: START)
    async with running(bus), running(Bus(address=private_bus.address, changed=lambda _: None)) as other:
        assert await bus.wait_up(5)
        assert await other.wait_up(5)
        with pytest.raises(Exception, match=r".*"):
            await other.call(NAME, PATH, MANAGER.name, "Inhibit", "sss", ["nmstate", "a", "b"], seconds=2)
        await book.empty()


async def test_a_caller_that_wants_no_reply_holds_nothing(private_bus: PrivateBus) -> None:
    """No program gets the descriptor, so the inhibitor ends at once: its stage would wait for ever."""
    book, taken = Book(), asyncio.Event()

    def take(stage: StageName, who: str, why: str) -> int:
        taken.set()
        return book.locks.take(stage, who, why)

    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, replace(ORDERS, inhibit=take), lambda: START)
    async with running(bus), client(private_bus.address) as other:
        assert await bus.wait_up(5)
        call = Message(NAME, PATH, MANAGER.name, "Inhibit", signature="sss", body=["nmstate", "a", "b"])
        call.flags = MessageFlag.NO_REPLY_EXPECTED
        await other.send(call)
        await asyncio.wait_for(taken.wait(), 5)
        await book.empty()


async def test_descriptors_that_strangers_send_are_closed(private_bus: PrivateBus) -> None:
    """A table of descriptors that fills up would stop the daemon."""
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, ORDERS, lambda: START)
    async with running(bus), client(private_bus.address, negotiate_unix_fd=True) as stranger:
        assert await bus.wait_up(5)
        before = open_descriptors()
        call = {"destination": NAME, "path": PATH, "interface": MANAGER.name, "member": "GetStatus"}
        for _ in range(50):
            reply = await stranger.call(Message(**call, signature="h", body=[0], unix_fds=[0]))
            assert reply.error_name == "org.nodenet1.Error.InvalidArgument"
        async with asyncio.timeout(5):
            while open_descriptors() > before:
                await asyncio.sleep(0.005)
