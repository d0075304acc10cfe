"""The bus contract: the code against the reviewed XML, and what callers see on a real bus."""

from __future__ import annotations

import asyncio
import contextlib
import json
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge.private_bus import PrivateBus
from edge.test_bus import ask_bus, client
from nodenet.core.boot import StageName, new_boot
from nodenet.core.errors import NodeFileInvalid
from nodenet.core.facts import Facts
from nodenet.core.messages import Message as MessageId
from nodenet.core.outcome import Done, Failed, Problem, Skipped
from nodenet.core.status import Standing
from nodenet.edge.bus import PROPERTIES, Bus, Message, MessageType
from nodenet.edge.bus_service import INTERFACE, NAME, PATH, Orders, Service, introspection, signals

XML = Path(__file__).parents[2] / "units" / "dbus" / "org.nodenet1.xml"


def shape(text: str) -> set[tuple[Any, ...]]:
    """Return an interface as a set of facts: names, directions and types."""
    (interface,) = ET.fromstring(text).iter("interface")  # noqa: S314  (our own file)
    facts: set[tuple[Any, ...]] = {("interface", interface.get("name"))}
    for part in interface:
        arguments = tuple((a.get("direction", "out"), a.get("type")) for a in part.iter("arg"))
        facts.add((part.tag, part.get("name"), part.get("type"), part.get("access"), arguments))
    return facts


def test_the_code_serves_what_the_contract_says() -> None:
    """Nothing more, nothing less."""
    assert shape(introspection()) == shape(XML.read_text())


@contextlib.asynccontextmanager
async def serving(private_bus: PrivateBus, orders: Orders, standing: list[Standing]) -> AsyncIterator[Service]:
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    service = Service(bus, orders, lambda: standing[-1])
    service.show(standing[-1])
    task = asyncio.create_task(bus.run())
    try:
        assert await bus.wait_up(5)
        yield service
    finally:
        task.cancel()
        await asyncio.wait({task})


async def refuse() -> None:
    raise NodeFileInvalid("worker-0.yml, line 3: duplicate key", remedy="Keep one")


ORDERS = Orders(reload=refuse, reselect=refuse, run_stage=lambda _: None, explain=lambda topic: f"about {topic}")
START = Standing(new_boot({}, degrade=True), boot_id="b")


async def call(
    bus: Any, member: str, signature: str = "", body: list[Any] | None = None, interface: str = INTERFACE
) -> Any:
    return await bus.call(
        Message(destination=NAME, path=PATH, interface=interface, member=member, signature=signature, body=body or [])
    )


async def test_state_is_read_as_properties_and_as_one_document(private_bus: PrivateBus) -> None:
    """Whoever starts late reads it."""
    async with serving(private_bus, ORDERS, [START]), client(private_bus.address) as bus:
        everything = (await call(bus, "GetAll", "s", [INTERFACE], PROPERTIES)).body[0]
        assert everything["Health"].value == "waiting"
        assert len(everything["Stages"].value) == len(StageName)
        document = json.loads((await call(bus, "GetStatus")).body[0])
        assert document["schema_version"] == 1
        assert (await call(bus, "Explain", "s", ["node-ip"])).body == ["about node-ip"]


async def test_a_refused_reload_is_an_error_with_cause_and_remedy(private_bus: PrivateBus) -> None:
    """The caller of `systemctl reload` reads it."""
    async with serving(private_bus, ORDERS, [START]), client(private_bus.address) as bus:
        reply = await call(bus, "Reload")
        assert reply.error_name == "org.nodenet1.Error.NodeFileInvalid"
        assert reply.body == ["worker-0.yml, line 3: duplicate key. Keep one"]


async def test_a_mistake_of_ours_is_answered_without_a_traceback(private_bus: PrivateBus) -> None:
    """The caller is not left waiting, and sees no file paths."""

    def broken(topic: str) -> str:
        raise ZeroDivisionError(topic)

    orders = Orders(reload=refuse, reselect=refuse, run_stage=lambda _: None, explain=broken)
    async with serving(private_bus, orders, [START]), client(private_bus.address) as bus:
        reply = await call(bus, "Explain", "s", ["node-ip"])
        assert reply.body == ["an internal error, see the journal of nodenetd"]


@pytest.mark.parametrize(
    ("member", "signature", "body", "interface"),
    [
        ("RunStage", "s", ["no-such-stage"], INTERFACE),
        ("RunStage", "u", [7], INTERFACE),
        ("RunStage", "s", ["x" * 1_000_000], INTERFACE),
        ("NoSuchMethod", "", [], INTERFACE),
        ("Get", "ss", [INTERFACE, "NoSuchProperty"], PROPERTIES),
        ("Set", "ssv", None, PROPERTIES),
    ],
)
async def test_nonsense_is_refused_and_the_service_lives(
    private_bus: PrivateBus, member: str, signature: str, body: list[Any] | None, interface: str
) -> None:
    """One error reply each."""
    from dbus_next.signature import Variant  # noqa: PLC0415

    arguments = [INTERFACE, "Health", Variant("s", "ok")] if body is None else body
    async with serving(private_bus, ORDERS, [START]), client(private_bus.address) as bus:
        reply = await call(bus, member, signature, arguments, interface)
        assert reply.message_type is MessageType.ERROR
        assert (await call(bus, "GetStatus")).message_type is MessageType.METHOD_RETURN


async def test_changes_are_told_by_signals_and_by_properties(private_bus: PrivateBus) -> None:
    """A hint each, and the state to read."""
    async with serving(private_bus, ORDERS, [START]) as service, client(private_bus.address) as bus:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        bus.add_message_handler(lambda m: heard.put_nowait(m) if m.path == PATH else None)
        await ask_bus(bus, "AddMatch", f"type='signal',path='{PATH}'")
        boot = START.boot.begun(StageName.HOSTNAME, 1.0).after(
            StageName.HOSTNAME, Skipped("nobody needs it", Facts()), 1.0
        )
        service.show(replace(START, boot=boot))
        told = {message.member: message.body for message in [await heard.get(), await heard.get()]}
        assert told["StageChanged"] == ["hostname", "skipped", "nobody needs it"]
        assert told["PropertiesChanged"][0] == INTERFACE
        assert "Stages" in told["PropertiesChanged"][1]


def test_an_apply_and_a_rollback_are_told() -> None:
    """NetworkApplied with the digest in force, RolledBack with the cause."""
    facts = Facts(node_file="w.yml", digest="new", applied_digest="new")
    running = START.boot.begun(StageName.NMSTATE, 1.0)
    done = running.after(StageName.NMSTATE, Done("ok", facts, MessageId.NETWORK_APPLIED), 2.0)
    told = dict(signals(replace(START, boot=running), replace(START, boot=done, facts=facts)))
    assert told["NetworkApplied"] == ["w.yml", "new"]
    problem = Problem(MessageId.APPLY_FAILED, "mtu is 1500", "")
    failed = running.after(StageName.NMSTATE, Failed(problem, facts), 2.0)
    told = dict(signals(replace(START, boot=running), replace(START, boot=failed, facts=Facts(digest="new"))))
    assert told["RolledBack"] == ["new", "mtu is 1500"]
