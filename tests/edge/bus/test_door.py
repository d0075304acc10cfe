"""The bus as a door: what strangers send must not stop, fill or deceive the daemon. On dbus-daemon and dbus-broker.

Here everybody may everything: what the policy keeps away is in test_policy.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fuzz_bus
from edge.bus.test_connection import client, quiet, running
from edge.bus.test_service import ORDERS, START, call
from edge.lag import LIMIT_SECONDS
from edge.private_bus import PrivateBus
from edge.raw_bus import RawClient, signature, string
from nodenet.core.boot.outcome import Facts, Failed, Problem
from nodenet.core.messages import Message as MessageId
from nodenet.core.stage_name import StageName
from nodenet.edge.bus.connection import DBUS, Bus, Message, Signal
from nodenet.edge.bus.frames import KEPT_SIGNATURES
from nodenet.edge.bus.service import Orders, Service
from nodenet.edge.network_manager.state import NetworkManager
from nodenet.edge.systemd.manager_object import MANAGER, NAME, PATH
from nodenet.edge.systemd.units import Units

TESTS = Path(__file__).parents[2]
MOST_MEGABYTES_MORE = 32.0
MOST_HIDDEN_MEGABYTES = 8.0
"""By how much the start of a process may peak above what it then has."""


@contextlib.asynccontextmanager
async def stranger(mode: str, bus: PrivateBus) -> AsyncIterator[None]:
    """Have a stranger do something; the body runs when it is done, and while it holds its connection."""
    program = [sys.executable, str(TESTS / "edge" / "strangers.py"), mode, str(bus.path)]
    pipe = asyncio.subprocess.PIPE
    environment = {"PYTHONPATH": str(TESTS)}
    process = await asyncio.create_subprocess_exec(*program, stdin=pipe, stdout=pipe, env=environment)
    assert process.stdout
    try:
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"done\n"
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@contextlib.asynccontextmanager
async def door(bus: PrivateBus, orders: Orders = ORDERS) -> AsyncIterator[Bus]:
    """Serve as the daemon does."""
    ours = quiet(bus.address)
    Service(ours, orders, lambda: START)
    async with running(ours):
        assert await ours.wait_up(10)
        yield ours


async def answers(bus: PrivateBus) -> None:
    """See that the service answers, over the connection that it had from the start."""
    async with client(bus.address) as other:
        reply = await asyncio.wait_for(call(other, "GetStatus"), 20)
        assert reply.signature == "s"


async def raw_answer(bus: PrivateBus, build: Any, wanted: bytes = b"") -> bytes:
    """Return what comes after raw bytes until *wanted* is in it, or nothing more."""

    def ask() -> bytes:
        raw = RawClient(bus.path)
        with raw.socket:
            raw.socket.settimeout(3)
            raw.send(build(raw))
            heard = raw.answer()
            while wanted not in heard and (more := raw.answer()):
                heard += more
            return heard

    return await asyncio.to_thread(ask)


ONE_VARIANT = b"\0\0\0" + struct.pack("<I", 4) + signature("y") + b"\1"
"""An array, with the padding that it needs as the second header field or a later one."""


@pytest.mark.parametrize(
    "field",
    [
        (42, "s", "x"),
        (10, "o", "/x"),
        (200, "u", 7),
        (77, "av", ONE_VARIANT),
    ],
    ids=["string", "path", "number", "array"],
)
async def test_unknown_header_fields_are_ignored(any_bus: PrivateBus, field: Any) -> None:
    """As the specification asks (R33)."""
    async with door(any_bus):
        question = partial(RawClient.call, member="Explain", types="s", body=string("node-ip"), more=(field,))
        assert b"about node-ip" in await raw_answer(any_bus, question, b"about node-ip")
        await answers(any_bus)


async def test_a_message_of_unknown_type_is_ignored(any_bus: PrivateBus) -> None:
    """It is not for this version of the protocol (R33)."""
    async with door(any_bus):
        await raw_answer(any_bus, lambda raw: raw.call("GetStatus", kind=7))
        await raw_answer(any_bus, lambda raw: raw.call("GetStatus", flags=0xF0))
        await raw_answer(any_bus, lambda raw: raw.call("GetStatus", interface=""))
        await answers(any_bus)


async def test_any_error_leads_to_another_connection(private_bus: PrivateBus) -> None:
    """The task that keeps the bus up does not end (R33)."""
    comes: list[bool] = []

    def changed(up: bool) -> None:  # noqa: FBT001 -- as Bus calls it
        comes.append(up)
        if len(comes) == 1:
            raise ZeroDivisionError("a fault of ours")

    async with running(Bus(address=private_bus.address, changed=changed)) as bus:
        async with asyncio.timeout(10):
            while comes[-1:] != [True] or len(comes) < 2:
                await asyncio.sleep(0.01)
        assert await bus.call(*DBUS, "NameHasOwner", "s", [DBUS[0]]) == [True]


@pytest.mark.parametrize("mode", ["variants", "signatures", "flood", "many_descriptors"])
async def test_strangers_neither_keep_the_loop_nor_fill_the_memory(any_bus: PrivateBus, mode: str) -> None:
    """Large messages, many messages, descriptors by the thousand (R35, R36).

    The door is a process with nothing else in it: no peak or free memory of another test hides that it grows.
    """
    async with fuzz_bus.door(any_bus) as process:
        before = await fuzz_bus.report(process)
        async with stranger(mode, any_bus):
            await answers(any_bus)
            after = await fuzz_bus.report(process)
        assert before["most_megabytes"] - before["resident_megabytes"] < MOST_HIDDEN_MEGABYTES
        assert after["most_megabytes"] - before["resident_megabytes"] < MOST_MEGABYTES_MORE
        assert after["lag"] <= LIMIT_SECONDS
        assert after["signatures"] <= KEPT_SIGNATURES + 1
        assert (after["owns_name"], after["connections"]) == (True, 1)
        await answers(any_bus)


async def test_a_hundred_questions_cost_no_pending_order(any_bus: PrivateBus) -> None:
    """The caller of a reload gets its answer, over the same connection (R37)."""
    begun, finish = asyncio.Event(), asyncio.Event()

    async def reload(_: str) -> None:
        begun.set()
        await finish.wait()

    async with door(any_bus, replace(ORDERS, reload=reload)) as ours, client(any_bus.address) as root:
        reloading = asyncio.create_task(call(root, "Reload"))
        await begun.wait()
        async with stranger("questions", any_bus), stranger("questions", any_bus):
            await answers(any_bus)
        assert ours.connected
        finish.set()
        reply = await asyncio.wait_for(reloading, 20)
        assert (reply.error_name, reply.body) == (None, [])


async def test_forged_signals_are_not_believed(any_bus: PrivateBus) -> None:
    """Only the connection that owns the sender's name is (R38)."""
    woken: list[str] = []
    ours = quiet(any_bus.address)
    ours.serve("org.nodenet1", lambda _: None)  # the name that strangers send to
    NetworkManager(ours, lambda: woken.append("NetworkManager"))
    units = Units(ours, lambda: woken.append("systemd"))
    async with contextlib.AsyncExitStack() as stack:
        systemd = await stack.enter_async_context(client(any_bus.address))
        await systemd.request_name(NAME)
        await systemd.request_name("org.freedesktop.NetworkManager")
        await stack.enter_async_context(running(ours))
        assert await ours.wait_up(10)
        await ours.listen(Signal(NAME, PATH, MANAGER, "JobRemoved"), units._removed)
        units._ended["other.service"] = None
        async with stranger("forgeries", any_bus):
            await ours.call(*DBUS, "GetId")
        assert (woken, units._ended) == ([], {"other.service": None})
        body = [7, f"{PATH}/job/7", "other.service", "done"]
        await systemd.send(Message.new_signal(PATH, MANAGER, "JobRemoved", "uoss", body))
        async with asyncio.timeout(5):
            while not woken:
                await asyncio.sleep(0.01)
        assert units._ended == {"other.service": "done"}


async def test_the_next_owner_of_a_name_is_believed_and_the_last_one_no_longer(any_bus: PrivateBus) -> None:
    """A service that is restarted has another connection (R38)."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    ours = quiet(any_bus.address)
    ours.serve("org.nodenet1", lambda _: None)
    ours.subscribe(Signal("org.example.A", "/a", "org.example", "Ping"), heard.put_nowait)
    async with client(any_bus.address) as first, client(any_bus.address) as second, running(ours):
        assert await ours.wait_up(10)
        for number, sender in enumerate((first, second)):
            await sender.request_name("org.example.A")
            for other in (first, second):
                ping = Message.new_signal("/a", "org.example", "Ping", "s", [f"{number} {other is sender}"])
                ping.destination = "org.nodenet1"  # or the bus itself would keep it away, by the match rule
                await other.send(ping)
                await other.call(Message(*DBUS, "GetId"))
            await sender.release_name("org.example.A")
        assert [await asyncio.wait_for(heard.get(), 5) for _ in range(2)] == [["0 True"], ["1 True"]]
        assert heard.empty()


async def test_a_handler_that_raises_is_reported_once_and_ends_nothing(
    private_bus: PrivateBus, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where many such signals come (R38)."""
    heard: list[int] = []

    def handler(body: Any) -> None:
        heard.append(body[0])
        raise ZeroDivisionError("a fault of ours")

    ours = quiet(private_bus.address)
    ours.subscribe(Signal("org.example.A", "/a", "org.example", "Ping"), handler)
    async with client(private_bus.address) as other, running(ours):
        assert await ours.wait_up(10)
        await other.request_name("org.example.A")
        for number in range(100):
            await other.send(Message.new_signal("/a", "org.example", "Ping", "u", [number]))
        async with asyncio.timeout(5):
            while len(heard) < 100:
                await asyncio.sleep(0.01)
        assert ours.connected
    assert capsys.readouterr().out.count("The signal Ping failed: ZeroDivisionError('a fault of ours')") == 1


NOT_TEXT = "worker-0.yml: \ud800 and \0 are no characters"
AS_TEXT = "worker-0.yml: \ufffd and \ufffd are no characters"


async def test_a_cause_that_is_no_text_is_sent_as_one(private_bus: PrivateBus) -> None:
    """Lone surrogates and NUL come from documents; the bus would end the connection (R39)."""
    failed = Failed(Problem(MessageId.NODE_FILE_INVALID, NOT_TEXT, "Correct it"), Facts())
    boot = START.boot.begun(StageName.NMSTATE, 1.0).after(StageName.NMSTATE, failed, 2.0)
    ours = quiet(private_bus.address)
    service = Service(ours, replace(ORDERS, explain=lambda _: NOT_TEXT), lambda: replace(START, boot=boot))
    service.show(START)
    async with running(ours), client(private_bus.address) as other:
        assert await ours.wait_up(10)
        heard: asyncio.Queue[Any] = asyncio.Queue()
        other.add_message_handler(lambda m: heard.put_nowait(m.body) if m.member == "StageChanged" else None)
        await other.call(Message(*DBUS, "AddMatch", signature="s", body=["type='signal',member='StageChanged'"]))
        service.show(replace(START, boot=boot))
        assert AS_TEXT in (await asyncio.wait_for(heard.get(), 5))[2]
        assert (await call(other, "Explain", "s", ["node-ip"])).body == [AS_TEXT]
        everything = await call(other, "GetAll", "s", [""], "org.freedesktop.DBus.Properties")
        assert AS_TEXT in str(everything.body[0]["LastError"].value)
        assert ours.connected


def machine_id() -> str:
    ours = Path("/etc/machine-id")
    return ours.read_text().strip() if ours.exists() else "this machine has no id yet. See machine-id(5)"


async def test_the_machine_id_is_answered(private_bus: PrivateBus) -> None:
    """Peer is for every service (R41)."""
    async with door(private_bus), client(private_bus.address) as other:
        reply = await asyncio.wait_for(call(other, "GetMachineId", interface="org.freedesktop.DBus.Peer"), 5)
        assert reply.body == [machine_id()]
        reply = await asyncio.wait_for(call(other, "Ping", interface="org.freedesktop.DBus.Peer"), 5)
        assert reply.body == []
