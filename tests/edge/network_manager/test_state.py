"""NetworkManager's client, against a stand-in on a real bus: versions and failures that the lab's does not have."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.private_bus import PrivateBus
from nodenet.core.errors import RollbackFailed, Unavailable
from nodenet.core.network_manager.objects import NAME, PATH
from nodenet.core.network_manager.state import Checkpoint, ManagerState
from nodenet.edge.bus.connection import PROPERTIES, Message, Variant
from nodenet.edge.network_manager.state import NetworkManager

CHECKPOINT = f"{PATH}/Checkpoint/1"


@dataclass
class StandIn:
    """What NetworkManager would answer: properties by (path, name), and the result of a rollback."""

    properties: dict[tuple[str, str], Variant]
    rollback: dict[str, int] = field(default_factory=dict)
    taken: list[Any] = field(default_factory=list)

    def answer(self, message: Message) -> Message | None:
        if message.interface == PROPERTIES and message.member == "Get":
            value = self.properties.get((message.path, message.body[1]))
            if value is None:
                return Message.new_error(message, "org.freedesktop.DBus.Error.UnknownProperty", "no such property")
            return Message.new_method_return(message, "v", [value])
        if message.interface == PROPERTIES and message.member == "Set":
            self.taken.append(message.body[2].value)
            return Message.new_method_return(message)
        if message.member == "CheckpointAdjustRollbackTimeout":
            return self._adjusted(message)
        if message.member == "CheckpointRollback":
            return Message.new_method_return(message, "a{su}", [self.rollback])
        return None

    def _adjusted(self, message: Message) -> Message:
        if message.body[0] != CHECKPOINT:
            return Message.new_error(message, f"{NAME}.InvalidArguments", "there is no such checkpoint")
        self.taken.append(message.body)
        return Message.new_method_return(message)


def stand_in(version: str = "1.46.2", **properties: Variant) -> StandIn:
    plain = {"Version": Variant("s", version), "Startup": Variant("b", False), **properties}
    return StandIn({(PATH, name): value for name, value in plain.items()})


@contextlib.asynccontextmanager
async def manager(private_bus: PrivateBus, service: StandIn | None) -> AsyncIterator[NetworkManager]:
    bus = quiet(private_bus.address)
    made = NetworkManager(bus, lambda: None)
    async with client(private_bus.address) as other, running(bus):
        if service:
            other.add_message_handler(service.answer)
            await other.request_name(NAME)
        assert await bus.wait_up(5)
        yield made


@pytest.mark.parametrize(
    ("service", "state"),
    [
        (None, ManagerState.ABSENT),
        (StandIn({}), ManagerState.STARTING),
        (stand_in(Startup=Variant("b", True)), ManagerState.STARTING),
        (stand_in(), ManagerState.READY),
    ],
)
async def test_how_far_it_is(private_bus: PrivateBus, service: StandIn | None, state: ManagerState) -> None:
    """Absent, on the bus without its objects, starting, ready."""
    async with manager(private_bus, service) as made:
        assert await made.state() is state


async def test_one_that_hangs_keeps_its_place_on_the_bus(private_bus: PrivateBus) -> None:
    """It is not said to have lost the bus, and the caller does not hang with it (R8)."""
    async with manager(private_bus, None) as made, client(private_bus.address) as hung:
        await hung.request_name(NAME)
        hung.add_message_handler(lambda _: True)  # taken, and never answered
        assert await made.state() is ManagerState.SILENT


async def test_without_a_bus_nobody_knows() -> None:
    """And nothing hangs."""
    made = NetworkManager(quiet("unix:path=/nonexistent"), lambda: None)
    assert await made.state() is ManagerState.NO_BUS
    with pytest.raises(Unavailable):
        await made.checkpoints()


async def test_pending_checkpoints_have_their_age(private_bus: PrivateBus) -> None:
    """Milliseconds of CLOCK_BOOTTIME on the bus, seconds here; one that vanishes meanwhile is left out."""
    service = stand_in(Checkpoints=Variant("ao", [CHECKPOINT, f"{PATH}/Checkpoint/2"]))
    service.properties[CHECKPOINT, "Created"] = Variant("x", 12_500)
    service.properties[CHECKPOINT, "RollbackTimeout"] = Variant("u", 67)
    async with manager(private_bus, service) as made:
        assert await made.checkpoints() == (Checkpoint(CHECKPOINT, 12.5, 67),)


async def test_a_rollback_that_leaves_a_device_behind_has_failed(private_bus: PrivateBus) -> None:
    """A number for each device; 0 is success."""
    service = stand_in()
    service.rollback = {"/device/1": 0, "/device/2": 3}
    async with manager(private_bus, service) as made:
        with pytest.raises(RollbackFailed, match="1 of 2 devices"):
            await made.roll_back(CHECKPOINT)
        service.rollback = {"/device/1": 0}
        await made.roll_back(CHECKPOINT)


async def test_a_checkpoint_is_kept_open_for_longer(private_bus: PrivateBus) -> None:
    """One that is gone is not: that is no error of nodenetd's."""
    service = stand_in()
    async with manager(private_bus, service) as made:
        await made.extend(CHECKPOINT, 70)
        assert service.taken == [[CHECKPOINT, 70]]
        with pytest.raises(Unavailable, match="does not keep checkpoint /checkpoint/9 open"):
            await made.extend("/checkpoint/9", 70)


async def test_dns_is_saved_and_put_back_where_a_rollback_forgets_it(private_bus: PrivateBus) -> None:
    """As it was, nested values included; a newer NetworkManager is not asked."""
    dns = Variant("a{sv}", {"searches": Variant("as", ["example.com"])})
    service = stand_in("1.46.2", GlobalDnsConfiguration=dns)
    async with manager(private_bus, service) as made:
        saved = await made.fragile_dns()
        assert saved is not None
        await made.restore_dns(saved)
        assert service.taken == [{"searches": Variant("as", ["example.com"])}]
        service.properties[PATH, "Version"] = Variant("s", "1.48.0")
        assert await made.fragile_dns() is None


async def test_its_changes_wake_whoever_waits(private_bus: PrivateBus) -> None:
    """Its own state, and its coming and going."""
    woken = asyncio.Event()
    bus = quiet(private_bus.address)
    NetworkManager(bus, woken.set)
    async with client(private_bus.address) as other, running(bus):
        assert await bus.wait_up(5)
        await other.request_name(NAME)
        await asyncio.wait_for(woken.wait(), 5)
        woken.clear()
        await other.send(Message.new_signal(PATH, NAME, "StateChanged", "u", [70]))
        await asyncio.wait_for(woken.wait(), 5)


async def test_a_network_manager_that_was_started_again_has_another_owner(private_bus: PrivateBus) -> None:
    """Its checkpoints are gone with the process that made them (R8)."""
    owners = []
    async with manager(private_bus, None) as asked:
        with pytest.raises(Unavailable):
            await asked.owner()
        for _ in range(2):
            async with client(private_bus.address) as process:
                await process.request_name(NAME)
                owners.append(await asked.owner())
    assert owners[0] != owners[1]
    assert all(owner.startswith(":") for owner in owners)
