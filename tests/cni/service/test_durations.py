"""What an ADD waits for, and what is reported about that."""

from __future__ import annotations

import asyncio

import pytest

from cni.service.rig import FakeApi, Rig, away, until
from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.persistent_ips.effects import CreateLease, ReadPod


async def test_a_known_claim_is_recorded_and_reported_side_by_side() -> None:
    """The disk and the API need 5 s each: a new reservation waits for both in turn, one that is known does not."""
    api = FakeApi()
    async with Rig(api) as rig:
        await until(lambda: rig.service.book.claims.complete)
        api.put_claim("vm")
        await until(lambda: len(rig.service.book.claims))
        pods = [api.put_pod(f"vm-{number}", "vm", "vm") for number in range(2)]
        for number, pod in enumerate(pods):  # both are read, and the claim has its address
            await rig.add(f"c{number}", pod)
            await rig.ask("DEL", f"c{number}")
        await rig.settled()
        api.delay = rig.store.delay = 5.0
        began = asyncio.get_running_loop().time()
        await rig.add("c9", pods[0])
        assert asyncio.get_running_loop().time() - began == pytest.approx(15.0)  # pod and Lease are read first
        rig.store.full = True
        refused = await rig.ask("ADD", "c10", pods[1])
        assert refused["code"] == 5
        assert rig.service.book.attachment(("c10", "net1")) is None


async def test_durations_of_verbs_and_requests_are_reported() -> None:
    api = FakeApi()
    async with Rig(api) as rig:
        verbs: list[tuple[Verb, float]] = []
        requests: list[tuple[type, float]] = []
        rig.service.verbs.took = lambda verb, seconds: verbs.append((verb, seconds))
        rig.service.runner.took = lambda effect, seconds: requests.append((type(effect), seconds))
        await until(lambda: rig.service.book.claims.complete)
        await rig.settled()
        requests.clear()
        api.delay = 0.5
        await rig.add("c1", api.put_pod("web"))
        assert (verbs, requests) == ([(Verb.ADD, 1.0)], [(ReadPod, 0.5), (CreateLease, 0.5)])
        api.problem = away()
        await rig.ask("ADD", "c2", api.put_pod("other"))
        assert verbs[1:] == [(Verb.ADD, 0.5)]
        await rig.ask("DEL", "c1")
        assert verbs[2:] == [(Verb.DEL, 0.0)]
