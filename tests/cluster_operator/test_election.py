"""Two operators and one Lease: one leads at a time, whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from cluster_operator.fake_api import OWN_LEASE, FakeApi, tasks
from nodenet.cluster_operator.process import WAIT_SECONDS, Election
from nodenet.core.hosted_cluster.leases import DEADLINE_SECONDS, LEASE_SECONDS, RENEW_SECONDS


def election(api: FakeApi, name: str) -> Election:
    return Election(api, "kube-system", name, lambda: f"T{api.version}")


class CutOff(FakeApi):
    """Another way to an API, which may be away alone."""

    def __init__(self, api: FakeApi) -> None:
        super().__init__()
        self.api = api

    async def find(self, path: str) -> Any:
        self._ask(path)
        return await self.api.find(path)

    async def create(self, path: str, document: Mapping[str, Any]) -> Any:
        self._ask(path)
        return await self.api.create(path, document)

    async def merge(self, path: str, change: Mapping[str, Any]) -> Any:
        self._ask(path)
        return await self.api.merge(path, change)


async def campaign(one: Election) -> None:
    """Lead as often as it can."""
    while True:
        await one.won()
        await one.lost()


def holder(api: FakeApi) -> str:
    return str(api.objects[OWN_LEASE]["spec"]["holderIdentity"])


async def test_the_first_one_leads_and_the_other_one_waits() -> None:
    api = FakeApi()
    first, second = election(api, "a"), election(api, "b")
    async with tasks(campaign(first)):
        await asyncio.sleep(1)
        async with tasks(campaign(second)):
            for _ in range(300):
                await asyncio.sleep(1)
                assert (first.leads, second.leads) == (True, False)


async def test_a_leader_that_was_killed_is_followed_after_its_lease_and_one_that_stops_at_once() -> None:
    api = FakeApi()
    first, second = election(api, "a"), election(api, "b")
    async with tasks(campaign(first)):
        await asyncio.sleep(1)
    async with tasks(campaign(second)):
        await asyncio.sleep(LEASE_SECONDS - WAIT_SECONDS)
        assert not second.leads
        await asyncio.sleep(3 * WAIT_SECONDS)
        assert second.leads
        assert api.objects[OWN_LEASE]["spec"]["leaseTransitions"] == 1
    third = election(api, "c")
    await second.give_back()
    assert not second.leads
    async with tasks(campaign(third)):
        await asyncio.sleep(WAIT_SECONDS + 1)
        assert third.leads
    await first.give_back()
    assert holder(api) == "c", "one that does not lead gives nothing back"


async def test_no_two_lead_while_the_api_comes_and_goes_for_one_of_them() -> None:
    api = FakeApi()
    cut_off = CutOff(api)
    first, second = election(cut_off, "a"), election(api, "b")
    async with tasks(campaign(first)):
        await asyncio.sleep(1)
        assert first.leads
        async with tasks(campaign(second)):
            for second_number in range(600):
                cut_off.away = 100 <= second_number < 400
                await asyncio.sleep(1)
                assert not (first.leads and second.leads)
            assert second.leads, "the one that could reach the API"


async def test_a_short_silence_of_the_api_changes_nothing() -> None:
    api = FakeApi()
    first = election(api, "a")
    lost: list[str] = []

    async def lead() -> None:
        await first.won()
        await first.lost()
        lost.append("a")

    async with tasks(lead()):
        await asyncio.sleep(1)
        for _ in range(10):
            api.away = True
            await asyncio.sleep(DEADLINE_SECONDS - RENEW_SECONDS - 1)
            api.away = False
            await asyncio.sleep(2 * RENEW_SECONDS)
        assert (first.leads, lost) == (True, [])
        api.away = True
        await asyncio.sleep(DEADLINE_SECONDS + RENEW_SECONDS + 1)
        assert (first.leads, lost) == (False, ["a"])


async def test_of_two_that_take_the_lease_together_one_is_refused() -> None:
    api = FakeApi()
    first = election(api, "a")

    def between(path: str) -> None:
        del path
        api.before_write = lambda _: None
        spec = {"holderIdentity": "b", "leaseDurationSeconds": LEASE_SECONDS}
        api.put(OWN_LEASE, {"metadata": {"name": "nodenet-operator"}, "spec": spec})

    api.before_write = between
    async with tasks(campaign(first)):
        await asyncio.sleep(1)
        assert not first.leads
