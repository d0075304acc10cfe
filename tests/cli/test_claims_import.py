"""Is everything taken over, or nothing changed? `nodenetctl claims import` with an API in memory.

The real API and the real whereabouts are in tests/lab/persistent_ips/test_import.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from nodenet.cli.claims_import import Import
from nodenet.core.persistent_ips.model import Conflict, NotFound
from nodenet.edge.kubernetes.ipam_api import KubernetesIpam

Document = dict[str, Any]


class Api:
    """The objects of a cluster; *late*: allocations that come with the second look at the pools."""

    def __init__(self, *nads: Document, allocations: Document | None = None, late: Document | None = None) -> None:
        self.nads = {one["metadata"]["name"]: one for one in nads}
        self.allocations = {} if allocations is None else allocations
        self.late = late or {}
        self.leases: dict[str, Document] = {}
        self.stale = 0
        """So many changes of a definition find another version."""

    async def definitions(self) -> list[Document]:
        return list(self.nads.values())

    async def definition(self, _: str, name: str) -> Document:
        return self.nads[name]

    async def configure(self, _: str, name: str, version: str, configuration: str) -> None:
        if self.stale:
            self.stale -= 1
            self.nads[name]["metadata"]["resourceVersion"] = f"{int(version) + 1}"
        if self.nads[name]["metadata"]["resourceVersion"] != version:
            raise Conflict("another version")
        self.nads[name]["spec"]["config"] = configuration

    async def whereabouts_pools(self) -> list[Document]:
        spec = {"range": "192.0.2.0/24", "allocations": dict(self.allocations)}
        self.allocations |= self.late
        return [{"metadata": {"name": "192.0.2.0-24"}, "spec": spec}]

    async def pod(self, namespace: str, name: str) -> Document:
        if name == "gone":
            raise NotFound("no pod")
        return {"metadata": {"namespace": namespace, "name": name, "uid": f"u-{name}"}, "spec": {"nodeName": "worker"}}

    async def node(self, _: str) -> Document:
        return {"status": {"nodeInfo": {"bootID": "b1"}}}

    async def create_lease(self, lease: Document) -> None:
        if lease["metadata"]["name"] in self.leases:
            raise Conflict("taken")
        self.leases[lease["metadata"]["name"]] = {**lease, "metadata": {**lease["metadata"], "uid": "l"}}

    async def lease(self, name: str) -> Mapping[str, Any]:
        return self.leases[name]


def nad(name: str = "blue", **ipam: Any) -> Document:
    asked = {"type": "whereabouts", "range": "192.0.2.0/24", **ipam}
    config = json.dumps({"type": "macvlan", "master": "eth1", "ipam": asked})
    metadata = {"namespace": "default", "name": name, "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {"config": config}}


def given(name: str, ifname: str = "net1") -> Document:
    return {"id": "c1", "podref": f"default/{name}", "ifname": ifname}


def done(api: Api, *, dry_run: bool = False, network: str = "") -> Import:
    made = Import(cast("KubernetesIpam", api), dry_run, network, settle=0.02)
    asyncio.run(made.run())
    return made


def is_ours(api: Api, name: str = "blue") -> bool:
    return "whereabouts" not in api.nads[name]["spec"]["config"]


def test_everything_is_taken_over() -> None:
    """Addresses of pods that have ended are left, and a second run has nothing to do."""
    api = Api(nad(), allocations={"5": given("a"), "6": given("gone")})
    assert done(api, dry_run=True).summary.startswith("1 addresses of 1 definitions would be")
    assert (len(api.leases), is_ours(api)) == (0, False)
    made = done(api)
    assert (made.problems, len(api.leases), is_ours(api)) == (set(), 1, True)
    assert made.summary == "1 addresses of 1 definitions are taken over; 1 of pods that have ended are left"
    assert not done(api).definitions


@pytest.mark.parametrize(
    "allocations",
    [{"5": given("a"), "6": given("b", "")}, {"5": given("a"), "999": given("b")}, {"5": given("a"), "6": {}}],
)
def test_an_address_that_cannot_be_taken_over_stops_everything(allocations: Document) -> None:
    """Else nodenet-ipam would give it a second time."""
    api = Api(nad(), allocations=allocations)
    made = done(api)
    assert (len(made.problems), made.summary) == (1, "Nothing is changed")
    assert (len(api.leases), is_ours(api)) == (0, False)


def test_a_definition_that_cannot_be_taken_over_stops_everything_but_another_network() -> None:
    """It may share the pool. An administrator who names a network has looked at that."""
    api = Api(nad(), nad("green", node_slice_size="/28"), allocations={"5": given("a")})
    assert len(done(api).problems) == 1
    assert not is_ours(api)
    assert not done(api, network="blue").problems
    assert is_ours(api)
    assert not is_ours(api, "green")


def test_an_address_of_another_owner_stops_the_change_of_definitions() -> None:
    api = Api(nad(), allocations={"5": given("a")})
    done(api)
    other = Api(nad(), allocations={"5": given("b"), "6": given("c")})
    other.leases = dict(api.leases)
    made = done(other)
    (problem,) = made.problems
    assert "192.0.2.5 of pod default/b is reserved for pod default/a" in problem
    assert (made.summary, is_ours(other)) == ("No definition is changed; what was reserved stays reserved", False)


def test_an_address_that_whereabouts_gives_late_is_taken_over() -> None:
    """A pod whose start had begun asks by the former configuration."""
    api = Api(nad(), allocations={"5": given("a")}, late={"9": given("b")})
    assert done(api).summary.startswith("2 addresses")
    assert len(api.leases) == 2


@pytest.mark.parametrize(("stale", "problems"), [(2, 0), (9, 1)])
def test_a_definition_that_changes_meanwhile(stale: int, problems: int) -> None:
    """It is read again, a bounded number of times."""
    api = Api(nad(), allocations={"5": given("a")})
    api.stale = stale
    assert (len(done(api).problems), is_ours(api)) == (problems, not problems)
