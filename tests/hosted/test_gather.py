"""nodenetd's status and the kernel's addresses become the places of this node."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from hosted.rig import state
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Cluster
from nodenet.core.hosted_services.model import Mode, Origin
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.hosted.gather import Gather
from nodenet.hosted.state import State

NODE_IP = ip_address("192.0.2.10")


class Bench:
    def __init__(self) -> None:
        self.state: State = state()
        self.document: Any = {"node_ips": ["192.0.2.10"]}
        self.link: str | None = "br-ex"
        self.silent = False
        self.cluster = Cluster()
        self.gather = Gather(self.state, lambda: self.document, self.snapshot, lambda: self.cluster, lambda: False)

    def snapshot(self) -> Snapshot:
        if self.silent:
            raise Unavailable("the kernel does not answer")
        addresses = (Address(NODE_IP, 24, self.link),) if self.link else ()
        return Snapshot((Link(2, self.link or "lo"),), addresses, ())

    async def place(self) -> str | None:
        await self.gather()
        found = self.state.here.places.get(Family.IPV4)
        return found.link if found else None


async def test_the_place_follows_the_address_to_another_link() -> None:
    bench = Bench()
    bench.link = "eth0"
    assert await bench.place() == "eth0"
    bench.link = "br-ex"
    assert await bench.place() == "br-ex"


async def test_while_the_address_is_on_no_link_the_last_plan_stays() -> None:
    bench = Bench()
    assert await bench.place() == "br-ex"
    bench.link = None
    assert await bench.place() == "br-ex"


async def test_a_kernel_that_does_not_answer_is_reported_and_changes_nothing() -> None:
    bench = Bench()
    assert await bench.place() == "br-ex"
    bench.silent = True
    assert await bench.place() == "br-ex"
    assert list(bench.state.failures) == ["kernel"]
    bench.silent = False
    await bench.gather()
    assert bench.state.failures == {}


@pytest.mark.parametrize("document", [None, {}, {"node_ips": "x"}, {"node_ips": ["nonsense"]}])
async def test_a_status_of_another_shape_names_no_address(document: Any) -> None:
    bench = Bench()
    bench.document = document
    await bench.gather()
    assert bench.state.here.places, "the last plan stays"


async def test_the_same_inputs_are_judged_once() -> None:
    """A look comes every ten seconds, and a cluster may have ten thousand nodes."""
    bench = Bench()
    await bench.gather()
    first = bench.state.plan
    await bench.gather()
    assert bench.state.plan is first
    bench.cluster = Cluster()
    await bench.gather()
    assert bench.state.plan is not first


async def test_an_object_that_is_not_valid_any_more_keeps_its_last_spec() -> None:
    good = {
        "apiVersion": "clusterhostednetservices.operator.io/v1alpha1",
        "kind": "HostedNetServices",
        "metadata": {"name": "cluster"},
        "spec": {"apiintIpAddress": "192.0.2.99"},
    }
    bench = Bench()
    bench.cluster = Cluster({Origin.LIVE: good})
    await bench.gather()
    assert bench.state.plan.mode is Mode.EXTERNAL
    bench.cluster = Cluster({Origin.LIVE: good | {"apiVersion": "v2"}})
    await bench.gather()
    assert bench.state.plan.mode is Mode.EXTERNAL
    assert bench.state.known.problems[0].startswith("HostedNetServices (cr) is not used: apiVersion is 'v2'")
