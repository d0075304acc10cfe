"""A node's slice while the API is away."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import Any

from cni.service.rig import FakeApi, Rig, away, until
from nodenet.core.persistent_ips.book import Put
from nodenet.core.persistent_ips.model import Owner, OwnerKind, Reservation, State

SLICES: dict[str, Any] = {"ipam": {"type": "nodenet-ipam", "nodeSlices": {"node-a": "192.0.2.128/30"}}}
PLAIN: dict[str, Any] = {**SLICES, "allowPersistentIPs": False}


async def test_a_pod_that_was_never_seen_starts_without_the_api_from_the_slice() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        api.problem = away()
        api.tell("MODIFIED", api.put_claim("vm"))
        await until(lambda: rig.service.follower.problem)
        assert await rig.ask("STATUS", **PLAIN) == {}
        assert (await rig.ask("STATUS", **SLICES))["code"] == 50
        assert await rig.add("c1", api.put_pod("web"), **PLAIN) == ["192.0.2.128/24"]
        assert (await rig.ask("ADD", "c2", api.put_pod("vm-1", "vm"), **SLICES))["code"] == 11
        assert await rig.add("c1", api.put_pod("web"), **PLAIN) == ["192.0.2.128/24"]
        api.problem = None
        await until(lambda: api.leases, 60)
        await rig.ask("DEL", "c1")
        await until(lambda: not api.leases)


async def test_an_address_without_a_lease_gets_one_whatever_request_failed() -> None:
    """Not only the creation of a Lease may fail before a slice is used: the list of a full subnet may, too."""
    api = FakeApi()
    async with Rig(api) as rig:
        await rig.settled()
        owner = Owner(OwnerKind.POD, "vms", "web", "pod-1/net1")
        address = ip_interface("192.0.2.128/24")
        row = Reservation("blue", address, owner, State.REPORTED, "", "", 0.0)
        rig.service.book.take([Put(row)])
        rig.service.upkeep.given(owner)
        await until(lambda: api.leases)
        await until(lambda: [one.lease_uid for one in rig.service.book.reservations_of(owner)] == ["lease-1"])


async def test_after_a_lost_store_the_slice_is_not_used() -> None:
    api = FakeApi()
    api.problem = away()
    async with Rig(api, slices=False) as rig:
        assert (await rig.ask("ADD", "c1", api.put_pod("web"), **PLAIN))["code"] == 11
