"""What the service finds by itself: sandboxes without a DEL, dead nodes, clocks that are set, another machine."""

from __future__ import annotations

import asyncio
from ipaddress import ip_interface
from typing import Any

import pytest

from cni.service.rig import FakeApi, Rig, away, until
from nodenet.cni.follower import BREAK_SECONDS, LONGEST_SECONDS, QUIET, QUIET_SECONDS, UNREAD
from nodenet.cni.service import EVENT_SECONDS
from nodenet.cni.upkeep import REAP_SECONDS, YOUNG_SECONDS
from nodenet.core.persistent_ips.lease import NODE_LABEL, PREFIX
from nodenet.core.persistent_ips.model import Forbidden
from nodenet.core.persistent_ips.release import ORPHAN_SECONDS

YEAR = 365 * 86400.0


async def test_what_a_dead_node_leaves_is_swept_by_another_one() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        api.put_claim("vm")
        await rig.add("c1", api.put_pod("vm-1", "vm"))
    async with Rig(api, "node-b") as other:
        await until(lambda: len(other.service.book.claims))
        del api.pods["vms", "vm-1"]
        api.delete_claim("vm")
        api.requests.clear()
        await asyncio.sleep(ORPHAN_SECONDS)
        assert len(api.leases) == 1
        assert other.service.book.orphans
        await until(lambda: not api.leases, 1000)


async def test_a_sandbox_that_ended_without_del_is_reaped() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await rig.add("c1", api.put_pod("web"))
        rig.gone.add("/run/netns/c1")
        await asyncio.sleep(3 * REAP_SECONDS)
        assert len(api.leases) == 1  # its pod is there
        api.pods.clear()
        await until(lambda: not api.leases, REAP_SECONDS + 1)
        await until(lambda: not list(rig.service.book.pod_references()), REAP_SECONDS + 1)


async def test_a_del_that_the_stopped_service_missed_is_done_a_minute_after_its_start() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await rig.add("c1", api.put_pod("web"))
        kept = await rig.add("c2", api.put_pod("kept"))
    del api.pods["vms", "web"]
    async with Rig(api, store=rig.store) as again:
        again.gone.add("/run/netns/c1")
        await until(lambda: len(api.leases) == 1, YOUNG_SECONDS + 1)
        assert [str(one) for row in again.service.book.attachments() for one in row.addresses] == kept


async def test_a_backup_that_is_restored_between_two_watches_is_noticed() -> None:
    """The server had ended its watches before it stopped, and was back before the next one was due."""
    api = FakeApi()
    async with Rig(api) as rig:
        await rig.add("c0", api.put_pod("old"))
        api.ends_watches = True
        api.tell("MODIFIED", api.put_claim("vm"))
        await asyncio.sleep(60)
        asked = len(api.requests)
        await until(lambda: len(api.requests) > asked, LONGEST_SECONDS + 1)
        api.problem, api.ends_watches = away(), False
        await asyncio.sleep(BREAK_SECONDS + 1)
        api.problem = None
        await asyncio.sleep(LONGEST_SECONDS)
        held = await rig.ask("ADD", "c1", api.put_pod("new"))
        assert (held["code"], held["msg"]) == (11, QUIET)


async def test_after_a_restored_backup_no_address_of_a_running_pod_is_given_again() -> None:
    """A claim and its pod, and a pod without one, are younger than the backup of the API's database."""
    api = FakeApi()
    small = {"subnets": "192.0.2.0/29"}
    async with Rig(api) as here, Rig(api, "node-b") as other:
        old = await here.add("c0", api.put_pod("old"), **small)
        backup = api.backup()
        api.put_claim("vm")
        running = [*old, *await other.add("c1", api.put_pod("vm-1", "vm", "vm"), **small)]
        running += await other.add("c2", api.put_pod("web"), **small)
        await until(lambda: len(here.service.book.claims) == len(other.service.book.claims) == 1)
        api.problem = away()
        api.tell("MODIFIED", api.claims["vms", "vm"])
        await until(lambda: here.service.follower.problem and other.service.follower.problem)
        await asyncio.sleep(5)
        api.restore(backup)
        api.problem = Forbidden("the server could not find the requested resource")  # it is starting
        await asyncio.sleep(LONGEST_SECONDS)
        api.problem = None
        pods = [api.put_pod(f"new-{number}") for number in range(4)]
        held = await here.ask("ADD", "n0", pods[0], **small)
        assert (held["code"], held["msg"]) == (11, UNREAD)
        await until(lambda: here.service.follower.problem is None)
        held = await here.ask("ADD", "n0", pods[0], **small)
        assert (held["code"], held["msg"]) == (11, QUIET)
        await until(lambda: len(api.leases) == 3, 30)
        await asyncio.sleep(QUIET_SECONDS)
        new = [await here.add(f"n{number}", pod, **small) for number, pod in enumerate(pods[:3])]
        assert len({*running, *(one for part in new for one in part)}) == 6
        full = await here.ask("ADD", "n3", pods[3], **small)
        assert full["msg"] == "Network blue has no free address in 192.0.2.0/29"


async def test_a_watch_that_breaks_alone_holds_nothing_up() -> None:
    """A balancer ends connections that are idle. Also when it happened before."""
    api = FakeApi()
    async with Rig(api) as rig:
        for number in range(5):
            await until(lambda: rig.service.book.claims.complete and not rig.service.follower.problem)
            await asyncio.sleep(60)
            api.problem = away()
            api.tell("ADDED", api.put_claim(f"vm-{number}"))
            await until(lambda: rig.service.follower.problem)
            api.problem = None
            await asyncio.sleep(BREAK_SECONDS)
            assert await rig.add(f"c{number}", api.put_pod(f"web-{number}"))


async def test_an_api_that_lets_the_first_request_wait_was_away_so_long() -> None:
    """It listens before its database answers: no request fails, and the outage is as long as one of them."""
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        api.problem = away()
        api.tell("ADDED", api.put_claim("vm"))
        await until(lambda: rig.service.follower.problem)
        api.delay, api.problem = 2 * BREAK_SECONDS, None
        await until(lambda: not rig.service.follower.problem)
        api.delay = 0.0
        assert (await rig.ask("ADD", "c1", api.put_pod("web")))["msg"] == QUIET


async def test_leases_that_a_person_deleted_are_made_again_without_a_new_pod() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        api.put_claim("vm")
        await rig.add("c1", api.put_pod("vm-1", "vm", "vm"))
        await rig.add("c2", api.put_pod("web"))
        await asyncio.sleep(2 * REAP_SECONDS)
        before = set(api.leases)
        api.leases.clear()
        await until(lambda: set(api.leases) == before, REAP_SECONDS + 1)


async def test_a_start_gives_no_address_that_a_sandbox_has_whatever_the_api_says() -> None:
    api = FakeApi()
    small = {"subnets": "192.0.2.0/30"}
    async with Rig(api) as rig:
        running = await rig.add("c1", api.put_pod("web"), **small)
    api.leases.clear()
    async with Rig(api, store=rig.store) as again:
        new = await again.add("c2", api.put_pod("new"), **small)
        assert new != running
        await until(lambda: len(api.leases) == 2)


async def test_an_address_whose_lease_another_owner_has_stays_taken_while_its_sandbox_runs() -> None:
    """Without the record, this node would give it a third time when the other owner has ended."""
    api = FakeApi()
    async with Rig(api) as rig:
        (address,) = await rig.add("c1", api.put_pod("web"))
        (lease,) = api.leases.values()
        lease["metadata"]["uid"] = "another"
        lease["metadata"]["annotations"] |= {f"{PREFIX}owner-uid": "another/net1", f"{PREFIX}node": "node-b"}
        lease["metadata"]["labels"][NODE_LABEL] = "node-b"
        await asyncio.sleep(REAP_SECONDS + 1)
        assert rig.service.book.taken("blue", ip_interface(address).ip)
        await rig.ask("DEL", "c1")
        await until(lambda: not rig.service.book.taken("blue", ip_interface(address).ip))
        assert len(api.leases) == 1


@pytest.mark.parametrize("step", [YEAR, -YEAR])
async def test_a_step_of_the_wall_clock_frees_nothing_and_delays_nothing(step: float) -> None:
    api = FakeApi()
    async with Rig(api) as rig, Rig(api, "node-b") as other:
        await until(lambda: rig.service.book.claims.complete)
        claim = api.put_claim("vm")
        before = await rig.add("c1", api.put_pod("vm-1", "vm", "vm"))
        await rig.add("c2", api.put_pod("web"))
        rig.clock.step = step
        await asyncio.sleep(2 * REAP_SECONDS)
        assert len(api.leases) == 2
        assert await rig.add("c3", api.put_pod("vm-2", "vm", "vm")) == before
        assert await other.add("c4", api.put_pod("vm-3", "vm", "vm")) == before
        for container in ("c1", "c3"):
            await rig.ask("DEL", container)
        await until(lambda: claim["status"].get("ownerPod") == {"name": "vm-3"})
        rig.gone.add("/run/netns/c2")
        del api.pods["vms", "web"]
        rig.clock.step = -step
        await until(lambda: len(api.leases) == 1, REAP_SECONDS + 1)
        await other.ask("DEL", "c4")
        api.pods.clear()
        api.delete_claim("vm")
        await until(lambda: not api.leases, 60)


async def test_a_step_of_the_wall_clock_repeats_no_event() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        small: dict[str, Any] = {"subnets": "192.0.2.0/30"}
        for number in range(2):
            await rig.add(f"c{number}", **small)
        pod = api.put_pod("web")
        for step in (0.0, YEAR, -YEAR):
            rig.clock.step = step
            assert (await rig.ask("ADD", "c9", pod, **small))["code"] == 11
        await rig.settled()
        assert len(api.events) == 1
        await asyncio.sleep(EVENT_SECONDS)
        await rig.ask("ADD", "c9", pod, **small)
        await until(lambda: len(api.events) == 2)


async def test_a_second_machine_with_the_name_of_the_node_is_reported_and_frees_nothing() -> None:
    api = FakeApi()
    async with Rig(api, boot="1" * 32) as one, Rig(api, boot="2" * 32) as other:
        await one.settled()
        await other.settled()
        (mine,) = await one.add("c1", api.put_pod("web-1"))
        (theirs,) = await other.add("c2", api.put_pod("web-2"))
        await until(lambda: one.service.upkeep.problem and other.service.upkeep.problem, 2 * REAP_SECONDS)
        address = theirs.partition("/")[0]
        assert one.service.problems == [
            f"Another machine uses the node name node-a: it has {address}/24 of network blue"
        ]
        assert await one.ask("STATUS") == {}
        assert [str(row.address) for row in one.service.book.reservations()] == [mine]
    async with Rig(api, store=other.store, boot="2" * 32) as again:
        await again.settled()
        assert len(api.leases) == 2
        assert await again.ask("DEL", "c2") == {}
        await until(lambda: len(api.leases) == 1)
        api.pods.clear()
        await until(lambda: not api.leases, REAP_SECONDS + 1)


async def test_own_leases_are_never_taken_for_those_of_another_machine() -> None:
    """Created, moved from another node, and taken over after a reboot."""
    api = FakeApi()
    async with Rig(api, boot="1" * 32) as one, Rig(api, "node-b", boot="2" * 32) as other:
        api.put_claim("vm")
        await other.add("c1", api.put_pod("vm-1", "vm", "vm"))
        await one.add("c2", api.put_pod("vm-2", "vm", "vm"))
        await one.add("c3", api.put_pod("web"))
        await asyncio.sleep(2 * REAP_SECONDS)
        assert (one.service.upkeep.problem, other.service.upkeep.problem) == (None, None)
    async with Rig(api, store=one.store, boot="3" * 32) as again:
        await again.add("c4", api.put_pod("vm-3", "vm", "vm"))
        await again.add("c5", api.put_pod("web-2"))
        await asyncio.sleep(2 * REAP_SECONDS)
        assert again.service.upkeep.problem is None


async def test_a_status_that_lost_its_addresses_while_the_store_was_lost_gets_them_again() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        api.put_claim("vm")
        (address,) = await rig.add("c1", api.put_pod("vm-1", "vm"))
    claim = api.claims["vms", "vm"]
    claim["status"] = {}
    async with Rig(api):
        await until(lambda: claim["status"].get("ips") == [address])
        await until(lambda: claim["status"].get("ownerPod") == {"name": "vm-1"})
