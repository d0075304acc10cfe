"""What does a working service show on the bus and in the file with its figures?"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.test_ask import nodenetctl
from cni.test_bus_object import call
from core.persistent_ips.ipam_book import ATTACHED, CLAIM, ORDINARY, REFERENCE, RESERVED, SEEN, Cluster, here, lease_of
from edge.bus.test_connection import client
from edge.private_bus import PrivateBus, private_bus
from nodenet.cni.process import MOST_REFUSALS, Answers, People
from nodenet.cni.service import Identity, Service
from nodenet.core.metrics import Program
from nodenet.core.persistent_ips.book import Put
from nodenet.core.persistent_ips.effects import Here, Steps, T
from nodenet.core.persistent_ips.model import ApiAway, NotFound, Page
from nodenet.edge.bus.connection import Bus
from nodenet.edge.clock import Clock, Idle
from nodenet.edge.metrics import MetricsFile
from nodenet.edge.persistent_ips.store import Store
from nodenet.loop.background import Background

__all__ = ["private_bus"]
CONFIG = {"cniVersion": "1.0.0", "name": "blue", "type": "bridge", "subnets": "192.0.2.0/30", "ipam": {"type": "x"}}
Document = Mapping[str, Any]


class Api:
    """A cluster without pods and claims."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self._uids = itertools.count()

    async def pod(self, namespace: str, name: str) -> Document:
        raise ApiAway(f"The API does not answer: {namespace}/{name}")

    async def definition(self, namespace: str, name: str) -> Document:
        raise NotFound(f"{namespace}/{name}")

    async def claim(self, namespace: str, name: str) -> Document:
        raise NotFound(f"{namespace}/{name}")

    async def list_claims(self, following: str = "") -> Page:
        return Page((), f"7{following}")

    async def watch_claims(self, resource_version: str) -> AsyncIterator[Document]:
        await asyncio.sleep(3600)
        yield {"version": resource_version}

    async def patch_claim_status(self, namespace: str, name: str, patch: Document) -> Document:
        raise NotFound(f"{namespace}/{name} {patch}")

    async def create_lease(self, lease: Document) -> Document:
        metadata = {**lease["metadata"], "uid": f"l{next(self._uids)}", "resourceVersion": "1"}
        self.leases[metadata["name"]] = {**lease, "metadata": metadata}
        return self.leases[metadata["name"]]

    async def lease(self, name: str) -> Document:
        raise NotFound(name)

    async def list_leases(self, selector: str, following: str = "") -> Page:
        return Page(tuple(self.leases.values()), f"7{following}{selector}"[:1])

    async def patch_lease(self, name: str, operations: Sequence[Document]) -> Document:
        raise NotFound(f"{name} {operations}")

    async def delete_lease(self, name: str, uid: str, resource_version: str | None = None) -> None:
        if self.leases.pop(name, None) is None:
            raise NotFound(f"{name} {uid} {resource_version}")

    async def create_event(self, namespace: str, event: Document) -> None:
        """Nothing keeps Events here."""

    async def close(self) -> None:
        """There is no connection."""


@contextlib.asynccontextmanager
async def working(private_bus: PrivateBus, directory: Path) -> AsyncIterator[tuple[Service, Api]]:
    store, api, lines = Store(directory / "ipam.sqlite"), Api(), list[str]()
    service = Service(Identity("worker-0", "b1"), api, store, Clock(Idle()), lambda _: False)
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    people = People(service, bus, MetricsFile(Program.IPAM, directory, state=directory), lines.append)
    background = Background()
    try:
        service.start(background)
        people.start(background)
        assert await bus.wait_up(5)
        yield service, api
        assert lines[-1].partition(" ")[2] == "addresses"
    finally:
        await service.end()
        await background.end()
        store.close()


def request(verb: str, container: str, args: str = "") -> dict[str, Any]:
    return {
        "version": 1,
        "command": verb,
        "container_id": container,
        "netns": "/run/netns/x",
        "ifname": "net1",
        "args": args,
        "path": "",
        "config": json.dumps(CONFIG),
    }


async def claims(private_bus: PrivateBus, *words: str) -> tuple[int | None, str]:
    process = await nodenetctl(private_bus.address, "claims", *words)
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    return process.returncode, out.decode()


async def figures(directory: Path, line: str) -> None:
    """Wait until the file has a line."""
    async with asyncio.timeout(30):
        while line not in (directory / "ipam.prom").read_text():
            await asyncio.sleep(0.05)


async def test_what_a_service_does_is_seen(private_bus: PrivateBus, tmp_path: Path) -> None:
    async with working(private_bus, tmp_path) as (service, api), client(private_bus.address) as other:
        answer = await service.verbs.answer(request("ADD", "c1"))
        assert answer["exit"] == 0
        code, out = await claims(private_bus, "--json")
        (entry,) = json.loads(out)["addresses"]
        (address,) = json.loads(str(answer["stdout"]))["ips"]
        assert (code, entry["address"], entry["state"], entry["node"]) == (
            0,
            address["address"],
            "attached",
            "worker-0",
        )
        await figures(tmp_path, 'nodenet_ipam_addresses{network="blue",state="attached"} 1\n')
        assert "nodenet_ipam_add_total 1\n" in (await call(other, "GetMetrics")).body[0]
        assert await claims(private_bus, "check") == (0, "1 addresses compared: store, Leases and claims agree\n")
        api.leases.clear()
        assert (await claims(private_bus, "check"))[0] == 2
        assert (await claims(private_bus, "check", "--repair"))[0] == 0
        assert len(api.leases) == 1
        assert (await service.verbs.answer(request("DEL", "c1")))["exit"] == 0
        await figures(tmp_path, "nodenet_ipam_del_total 1\n")


async def test_a_refusal_is_seen(private_bus: PrivateBus, tmp_path: Path) -> None:
    async with working(private_bus, tmp_path) as (service, _):
        pod = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=vm;K8S_POD_UID=p1"
        answer = await service.verbs.answer(request("ADD", "c1", pod))
        assert json.loads(str(answer["stdout"]))["code"] == 11
        await figures(tmp_path, "nodenet_ipam_refused_total 1\n")


# What the service knows: documents, refusals, and a check while pods come and go.


def answers(where: Here, cluster: Cluster) -> Answers:
    async def run(steps: Steps[T]) -> T:
        return cluster.carry_out(where, steps)

    return Answers(lambda: where, run, lambda: ["The API does not answer"])


def test_the_document_has_the_problems() -> None:
    made = answers(here(RESERVED, ATTACHED), Cluster())
    document = made.document()
    assert document["problems"] == ["The API does not answer"]
    assert [entry["state"] for entry in document["addresses"]] == ["attached"]


def test_the_last_refusal_of_a_pod_is_explained_until_it_is_served() -> None:
    made = answers(here(REFERENCE), Cluster())
    made.refused("team/a", "first")
    made.refused("team/a", "second")
    made.refused("team/stranger", "third")
    assert made.explain("team/vm.blue").splitlines()[-1] == "Pod team/a got no address when it asked last: second"
    made.served("team/a")
    assert "got no address" not in made.explain("team/vm.blue")


def test_refusals_are_bounded() -> None:
    made = answers(here(), Cluster())
    for number in range(MOST_REFUSALS + 1):
        made.refused(f"team/{number}", "IPAMClaim team/vm.blue is being deleted")
    shown = made.explain("team/vm.blue")
    assert "Pod team/0 " not in shown
    assert shown.count(" got no address ") == MOST_REFUSALS


async def test_a_check_repairs_only_on_request() -> None:
    where, cluster = here(RESERVED, SEEN), Cluster(claims=(CLAIM,))
    made = answers(where, cluster)
    found = await made.check(repair=False)
    assert [one["repaired"] for one in found["differences"]] == [False]
    assert cluster.changes == []
    found = await made.check(repair=True)
    assert [one["repaired"] for one in found["differences"]] == [True]
    assert (await made.check(repair=False))["differences"] == []


async def test_what_is_reserved_during_the_check_is_no_difference() -> None:
    """Its Lease was not among those that were listed."""
    where = here(SEEN, claims=())
    cluster = Cluster(lease_of(RESERVED, "worker-9"))

    async def run(steps: Steps[T]) -> T:
        found = cluster.carry_out(where, steps)
        where.book.take((Put(ORDINARY),))
        return found

    listed = (await Answers(lambda: where, run, list).check(repair=False))["differences"]
    assert [one["cause"] for one in listed] == ["its Lease is of claim team/vm.blue, which is gone"]
