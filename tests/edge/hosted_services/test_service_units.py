"""Orders for units, and what systemd says of them: a stand-in that answers as systemd does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.private_bus import PrivateBus
from nodenet.core.errors import Unavailable, UnitFailed
from nodenet.core.hosted_services.units import Running
from nodenet.edge.bus.connection import Message, MessageType, Variant
from nodenet.edge.hosted_services.units import ServiceUnits
from nodenet.edge.systemd.manager_object import MANAGER, NAME, PATH

UNIT = "nodenet-dnsmasq.service"


class Stand:
    """org.freedesktop.systemd1 with one unit; its calls are written down."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.calls: list[str] = []
        self.refuse: str | None = None
        self.common = {
            "LoadState": Variant("s", "loaded"),
            "ActiveState": Variant("s", "active"),
            "Job": Variant("(uo)", [0, "/"]),
        }
        self.service = {
            "Result": Variant("s", "success"),
        }
        connection.add_message_handler(self.answer)

    def answer(self, message: Any) -> Any:
        if message.message_type is not MessageType.METHOD_CALL or message.destination != NAME:
            return None
        self.calls.append(message.member)
        if message.member == "GetAll":
            assert message.body == [f"{NAME}.Service"]
            return Message.new_method_return(message, "a{sv}", [self.service])
        return self.reply(message)

    def reply(self, message: Any) -> Any:
        """Return the answer to an order or a question of one value."""
        if message.member == self.refuse:
            return Message.new_error(message, f"{NAME}.NoSuchUnit", f"Unit {UNIT} not found.")
        match message.member:
            case "LoadUnit":
                return Message.new_method_return(message, "o", [f"{PATH}/unit/one"])
            case "Get":
                assert message.body[0].endswith(".Unit")
                return Message.new_method_return(message, "v", [self.common[message.body[1]]])
            case "StartUnit" | "StopUnit" | "RestartUnit" | "ReloadOrTryRestartUnit":
                assert message.body == [UNIT, "replace"]
                return Message.new_method_return(message, "o", [f"{PATH}/job/7"])
            case _:
                return Message.new_method_return(message)

    def end_job(self, unit: str = UNIT) -> None:
        self.connection.send(
            Message.new_signal(PATH, MANAGER, "JobRemoved", "uoss", [7, f"{PATH}/job/7", unit, "done"])
        )


@contextlib.asynccontextmanager
async def systemd(private_bus: PrivateBus) -> AsyncIterator[tuple[ServiceUnits, Stand, list[str]]]:
    heard: list[str] = []
    bus = quiet(private_bus.address)
    units = ServiceUnits(bus, heard.append)
    async with client(private_bus.address) as connection, running(bus):
        await connection.request_name(NAME)
        assert await bus.wait_up(5)
        yield units, Stand(connection), heard


async def test_how_a_unit_runs(private_bus: PrivateBus) -> None:
    async with systemd(private_bus) as (units, stand, _):
        assert await units.state(UNIT) == Running("loaded", "active")
        assert "GetAll" not in stand.calls, "three hundred properties, at every look"
        stand.service["Result"] = Variant("s", "exit-code")
        stand.common |= {"ActiveState": Variant("s", "failed"), "Job": Variant("(uo)", [9, f"{PATH}/job/9"])}
        found = await units.state(UNIT)
        assert (found.job, found.result) == (True, "exit-code")
        stand.common["LoadState"] = Variant("s", "not-found")
        assert not (await units.state(UNIT)).is_loaded


async def test_a_program_that_is_not_on_this_node_is_named(private_bus: PrivateBus) -> None:
    async with systemd(private_bus) as (units, stand, _):
        stand.common["ActiveState"] = Variant("s", "inactive")
        for path, missing in (("/bin/sh", ""), ("/nowhere/dnsmasq", "/nowhere/dnsmasq")):
            stand.service["ExecStart"] = Variant("a(sasbttttuii)", [[path, [path], False, 0, 0, 0, 0, 0, 0, 0]])
            assert (await units.state(UNIT)).missing == missing
        stand.service["RootDirectory"] = Variant("s", "/srv/root")
        assert (await units.state(UNIT)).missing == ""


async def test_orders_and_the_end_of_jobs(private_bus: PrivateBus) -> None:
    """A start gives the start limit back first; jobs of other units are not heard."""
    async with systemd(private_bus) as (units, stand, heard):
        await units.state(UNIT)
        stand.calls.clear()
        for order in (units.start, units.stop, units.reload, units.restart):
            await order(UNIT)
        assert stand.calls == ["ResetFailedUnit", "StartUnit", "StopUnit", "ReloadOrTryRestartUnit", "RestartUnit"]
        stand.end_job("stranger.service")
        stand.end_job()
        async with asyncio.timeout(5):
            while not heard:
                await asyncio.sleep(0.005)
        assert heard == [UNIT]


async def test_refusals_have_systemd_s_words_and_a_unit_that_is_not_there_is_stopped(private_bus: PrivateBus) -> None:
    async with systemd(private_bus) as (units, stand, _):
        stand.refuse = "StartUnit"
        with pytest.raises(UnitFailed, match=f"systemd refuses an order for {UNIT}: Unit {UNIT} not found") as caught:
            await units.start(UNIT)
        assert caught.value.remedy == f"See `systemctl status {UNIT}`"
        stand.refuse = "StopUnit"
        await units.stop(UNIT)
        stand.refuse = "LoadUnit"
        with pytest.raises(Unavailable):
            await units.state(UNIT)


async def test_without_a_bus_systemd_is_unavailable() -> None:
    units = ServiceUnits(quiet("unix:path=/nowhere"), lambda _: None)
    with pytest.raises(Unavailable):
        await units.state(UNIT)
