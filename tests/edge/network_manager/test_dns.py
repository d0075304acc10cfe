"""NetworkManager's DnsManager, against a stand-in on a real bus."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from edge.bus.test_connection import client, quiet, running
from edge.crossing_bus import CrossingBus
from edge.private_bus import PrivateBus
from nodenet.core.network_manager.objects import NAME
from nodenet.core.resolver import ManagerDns
from nodenet.edge.bus.connection import PROPERTIES, Message, Variant
from nodenet.edge.network_manager.state import DNS_MANAGER, DNS_PATH, DnsManager


def entry(*domains: str) -> dict[str, Variant]:
    """One element of Configuration, as NetworkManager sends it for each link."""
    return {
        "nameservers": Variant("as", ["10.0.0.1"]),
        "domains": Variant("as", list(domains)),
        "interface": Variant("s", "eth0"),
        "priority": Variant("i", 100),
        "vpn": Variant("b", False),
    }


@dataclass
class StandIn:
    """The DnsManager object, and the method that makes NetworkManager read resolv.conf again."""

    configuration: list[dict[str, Variant]] = field(default_factory=lambda: [entry("lab.test")])
    asked: int = 0
    reloads: list[int] = field(default_factory=list)

    def answer(self, message: Message) -> Message | None:
        if (message.path, message.interface, message.member) == (DNS_PATH, PROPERTIES, "GetAll"):
            self.asked += 1
            properties = {
                "Mode": Variant("s", "default"),
                "RcManager": Variant("s", "symlink"),
                "Configuration": Variant("aa{sv}", self.configuration),
            }
            return Message.new_method_return(message, "a{sv}", [properties])
        if message.member == "Reload":
            self.reloads.append(message.body[0])
            return Message.new_method_return(message)
        return None


@contextlib.asynccontextmanager
async def manager(
    private_bus: PrivateBus, service: StandIn | None, changed: Callable[[], None] = lambda: None
) -> AsyncIterator[tuple[DnsManager, Any]]:
    bus = quiet(private_bus.address)
    made = DnsManager(bus, changed)
    async with client(private_bus.address) as other, running(bus):
        if service:
            other.add_message_handler(service.answer)
            await other.request_name(NAME)
        assert await bus.wait_up(5)
        yield made, other


def changed_signal() -> Message:
    return Message.new_signal(
        DNS_PATH, PROPERTIES, "PropertiesChanged", "sa{sv}as", [DNS_MANAGER, {}, ["Configuration"]]
    )


async def test_it_is_asked_once_until_it_says_that_it_changed(private_bus: PrivateBus) -> None:
    """A look every few seconds costs no message."""
    service, woken = StandIn(), asyncio.Event()
    async with manager(private_bus, service, woken.set) as (made, other):
        woken.clear()
        assert await made.dns() == ManagerDns("symlink", ("lab.test",))
        assert await made.dns() == ManagerDns("symlink", ("lab.test",))
        assert service.asked == 1
        service.configuration = [entry("a.test", "~route.only"), entry("b.test")]
        await other.send(changed_signal())
        await asyncio.wait_for(woken.wait(), 5)
        assert await made.dns() == ManagerDns("symlink", ("a.test", "b.test"))
        made.forget()
        await made.dns()
        assert service.asked == 3


async def test_an_answer_that_a_change_follows_is_not_kept() -> None:
    """Both are read from the bus at once, and the change is handled first: no later signal would correct it."""
    before, after = ({"Configuration": Variant("aa{sv}", [entry(name)])} for name in ("old.test", "new.test"))
    bus = CrossingBus([before, after])
    made = DnsManager(bus, lambda: None)
    await made.dns()
    bus.crosses = False
    assert await made.dns() == ManagerDns("", ("new.test",))
    assert await made.dns() == ManagerDns("", ("new.test",))


async def test_one_that_is_not_there_is_asked_again(private_bus: PrivateBus) -> None:
    """Its coming is an event."""
    woken = asyncio.Event()
    async with manager(private_bus, None, woken.set) as (made, other):
        assert await made.dns() is None
        other.add_message_handler(StandIn().answer)
        await other.request_name(NAME)
        await asyncio.wait_for(woken.wait(), 5)
        assert await made.dns() is not None


async def test_files_are_read_again_on_request(private_bus: PrivateBus) -> None:
    """Resolv.conf, to look up names anew, or the configuration; no connection is touched; a refusal is told."""
    service = StandIn()
    async with manager(private_bus, service) as (made, _):
        assert await made.repeat_lookups() is None
        assert await made.read_configuration() is None
        assert service.reloads == [2, 1]
    async with manager(private_bus, None) as (made, _):
        assert "not on the bus" in str(await made.repeat_lookups())
