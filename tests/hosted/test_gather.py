"""nodenetd's status and the kernel's addresses become the places of this node."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Any

import pytest

from hosted.rig import state
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Cluster
from nodenet.core.hosted_services.model import Mode, Origin, Service
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.hosted.state import HOLD_SECONDS, Gather, Sources, State

NODE_IP, NODE_IP6 = ip_address("192.0.2.10"), ip_address("2001:db8::10")

NODES = [
    {
        "metadata": {"name": name, "labels": {"node-role.kubernetes.io/control-plane": ""}},
        "status": {"addresses": [{"type": "InternalIP", "address": f"192.0.2.1{number}"}]},
    }
    for number, name in enumerate(("master-0", "master-1"))
]


class Bench:
    def __init__(self) -> None:
        self.state: State = state()
        self.document: Any = {"node_ips": ["192.0.2.10"]}
        self.link: str | None = "br-ex"
        self.without: set[IPAddress] = set()
        self.silent = False
        self.cluster = Cluster()
        self.authority = "PEM"
        self.gather = Gather(
            self.state,
            Sources(lambda: self.document, self.snapshot, lambda: self.cluster, lambda: False, self.read_authority),
        )

    def read_authority(self) -> str:
        if not self.authority:
            raise Unavailable("The CA cannot be used")
        return self.authority

    def snapshot(self) -> Snapshot:
        if self.silent:
            raise Unavailable("the kernel does not answer")
        there = {NODE_IP: 24, NODE_IP6: 64}
        addresses = tuple(
            Address(one, length, self.link or "") for one, length in there.items() if one not in self.without
        )
        return Snapshot((Link(2, self.link or "lo"),), addresses if self.link else (), ())

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


async def test_in_dual_stack_a_node_ip_that_vanishes_for_a_moment_keeps_its_place() -> None:
    """An IPv6 address went for a second, and keepalived gave the IPv6 VIPs up."""
    bench = Bench()
    bench.document = {"node_ips": ["192.0.2.10", "2001:db8::10"]}
    assert await bench.place() == "br-ex"
    both = dict(bench.state.here.places)
    assert list(both) == [Family.IPV4, Family.IPV6]
    bench.without = {NODE_IP}
    await bench.gather()
    assert list(bench.state.here.places.items()) == list(both.items()), "in the same order"
    bench.without = set()
    await bench.gather()
    bench.without = {NODE_IP6}
    bench.state.wake.clear()
    await bench.gather()
    await asyncio.sleep(HOLD_SECONDS)
    assert bench.state.wake.is_set(), "it is looked at again"
    await bench.gather()
    assert list(bench.state.here.places) == [Family.IPV4]
    await bench.gather()
    assert list(bench.state.here.places) == [Family.IPV4]


@pytest.mark.parametrize("published", [["192.0.2.10"], ["192.0.2.10", "2001:db8::11"]], ids=["none", "another"])
async def test_a_node_ip_that_nodenetd_publishes_no_more_is_given_up_at_once(published: list[str]) -> None:
    bench = Bench()
    bench.document = {"node_ips": ["192.0.2.10", "2001:db8::10"]}
    await bench.gather()
    bench.document, bench.without = {"node_ips": published}, {NODE_IP6}
    await bench.gather()
    assert list(bench.state.here.places) == [Family.IPV4]


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


async def test_another_ca_is_another_text_of_haproxy_and_half_a_file_changes_nothing() -> None:
    """Haproxy reads the CA when it is reloaded: after a rotation it believed no API server, for good."""
    bench = Bench()
    bench.cluster = Cluster(nodes={Origin.LIVE: NODES})
    await bench.gather()
    before = bench.state.plan.texts[Service.HAPROXY]
    bench.authority = "PEM of another CA"
    await bench.gather()
    after = bench.state.plan.texts[Service.HAPROXY]
    assert after != before
    bench.authority = ""
    await bench.gather()
    assert bench.state.plan.texts[Service.HAPROXY] == after
    assert (bench.state.authority, bench.state.failures) == (
        "PEM of another CA",
        {"authority": "The CA cannot be used"},
    )
