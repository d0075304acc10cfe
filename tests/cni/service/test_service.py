"""The service against a cluster in memory: verbs, faults, restarts, and many at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cni.service.rig import FakeApi, FakeStore, Rig, away, until
from nodenet.cni.upkeep import REAP_SECONDS
from nodenet.core.persistent_ips.model import Expired


async def test_a_claim_keeps_its_address_over_stop_and_start() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        claim = api.put_claim("vm")
        await until(lambda: len(rig.service.book.claims))
        api.requests.clear()
        (address,) = await rig.add("c1", api.put_pod("vm-1", "vm", "vm"))
        assert api.requests == ["get pod", "create lease", "patch claim"]
        assert claim["status"]["ips"] == [address]
        assert claim["status"]["ownerPod"] == {"name": "vm-1"}
        assert await rig.ask("DEL", "c1") == {}
        await until(lambda: "ownerPod" not in claim["status"])
        assert await rig.add("c2", api.put_pod("vm-2", "vm", "vm")) == [address]
        await rig.ask("DEL", "c2")
        api.delete_claim("vm")
        await until(lambda: not api.leases)
        assert rig.store.rows.keys() == {("pod", json.dumps([f"pod-{n}", "net1", "blue"])) for n in (3, 8)} | {
            ("network", '["blue"]')
        }


async def test_a_pod_has_its_address_until_del() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await rig.add("c1", api.put_pod("web"))
        assert len(api.leases) == 1
        await rig.ask("DEL", "c1")
        await until(lambda: not api.leases)


async def test_without_kubernetes_it_is_a_plain_plugin() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        (address,) = await rig.add("c1")
        previous = {"ips": [{"address": address}]}
        assert await rig.ask("CHECK", "c1", prevResult=previous) == {}
        assert (await rig.ask("CHECK", "c2", prevResult=previous))["code"] == 3
        await rig.add("c2")
        kept: dict[str, Any] = {"cni.dev/valid-attachments": [{"containerID": "c2", "ifname": "net1"}]}
        assert await rig.ask("GC", **kept) == {}
        await until(lambda: len(api.leases) == 1)
        assert (await rig.ask("GC"))["code"] == 7


async def test_status_is_true_to_the_api_the_disk_and_the_pool() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        assert await rig.ask("STATUS") == {}
        small: dict[str, Any] = {"subnets": "192.0.2.0/30"}
        for number in range(2):
            await rig.add(f"c{number}", **small)
        full = await rig.ask("STATUS", **small)
        assert (full["code"], full["msg"]) == (50, "Network blue has no free address in 192.0.2.0/30")
        rig.store.full = True
        assert (await rig.ask("ADD", "c9"))["code"] == 5
        assert (await rig.ask("STATUS"))["msg"] == "No new address can be given: No space left on device"
        await until(lambda: len(api.leases) == 2)
        rig.store.full = False
        await rig.add("c9")
        assert await rig.ask("STATUS") == {}


async def test_status_sees_what_other_nodes_gave_back() -> None:
    """Else a runtime that asks for the status first never asks for an address again."""
    api = FakeApi()
    small: dict[str, Any] = {"subnets": "192.0.2.0/30"}
    async with Rig(api) as rig, Rig(api, "node-b") as other:
        await until(lambda: rig.service.book.claims.complete)
        for number in range(2):
            await other.add(f"c{number}", **small)
        assert (await rig.ask("ADD", "d", **small))["code"] == 11
        await other.ask("DEL", "c0")
        await until(lambda: len(api.leases) == 1)
        assert await rig.ask("STATUS", **small) == {}
        await rig.add("d", **small)
        api.requests.clear()
        for _ in range(3):
            assert (await rig.ask("STATUS", **small))["code"] == 50
        assert api.requests == []  # once a minute


async def test_a_container_that_comes_back_after_a_del_that_was_not_recorded() -> None:
    """The disk was full. What is detached later is the attachment that the DEL meant, not the new one."""
    api = FakeApi()
    async with Rig(api) as rig:
        await rig.add("c1")
        rig.store.full = True
        assert await rig.ask("DEL", "c1") == {}
        assert (await rig.ask("ADD", "c1"))["code"] == 5
        rig.store.full = False
        (address,) = await rig.add("c1")
        await asyncio.sleep(60)
        assert [one["metadata"]["annotations"]["ipam.nodenet.org/address"] for one in api.leases.values()] == [address]
        assert (await rig.ask("CHECK", "c1", prevResult={"ips": [{"address": address}]})) == {}
        await rig.ask("DEL", "c1")
        await until(lambda: not api.leases)


async def test_a_subnet_that_has_grown() -> None:
    """A claim keeps its address, and its pods get the new prefix length; running ones pass CHECK."""
    api = FakeApi()
    async with Rig(api) as rig:
        claim = api.put_claim("vm")
        (before,) = await rig.add("c1", api.put_pod("vm-1", "vm", "vm"), subnets="192.0.2.0/25")
        previous = {"ips": [{"address": before}]}
        assert await rig.ask("CHECK", "c1", prevResult=previous) == {}
        await rig.ask("DEL", "c1")
        grown = before.replace("/25", "/24")
        assert await rig.add("c2", api.put_pod("vm-2", "vm", "vm")) == [grown]
        for one in (before, grown):
            assert await rig.ask("CHECK", "c2", prevResult={"ips": [{"address": one}]}) == {}
        assert claim["status"]["ips"] == [before]


async def test_del_succeeds_whatever_happens() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await rig.add("c1", api.put_pod("web"))
        assert await rig.ask("DEL", "unknown") == {}
        request = rig.request("DEL", "c1") | {"config": "{"}
        rig.store.full = True
        api.problem = away()
        assert await rig.service.verbs.answer(request) == {"exit": 0, "stdout": ""}
        rig.store.full = False
        api.problem = None
        await until(lambda: not api.leases, 300)


async def test_while_the_api_is_away_pods_wait() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        api.put_claim("vm")
        pod = api.put_pod("vm-1", "vm")
        before = await rig.add("c1", pod)
        api.problem = away()
        api.tell("MODIFIED", api.claims["vms", "vm"])
        await until(lambda: rig.service.follower.problem)
        await rig.ask("DEL", "c1")
        late = await rig.ask("ADD", "c3", api.put_pod("late"))
        assert (late["code"], late["msg"]) == (11, "The API does not answer")
        status = await rig.ask("STATUS")
        assert (status["code"], status["msg"]) == (50, "No new address can be given: The API does not answer")
        api.problem = None
        await until(lambda: rig.service.follower.problem is None, 60)
        assert await rig.ask("STATUS") == {}
        assert await rig.add("c2", pod) == before


async def test_a_claim_that_comes_after_its_pod_is_waited_for() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        waiting = asyncio.ensure_future(rig.add("c1", api.put_pod("vm-1", "vm")))
        await asyncio.sleep(3)
        api.put_claim("vm")
        assert await waiting
        never = await rig.ask("ADD", "c2", api.put_pod("vm-2", "never"))
        assert never["msg"] == "IPAMClaim vms/never, which pod vms/vm-2 references, does not exist yet"


async def test_two_nodes_and_one_claim_get_one_address() -> None:
    api = FakeApi()
    api.delay = 0.01
    async with Rig(api) as one, Rig(api, "node-b") as other:
        api.put_claim("vm")
        pods = [api.put_pod(f"vm-{number}", "vm", "vm") for number in range(2)]
        given = await asyncio.gather(one.add("c1", pods[0]), other.add("c2", pods[1]))
        assert given[0] == given[1]
        await one.settled()
        await other.settled()
        assert len(api.leases) == 1


@pytest.mark.parametrize("services", [1, 4])
async def test_many_at_once_have_no_address_twice_and_leave_none(services: int) -> None:
    api = FakeApi()
    api.delay = 0.002
    rigs = [Rig(api, f"node-{number}") for number in range(services)]
    async with rigs[0]:
        for rig in rigs[1:]:
            await rig.__aenter__()
        names = [f"vm{number}" for number in range(120)]
        for name in names:
            api.put_claim(name)
        given = await asyncio.gather(
            *(
                rigs[number % services].add(f"c{number}", api.put_pod(f"{name}-1", name))
                for number, name in enumerate(names)
            )
        )
        assert len({one[0] for one in given}) == len(names)
        for number in range(len(names)):
            await rigs[number % services].ask("DEL", f"c{number}")
        for name in names:
            del api.pods["vms", f"{name}-1"]
            api.delete_claim(name)
        await until(lambda: not api.leases, 600)
        for rig in rigs[1:]:
            await rig.__aexit__()


async def test_a_watch_that_was_too_old_lists_again_and_frees_what_it_missed() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        api.put_claim("vm")
        await rig.add("c1", api.put_pod("vm-1", "vm"))
        await rig.ask("DEL", "c1")
        await rig.settled()
        api.problem = away()
        api.tell("MODIFIED", api.claims["vms", "vm"])
        await until(lambda: rig.service.follower.problem)
        api.delete_claim("vm")
        api._history.clear()
        api.oldest = api._number
        api.problem = None
        await until(lambda: not api.leases, 60)


async def test_a_reboot_frees_what_pods_had_and_keeps_what_claims_have() -> None:
    api, store = FakeApi(), FakeStore()
    async with Rig(api, store=store) as rig:
        api.put_claim("vm")
        before = await rig.add("c1", api.put_pod("vm-1", "vm"))
        await rig.add("c2", api.put_pod("web"))
    async with Rig(api, store=store, boot="c" * 32) as again:
        await until(lambda: len(api.leases) == 1)
        assert list(again.service.book.attachments()) == []
        await until(lambda: "ownerPod" not in api.claims["vms", "vm"]["status"])
        assert await again.add("c3", api.put_pod("vm-2", "vm")) == before


async def test_a_lost_store_is_made_again() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        api.put_claim("vm")
        await rig.add("c1", api.put_pod("vm-1", "vm"))
        web = api.put_pod("web")
        await rig.add("c2", web)
    async with Rig(api) as again:
        await until(lambda: len(list(again.service.book.reservations())) == 2)
        await again.ask("DEL", "c2")
        await until(lambda: len(api.leases) == 1)


async def test_an_unreadable_record_is_left_out() -> None:
    store = FakeStore()
    store.rows = {("reservation", "x"): "{", ("slice", "y"): "?"}
    async with Rig(FakeApi(), store=store) as rig:
        assert list(rig.service.book.reservations()) == []


async def test_a_refusal_is_an_event_once() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        small: dict[str, Any] = {"subnets": "192.0.2.0/30"}
        for number in range(2):
            await rig.add(f"c{number}", **small)
        api.put_claim("vm")
        pod = api.put_pod("vm-1", "vm")
        for _ in range(3):
            assert (await rig.ask("ADD", "c9", pod, **small))["code"] == 11
        await until(lambda: api.events)
        await rig.settled()
        (event,) = api.events
        assert (event["reason"], event["message"]) == (
            "SubnetExhausted",
            "Network blue has no free address in 192.0.2.0/30",
        )


async def test_a_slow_api_is_not_waited_for_too_long() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        pod = api.put_pod("web")
        api.delay = 100.0
        began = asyncio.get_running_loop().time()
        answer = await rig.ask("ADD", "c1", pod)
        assert (answer["code"], answer["msg"]) == (11, "The API did not answer within 10 s")
        assert asyncio.get_running_loop().time() - began < 45


async def test_a_claim_deleted_in_the_middle_of_its_first_add_leaves_nothing() -> None:
    """Its deletion is reported while there is no record yet."""
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        api.put_claim("vm")
        await until(lambda: len(rig.service.book.claims))
        pod = api.put_pod("vm-1", "vm")
        create = api.create_lease

        async def meanwhile(lease: Any) -> Any:
            made = await create(lease)
            api.delete_claim("vm")
            await until(lambda: not len(rig.service.book.claims))
            return made

        api.create_lease = meanwhile  # type: ignore[method-assign]
        assert (await rig.ask("ADD", "c1", pod))["code"] == 11
        await rig.ask("DEL", "c1")
        await until(lambda: not api.leases, 700)
        assert list(rig.service.book.reservations()) == []


async def test_what_could_not_be_undone_is_undone_later() -> None:
    """The second subnet is full, and the API does not answer when the address of the first is given back."""
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        for number in range(2):
            await rig.add(f"c{number}", subnets="198.51.100.0/30")
        pod = api.put_pod("web")
        delete = api.delete_lease

        async def lost(*_: Any) -> None:
            raise away()

        api.delete_lease = lost  # type: ignore[assignment, method-assign]
        refused = await rig.ask("ADD", "c9", pod, subnets="192.0.2.0/24,198.51.100.0/30")
        assert refused["msg"] == "Network blue has no free address in 198.51.100.0/30"
        assert len(api.leases) == 3
        api.delete_lease = delete  # type: ignore[method-assign]
        del api.pods["vms", "web"]
        await until(lambda: len(api.leases) == 2, 700)


async def test_a_list_whose_token_is_too_old_is_begun_again() -> None:
    api = FakeApi()
    api.page = 50
    async with Rig(api) as rig, Rig(api, "node-b") as other:
        await rig.settled()
        for number in range(252):
            await other.add(f"c{number}")
        pages = api.list_leases
        forgotten: list[str] = []

        async def forget(selector: str, following: str = "") -> Any:
            if following and len(forgotten) < most:
                forgotten.append(following)
                raise Expired("too old")
            return await pages(selector, following)

        api.list_leases = forget  # type: ignore[method-assign]
        for most, answer in ((2, {}), (99, {"code": 11, "msg": "The API forgets the list of Leases while it is read"})):
            forgotten.clear()
            found = await rig.ask("ADD", f"d{most}")
            assert {key: found.get(key) for key in answer} == answer
            assert ("exit" in found) == bool(answer)
            rig.service.book.seen.clear()


async def test_a_create_without_an_answer_leaves_no_lease() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        await rig.settled()
        pod = api.put_pod("web")
        create = api.create_lease

        async def lost(lease: Any) -> Any:
            await create(lease)
            raise away()

        api.create_lease = lost  # type: ignore[method-assign]
        assert (await rig.ask("ADD", "c1", pod))["code"] == 11
        api.create_lease = create  # type: ignore[method-assign]
        api.pods.clear()
        assert len(api.leases) == 1
        await until(lambda: not api.leases, 60)


@pytest.mark.parametrize("document", [None, [], 7, {"version": 1}, {"version": 1, "command": "ADD", "config": "[]"}])
async def test_nonsense_has_an_error_for_an_answer(document: object) -> None:
    async with Rig(FakeApi()) as rig:
        answer = await rig.service.verbs.answer(document)
        assert answer["exit"] == 1
        assert json.loads(str(answer["stdout"])).keys() >= {"cniVersion", "code", "msg"}


async def test_idle_it_asks_for_nothing_but_the_watch() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        api.put_claim("vm")
        await rig.add("c1", api.put_pod("vm-1", "vm"))
        await rig.add("c2", api.put_pod("web"))
        await rig.add("c3", api.put_pod("short"))
        await rig.ask("DEL", "c3")
        await rig.settled()
        api.requests.clear()
        await asyncio.sleep(REAP_SECONDS - 30)
        assert api.requests == []
        del api.pods["vms", "short"]
        await asyncio.sleep(REAP_SECONDS)  # a pod is forgotten
        assert sorted(set(api.requests)) == ["get pod", "list leases"]
        api.requests.clear()
        await asyncio.sleep(6 * REAP_SECONDS)
        assert api.requests == ["list leases"] * 6  # lost ones are made again
