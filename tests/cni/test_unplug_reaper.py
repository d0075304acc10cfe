"""The reaper: one node, a wait, a pod that is gone, and a claim that did not change."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from core.persistent_ips.test_unplug import CLAIM, VM
from nodenet.cni import unplug_reaper as module
from nodenet.cni.unplug_reaper import UnplugReaper
from nodenet.core.persistent_ips import leader
from nodenet.core.persistent_ips.api import ApiAway, Conflict, NotFound, Page
from nodenet.core.persistent_ips.unplug import UNPLUGGED_SECONDS

Document = Mapping[str, Any]


class Api:
    """A cluster with one machine and one claim."""

    def __init__(self) -> None:
        self.claims = [copy.deepcopy(CLAIM)]
        self.machines = [copy.deepcopy(VM)]
        self.pods: dict[str, Document] = {}
        self.held: dict[str, Any] | None = None
        self.deleted: list[str] = []
        self.away = False

    async def list_machines(self, following: str = "") -> Page:
        if self.away:
            raise ApiAway("The API does not answer")
        if not following:
            return Page((), "1", "more")
        return Page(tuple(self.machines), "1")

    async def list_claims(self, following: str = "") -> Page:
        return Page(tuple(self.claims), f"1{following}")

    async def pod(self, namespace: str, name: str) -> Document:
        if name not in self.pods:
            raise NotFound(f"{namespace}/{name}")
        return self.pods[name]

    async def patch_claim(self, namespace: str, name: str, operations: Sequence[Document]) -> Document:
        metadata = self._claim(namespace, name)["metadata"]
        if operations[0]["value"] != metadata["resourceVersion"]:
            raise Conflict("changed")
        metadata.update(finalizers=operations[1]["value"], resourceVersion="6")
        return {"metadata": metadata}

    async def delete_claim(self, namespace: str, name: str, uid: str, resource_version: str) -> Document:
        claim = self._claim(namespace, name)
        if (uid, resource_version) != (claim["metadata"]["uid"], claim["metadata"]["resourceVersion"]):
            raise Conflict("changed")
        self.deleted.append(name)
        self.claims.clear()
        return claim

    async def lease(self, name: str) -> Document:
        if self.held is None:
            raise NotFound(name)
        return self.held

    async def create_lease(self, lease: Document) -> Document:
        if self.held is not None:
            raise Conflict("taken")
        self.held = {**lease, "metadata": {"name": lease["metadata"]["name"], "resourceVersion": "1"}}
        return self.held

    async def patch_lease(self, name: str, operations: Sequence[Document]) -> Document:
        assert self.held is not None
        version = self.held["metadata"]["resourceVersion"]
        if operations[0]["value"] != version:
            raise Conflict(name)
        holder = next(one["value"] for one in operations if one["path"].endswith("holderIdentity"))
        self.held["spec"]["holderIdentity"] = holder
        self.held["metadata"]["resourceVersion"] = str(int(version) + 1)
        return self.held

    def _claim(self, namespace: str, name: str) -> dict[str, Any]:
        for claim in self.claims:
            if (claim["metadata"]["namespace"], claim["metadata"]["name"]) == (namespace, name):
                return claim
        raise NotFound(name)


class Clock:
    """Seconds since the boot, as a test wants them."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def reaper(api: Api, clock: Clock, node: str = "a") -> UnplugReaper:
    return UnplugReaper(api, node, clock)


async def test_a_claim_goes_when_its_network_was_away_for_long_enough() -> None:
    api, clock = Api(), Clock()
    made = reaper(api, clock)
    await made.look()
    clock.now += UNPLUGGED_SECONDS - 1
    await made.look()
    assert api.deleted == []
    clock.now += 1
    await made.look()
    assert api.deleted == ["vm-a.red"]


async def test_a_claim_that_changes_begins_a_new_wait() -> None:
    """So does a network that comes back in between."""
    api, clock = Api(), Clock()
    made = reaper(api, clock)
    await made.look()
    clock.now += UNPLUGGED_SECONDS
    api.claims[0]["metadata"]["resourceVersion"] = "9"
    await made.look()
    networks = api.machines[0]["spec"]["template"]["spec"]["networks"]  # type: ignore[index]
    networks.append({"name": "red"})
    clock.now += UNPLUGGED_SECONDS
    await made.look()
    networks.pop()
    await made.look()
    assert api.deleted == []


@pytest.mark.parametrize(("phase", "deleted"), [("Running", []), ("Succeeded", ["vm-a.red"])])
async def test_a_pod_that_runs_keeps_the_claim(phase: str, deleted: list[str]) -> None:
    api, clock = Api(), Clock()
    api.pods["virt-launcher-vm-a"] = {"status": {"phase": phase}}
    made = reaper(api, clock)
    await made.look()
    clock.now += UNPLUGGED_SECONDS
    await made.look()
    assert api.deleted == deleted


async def test_one_node_does_it() -> None:
    api, clock = Api(), Clock()
    first, second = reaper(api, clock), reaper(api, clock, "b")
    for _ in range(4):
        await first.look()
        await second.look()
        clock.now += module.LOOK_SECONDS
    assert api.held is not None
    assert api.held["spec"]["holderIdentity"] == "a"
    assert api.deleted == ["vm-a.red"]


async def test_another_node_goes_on_when_the_holder_is_gone() -> None:
    api, clock = Api(), Clock()
    await reaper(api, clock).look()
    second = reaper(api, clock, "b")
    looks = 0
    while not api.deleted:
        await second.look()
        clock.now += module.LOOK_SECONDS
        looks += 1
        assert looks < 20
    assert looks * module.LOOK_SECONDS >= leader.SECONDS + UNPLUGGED_SECONDS


async def test_an_api_that_is_away_is_asked_again() -> None:
    api = Api()
    api.away = True
    made = reaper(api, Clock())
    task = asyncio.create_task(made.run())
    async with asyncio.timeout(10):
        while made.problem is None:
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert made.problem == "The API does not answer"
