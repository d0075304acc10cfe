"""The links that lead to other hosts: Open vSwitch's database is asked once for each change, and may be dead."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from fakes import FakeClock, FakeOvsdb
from nodenet.core.hosted_services.model import Here, Place
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.open_vswitch.bridges import OvsBridge
from nodenet.stages.hosted_services.stage import RETRY_SECONDS, OutsideLinks

HERE = Here("n", {Family.IPV4: Place(ip_address("192.0.2.10"), "eth0", ip_network("192.0.2.0/24"))})
ALONE = Snapshot((Link(1, "eth0"),), (Address(ip_address("192.0.2.10"), 24, "eth0"),))
BRIDGE = Snapshot(
    (*ALONE.links, Link(2, "storage", kind="openvswitch")),
    (*ALONE.addresses, Address(ip_address("198.51.100.1"), 24, "storage")),
)


@dataclass
class Database(FakeOvsdb):
    """Counts the questions; it may be silent."""

    asked: int = 0
    silent: bool = False

    async def bridges(self) -> tuple[OvsBridge, ...]:
        self.asked += 1
        if self.silent:
            await asyncio.sleep(3600)
        return await super().bridges()


def rig() -> tuple[Database, FakeClock, OutsideLinks]:
    database, clock = Database(held=(OvsBridge("storage"),)), FakeClock()
    return database, clock, OutsideLinks(database, clock)


async def test_the_database_is_asked_where_its_links_have_changed() -> None:
    database, _, links = rig()
    assert await links.look(HERE, ALONE) == ("eth0",)
    assert database.asked == 0
    for _ in range(3):
        assert await links.look(HERE, BRIDGE) == ("eth0", "storage")
    assert database.asked == 1
    assert await links.look(HERE, ALONE) == ("eth0",)
    assert await links.look(HERE, BRIDGE) == ("eth0", "storage")
    assert database.asked == 2


async def test_a_database_that_is_dead_or_silent_is_asked_again_later() -> None:
    database, clock, links = rig()
    database.up, database.silent = False, True
    assert await links.look(HERE, BRIDGE) == ("eth0",)
    database.silent = False
    assert await links.look(HERE, BRIDGE) == ("eth0",)
    assert database.asked == 1
    clock.now += RETRY_SECONDS
    assert await links.look(HERE, BRIDGE) == ("eth0",)
    database.up = True
    clock.now += RETRY_SECONDS
    assert await links.look(HERE, BRIDGE) == ("eth0", "storage")
    database.up = False
    clock.now += 2 * RETRY_SECONDS
    assert await links.look(HERE, BRIDGE) == ("eth0", "storage")
