"""Names in the leases of NetworkManager, from a stand-in on a real bus."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from edge.bus.test_connection import client, quiet, running
from edge.private_bus import PrivateBus
from nodenet.core.hostname import Origin, Source
from nodenet.edge.bus.connection import Message, Variant
from nodenet.edge.hostname import MOST_CONNECTIONS, NAME, PATH, LeaseNames

DEVICE = f"{NAME}.Device"


def active(name: str, **leases: str) -> dict[str, Variant]:
    """Return the properties of the device of an active connection; *leases* by property, as object paths."""
    return {"Interface": Variant("s", name)} | {which: Variant("o", path) for which, path in leases.items()}


@dataclass
class StandIn:
    """NetworkManager: the device of each active connection, and the options of its leases, each by path."""

    connections: dict[str, dict[str, Variant] | None]
    leases: dict[str, dict[str, Variant]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def answer(self, message: Message) -> Message | None:
        if message.member not in ("Get", "GetAll"):
            return None
        self.asked.append(message.path)
        body: Any = None
        match message.body:
            case [_, "ActiveConnections"]:
                body = Variant("ao", list(self.connections))
            case [interface, "Options"] if interface.removeprefix(f"{NAME}.") in ("DHCP4Config", "DHCP6Config"):
                options = self.leases.get(message.path)
                body = None if options is None else Variant("a{sv}", options)
            case [_, "Devices"]:
                body = Variant("ao", [f"{message.path}/device"])
            case [interface] if interface == DEVICE:
                if (values := self.connections[message.path.removesuffix("/device")]) is not None:
                    return Message.new_method_return(message, "a{sv}", [values])
        if body is None:
            return Message.new_error(message, "org.freedesktop.DBus.Error.UnknownObject", "gone")
        return Message.new_method_return(message, "v", [body])


@contextlib.asynccontextmanager
async def names_of(private_bus: PrivateBus, service: StandIn | None) -> AsyncIterator[LeaseNames]:
    bus = quiet(private_bus.address)
    async with client(private_bus.address) as other, running(bus):
        if service:
            other.add_message_handler(service.answer)
            await other.request_name(NAME)
        assert await bus.wait_up(5)
        yield LeaseNames(bus)


async def test_each_lease_gives_its_names_with_their_place(private_bus: PrivateBus) -> None:
    """A plain name by either protocol, and a full one by DHCPv6 (RFC 4704); other options are left alone."""
    service = StandIn(
        {
            "/active/1": active("eth0", Dhcp4Config="/lease/4", Dhcp6Config="/lease/6"),
            "/active/2": active("lo", Dhcp4Config="/", Dhcp6Config="/"),
        },
        {
            "/lease/4": {"host_name": Variant("s", "worker-0"), "ip_address": Variant("s", "192.0.2.5")},
            "/lease/6": {"fqdn_fqdn": Variant("s", "worker-0.example"), "host_name": Variant("s", "w6")},
        },
    )
    async with names_of(private_bus, service) as names:
        assert await names.names() == (
            Source(Origin.DHCP, "eth0: DHCP4 host_name", "worker-0"),
            Source(Origin.DHCP6_FQDN, "eth0: DHCP6 fqdn_fqdn", "worker-0.example"),
            Source(Origin.DHCP6_FQDN, "eth0: DHCP6 host_name", "w6"),
        )


async def test_what_goes_between_two_questions_hides_no_other_name(private_bus: PrivateBus) -> None:
    """A connection, or the lease of one."""
    service = StandIn(
        {
            "/active/1": None,
            "/active/2": active("eth1", Dhcp4Config="/lease/gone"),
            "/active/3": active("eth2", Dhcp4Config="/lease/4"),
        },
        {"/lease/4": {"host_name": Variant("s", "worker-0")}},
    )
    async with names_of(private_bus, service) as names:
        assert await names.names() == (Source(Origin.DHCP, "eth2: DHCP4 host_name", "worker-0"),)


async def test_only_the_first_connections_are_asked(private_bus: PrivateBus) -> None:
    """A node may have thousands of VLANs."""
    service = StandIn({f"/active/{number}": active("vlan") for number in range(MOST_CONNECTIONS + 9)})
    async with names_of(private_bus, service) as names:
        assert await names.names() == ()
    assert [path for path in service.asked if not path.endswith("/device")] == [
        PATH, *(f"/active/{number}" for number in range(MOST_CONNECTIONS))
    ]  # fmt: skip


async def test_without_network_manager_there_is_no_name(private_bus: PrivateBus) -> None:
    async with names_of(private_bus, None) as names:
        assert await names.names() == ()
    assert await LeaseNames(quiet("unix:path=/nonexistent")).names() == ()
