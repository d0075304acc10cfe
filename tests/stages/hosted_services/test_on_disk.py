"""What a node knows of its cluster without the API, and what of it cannot be used."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from nodenet.core.boot.outcome import Facts
from nodenet.core.hosted_services.api_int import Trial, Way, render_trial
from nodenet.core.hosted_services.cluster import Cached, render_cached
from nodenet.core.hosted_services.model import Options, Origin, Role
from nodenet.core.hosted_services.plan import NodePlan
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.node_ip.select import Selection
from nodenet.stages.hosted_services.on_disk import OnDisk

NODE_IP = ip_address("192.0.2.10")
OPTIONS = Options("baremetal", "c.example.com", (ip_address("192.0.2.2"),))
FACTS = Facts(selection=Selection((NODE_IP,), "eth0"))
SNAPSHOT = Snapshot(links=(Link(2, "br-ex"),), addresses=(Address(NODE_IP, 24, "br-ex"),))
NODE = {
    "metadata": {"name": "m0", "labels": {"node-role.kubernetes.io/control-plane": ""}},
    "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}]},
}
RESOURCE = {
    "apiVersion": "clusterhostednetservices.operator.io/v1alpha1",
    "kind": "HostedNetServices",
    "metadata": {"name": "cluster"},
    "spec": {"apiintIpAddress": "192.0.2.99"},
}


@dataclass
class FakeCaches:
    """Caches in a dictionary, and the administrator's file."""

    content: dict[str, bytes] = field(default_factory=dict)
    filed: Any = None

    def read(self, name: str) -> bytes | None:
        return self.content.get(name)

    def write(self, name: str, content: bytes) -> None:
        self.content[name] = content

    def remove(self, name: str) -> None:
        self.content.pop(name, None)

    async def resource(self) -> object | None:
        if isinstance(self.filed, ValueError):
            raise self.filed
        return self.filed  # type: ignore[no-any-return]


@dataclass
class FakeApiInt:
    content: bytes | None = None

    def read(self) -> bytes | None:
        return self.content

    def write(self, content: bytes) -> None:
        self.content = content


def cached(document: object, domain: str = OPTIONS.cluster_domain) -> bytes:
    return render_cached(Cached(document, domain, "7"))


async def look(caches: FakeCaches) -> NodePlan:
    return await OnDisk(caches, FakeApiInt(), OPTIONS).judged("m0", FACTS, SNAPSHOT)


async def test_without_any_file_there_are_the_settings_and_the_node_ips() -> None:
    found = await look(FakeCaches())
    assert found.problems == ()
    assert (found.inputs.nodes, found.inputs.nodes_origin) == ((), Origin.DEFAULT)
    assert found.inputs.here.places[Family.IPV4].link == "br-ex"


async def test_a_balancer_that_nodenet_hosted_found_dead_has_no_name() -> None:
    """Both write the names that dnsmasq answers: they must say the same (K1)."""
    caches, api_int = FakeCaches({"cr": cached(RESOURCE)}), FakeApiInt()
    disk = OnDisk(caches, api_int, OPTIONS)
    assert "192.0.2.99 api-int.c.example.com" in (await disk.judged("m0", FACTS, SNAPSHOT)).plan.hosts
    balancer = frozenset({ip_address("192.0.2.99")})
    api_int.write(render_trial(Trial(balancer, Way.VIP, balancer)))
    found = (await disk.judged("m0", FACTS, SNAPSHOT)).plan
    assert "192.0.2.2 api-int.c.example.com" in found.hosts
    assert "192.0.2.99" in found.problems[0]
    api_int.write(render_trial(Trial(balancer, Way.EXTERNAL)))
    assert "192.0.2.99 api-int.c.example.com" in (await disk.judged("m0", FACTS, SNAPSHOT)).plan.hosts


async def test_the_caches_are_read() -> None:
    caches = FakeCaches({"nodes": cached([NODE]), "cr": cached(RESOURCE)})
    inputs = (await look(caches)).inputs
    assert [(node.name, node.role) for node in inputs.nodes] == [("m0", Role.CONTROL_PLANE)]
    assert (inputs.spec_origin, inputs.spec.api_int_addresses) == (Origin.CACHE, (ip_address("192.0.2.99"),))


async def test_torn_caches_and_those_of_another_cluster_are_named_and_the_next_source_is_used() -> None:
    caches = FakeCaches({"nodes": cached([NODE], "d.example.com"), "cr": cached(RESOURCE)[:-9]}, filed=RESOURCE)
    found = await look(caches)
    torn = "its checksum is wrong: it was not written to its end, or was changed"
    assert found.problems == (
        f"The cached HostedNetServices is not used: {torn}",
        "The cached list of nodes is not used: it is of the cluster 'd.example.com', not of c.example.com",
    )
    assert (found.inputs.spec_origin, found.inputs.nodes) == (Origin.FILE, ())


async def test_a_file_that_is_not_yaml_is_named() -> None:
    found = await look(FakeCaches(filed=ValueError("line 1 is not YAML")))
    assert found.problems == ("The HostedNetServices of the administrator is not used: line 1 is not YAML",)


async def test_what_did_not_change_is_judged_once_and_what_did_again() -> None:
    """A cluster of ten thousand nodes is not read again with every look."""
    caches = FakeCaches({"nodes": cached([NODE])})
    disk = OnDisk(caches, FakeApiInt(), OPTIONS)
    first = await disk.judged("m0", FACTS, SNAPSHOT)
    assert await disk.judged("m0", FACTS, SNAPSHOT) is first
    caches.write("nodes", cached([]))
    assert (await disk.judged("m0", FACTS, SNAPSHOT)).inputs.nodes == ()
    caches.write("nodes", b"torn")
    assert (await disk.judged("m0", FACTS, SNAPSHOT)).problems
    moved = Snapshot(links=(Link(3, "eth1"),), addresses=(Address(NODE_IP, 24, "eth1"),))
    assert (await disk.judged("m0", FACTS, moved)).inputs.here.places[Family.IPV4].link == "eth1"


async def test_what_becomes_unusable_is_named_and_what_it_said_last_stays() -> None:
    """A cache that is torn, a file that is no YAML any more, and one whose spec contradicts itself."""
    caches = FakeCaches({"nodes": cached([NODE])}, filed=RESOURCE)
    disk = OnDisk(caches, FakeApiInt(), OPTIONS)
    good = await disk.judged("m0", FACTS, SNAPSHOT)
    assert good.problems == ()
    caches.write("nodes", cached([NODE])[:-3])
    caches.filed = ValueError("line 1 is not YAML")
    torn = await disk.judged("m0", FACTS, SNAPSHOT)
    assert len(torn.problems) == 2
    assert torn.plan == good.plan
    caches.filed = RESOURCE | {"spec": {"apiintIpAddress": "192.0.2.99", "dns": {"apiintIpAddress": "192.0.2.98"}}}
    contradicting = await disk.judged("m0", FACTS, SNAPSHOT)
    assert "HostedNetServices (file) is not used: spec.apiintIpAddress and" in " ".join(contradicting.problems)
    assert contradicting.plan.api_int.addresses == (ip_address("192.0.2.99"),)
    caches.filed = None
    assert (await disk.judged("m0", FACTS, SNAPSHOT)).plan.api_int.addresses == OPTIONS.api_vips


async def test_ten_thousand_nodes_hold_the_loop_for_a_fifth_of_a_second_at_most() -> None:
    """They are judged in a thread; nodenetd answers on the bus meanwhile."""
    addresses = ([{"type": "InternalIP", "address": f"10.{n >> 8}.{n & 255}.1"}] for n in range(10_000))
    nodes = [{"metadata": {"name": f"node-{n}"}, "status": {"addresses": of}} for n, of in enumerate(addresses)]
    content = cached(nodes)
    began, all_began = time.thread_time(), time.process_time()
    found = await look(FakeCaches({"nodes": content}))
    busy, everything = time.thread_time() - began, time.process_time() - all_began
    assert len(found.inputs.nodes) == 10_000
    assert busy < min(0.2, everything / 2), "the thread of the loop has done the work itself"
