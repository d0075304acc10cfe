"""Each family and each lease that led out of the node is looked for after an apply, and waited for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network

import pytest

from fakes import FakeKernel, FakeProbe, stage_edges
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.node_file.content import Desired, parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.ways_out import WaysOut
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.probes import DAD_SECONDS, Probes
from nodenet.stages.apply.probing import Probing
from probes_rig import ONLINE, SECONDS, SERVER, WISH, Rig, file, probed, timed

ROUTER, BESIDE, STATIC6 = ip_address("fe80::1"), ip_address("198.51.100.1"), ip_address("2001:db8::5")
DEFAULT6 = Route(ip_network("::/0"), (NextHop("eth0", ROUTER),))
SECOND = Route(ip_network("0.0.0.0/0"), (NextHop("eth1", BESIDE),), metric=101)
ALL = frozenset(Family)
OWN6 = Address(ip_address("2001:db8::9"), 64, "eth0")
DUAL = replace(ONLINE, addresses=(*ONLINE.addresses, OWN6), routes=(*ONLINE.routes, DEFAULT6))
TWO_NICS = replace(
    ONLINE,
    links=(*ONLINE.links, Link(3, "eth1")),
    addresses=(*ONLINE.addresses, Address(ip_address("198.51.100.9"), 24, "eth1")),
    routes=(replace(ONLINE.routes[0], metric=100), SECOND),
)
KEEPS_BOTH = replace(WISH, ways_out=WaysOut({"eth0": ALL}))
LEASED = replace(WISH, ways_out=WaysOut({"eth0": ALL}, leased={("eth0", Family.IPV4): ("eth0",)}))


def rig_of(snapshot: Snapshot) -> Rig:
    rig = Rig(FakeKernel(snapshot))
    rig.neighbours.there |= {ROUTER, BESIDE}
    return rig


def applied(rig: Rig, wish: Desired, after: Snapshot, *, then: Snapshot | None = None, seconds: float = 3.0) -> float:
    """Apply a file that makes the network *after*, and *then* some *seconds* later; return how long its probes took."""

    def change() -> None:
        rig.kernel.now = after
        if then:
            asyncio.get_running_loop().call_later(seconds, setattr, rig.kernel, "now", then)

    return timed(probed(Probing(rig.probes, file("d"), wish, proven=False), change))


def test_a_file_that_forgets_its_ipv4_routes_on_a_lan_with_router_advertisements() -> None:
    """The gateway of the other family answers; the next boot would have had no node IP."""
    rig = rig_of(DUAL)
    with pytest.raises(ProbeFailed, match=r"the node has no IPv4 default route any more, and 192.0.2.1 answered"):
        applied(rig, KEEPS_BOTH, replace(DUAL, routes=(DEFAULT6,)))
    assert 2.9 < applied(rig, KEEPS_BOTH, replace(DUAL, routes=(DEFAULT6,)), then=DUAL) < 4


def test_a_file_may_end_a_family() -> None:
    """Nothing is waited for."""
    only4 = replace(DUAL, routes=ONLINE.routes)
    assert applied(rig_of(DUAL), replace(WISH, ways_out=WaysOut({"eth0": frozenset({Family.IPV4})})), only4) < 1


def test_the_settings_say_which_families_count() -> None:
    edges = stage_edges()
    assert Probes.of(edges, Settings()).scope.families == ALL
    assert Probes.of(edges, Settings(families=("ipv4",))).scope.families == {Family.IPV4}
    rig = rig_of(DUAL)
    rig.probes.scope = replace(rig.probes.scope, families=frozenset({Family.IPV4}))
    assert applied(rig, KEEPS_BOTH, replace(DUAL, routes=ONLINE.routes)) < 1


def test_a_wrong_vlan_beside_another_nic_with_a_default_route() -> None:
    """No lease on eth0, and the network of eth1 answers; a lease that is only late is waited for."""
    after = replace(TWO_NICS, addresses=TWO_NICS.addresses[1:], routes=(SECOND,))
    with pytest.raises(ProbeFailed, match="eth0 got no IPv4 address, which the node file asks for"):
        applied(rig_of(TWO_NICS), LEASED, after)
    assert 2.9 < applied(rig_of(TWO_NICS), LEASED, after, then=TWO_NICS) < 4


def test_a_file_that_identifies_a_nic_by_its_mac_address_is_compared_with_that_nic() -> None:
    """Its name in the file is that of the profile: neither a lost carrier nor a lost lease was seen."""
    mac = "52:54:00:00:00:01"
    keys = f'name: primary, identifier: mac-address, mac-address: "{mac}"'
    text = f"interfaces: [{{{keys}, ipv4: {{enabled: true, dhcp: true}}}}]\n"
    wish = parse(NodeFile("worker-0.yml", text, "d"))
    nic = replace(TWO_NICS.links[0], mac=mac)
    before = replace(TWO_NICS, links=(nic, TWO_NICS.links[1]))
    with pytest.raises(ProbeFailed, match="eth0 has no carrier any more"):
        applied(rig_of(before), wish, replace(before, links=(replace(nic, carrier=False), TWO_NICS.links[1])))
    with pytest.raises(ProbeFailed, match="eth0 got no IPv4 address, which the node file asks for"):
        applied(rig_of(before), wish, replace(before, addresses=TWO_NICS.addresses[1:], routes=(SECOND,)))


def test_another_host_s_ipv6_address_is_found_when_the_kernel_has_asked() -> None:
    """The other probes answer at once; the check takes a second."""
    wish = replace(WISH, addresses=(("eth0", STATIC6),))
    taken = frozenset({AddressFlag.TENTATIVE, AddressFlag.DAD_FAILED})
    asked, failed, fine = (
        replace(ONLINE, addresses=(*ONLINE.addresses, Address(STATIC6, 64, "eth0", flags=flags)))
        for flags in (frozenset({AddressFlag.TENTATIVE}), taken, frozenset[AddressFlag]())
    )
    with pytest.raises(ProbeFailed, match=f"the address {STATIC6} of eth0 is in use by another host"):
        applied(Rig(), wish, asked, then=failed, seconds=1.0)
    assert 0.9 < applied(Rig(), wish, asked, then=fine, seconds=1.0) < 2
    assert DAD_SECONDS <= applied(Rig(), wish, asked) < DAD_SECONDS + 1 < SECONDS


@dataclass
class LossyProbe(FakeProbe):
    """The first packet to a DNS server is lost."""

    async def answers(self, address: IPAddress, name: str, port: int | None = None) -> bool:
        return await super().answers(address, name, port) and len(self.asked) > 1


def test_a_dns_server_is_asked_twice_before_it_counts_as_silent() -> None:
    """One lost packet made it one that never answered, and the file that cost the node its DNS was kept."""
    rig = Rig(servers=LossyProbe({SERVER}))

    async def story() -> None:
        probing = rig.around()
        await probing.begin()
        rig.servers.servers.clear()
        with pytest.raises(ProbeFailed, match=r"the DNS server 192.0.2.53 does not answer, and it answered before"):
            await probing.accept()

    timed(story)
