"""The leases and gateways that a node file asks for are looked for after its apply, and waited for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network

import pytest

from fakes import FakeKernel, FakeProbe, stage_edges
from nodenet.core.apply.intent import ROLLBACK_SECONDS
from nodenet.core.errors import Unavailable
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.network_manager.state import KEPT_SECONDS, LeaseMark
from nodenet.core.node_file.content import Desired, parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.links import Demands, Lease
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.probes import DAD_SECONDS, FORWARD_SECONDS, LEASE_SECONDS, Probes
from nodenet.stages.apply.probing import Probing
from probes_rig import GATEWAY, OFFLINE, ONLINE, SECONDS, SERVER, WISH, Rig, file, probed, timed

ROUTER, BESIDE, STATIC6 = ip_address("fe80::1"), ip_address("198.51.100.1"), ip_address("2001:db8::5")
DEFAULT6 = Route(ip_network("::/0"), (NextHop("eth0", ROUTER),))
SECOND = Route(ip_network("0.0.0.0/0"), (NextHop("eth1", BESIDE),), metric=101)
OWN6 = Address(ip_address("2001:db8::9"), 64, "eth0")
DUAL = replace(ONLINE, addresses=(*ONLINE.addresses, OWN6), routes=(*ONLINE.routes, DEFAULT6))
TWO_NICS = replace(
    ONLINE,
    links=(*ONLINE.links, Link(3, "eth1")),
    addresses=(*ONLINE.addresses, Address(ip_address("198.51.100.9"), 24, "eth1")),
    routes=(replace(ONLINE.routes[0], metric=100), SECOND),
)
LEASED = replace(
    WISH, demands=Demands(frozenset({("eth0", Family.IPV4)}), leases=frozenset({Lease("eth0", Family.IPV4)}))
)
ADDRESS = ip_address("192.0.2.9")
STAYS_SECONDS = 15.0
BEFORE, GIVEN_UP, NEW = (LeaseMark(ADDRESS, *each) for each in (("1", "0"), ("2", "0"), ("2", "1")))
"""What NetworkManager shows before an apply, after it, and once a server has answered."""


def rig_of(snapshot: Snapshot) -> Rig:
    rig = Rig(FakeKernel(snapshot))
    rig.neighbours.there |= {ROUTER, BESIDE}
    rig.profiles.marks = {"eth0": BEFORE}
    return rig


def applied(rig: Rig, wish: Desired, after: Snapshot, *, then: Snapshot | None = None, seconds: float = 3.0) -> float:
    """Apply a file that makes the network *after*, and *then* some *seconds* later; return how long its probes took."""

    def change() -> None:
        rig.kernel.now = after
        if then:
            asyncio.get_running_loop().call_later(seconds, setattr, rig.kernel, "now", then)

    return timed(probed(Probing(rig.probes, file("d"), wish, proven=False), change))


def leased(rig: Rig, seconds: float, changes: int = 0) -> float:
    """Apply a file that asks for a lease; the server gives it after so many *seconds*. Return how long that took.

    The address from before stays on the link for 15 s, and NetworkManager shows its lease for good.
    """

    def change() -> None:
        loop = asyncio.get_running_loop()
        there = replace(ONLINE, links=(replace(ONLINE.links[0], carrier_changes=changes),))
        rig.kernel.now = there
        rig.profiles.marks = {"eth0": GIVEN_UP}
        if seconds > STAYS_SECONDS:
            loop.call_later(STAYS_SECONDS, setattr, rig.kernel, "now", replace(there, addresses=(), routes=()))
            loop.call_later(seconds, setattr, rig.kernel, "now", there)
        loop.call_later(seconds, setattr, rig.profiles, "marks", {"eth0": NEW})

    return timed(probed(Probing(rig.probes, file("d"), LEASED, proven=False), change))


def test_a_lease_counts_when_network_manager_holds_it() -> None:
    """Not while its address is on the link: the gateway answers there for the 15 s after the lease was given up."""
    with pytest.raises(ProbeFailed, match="eth0 got no IPv4 address, which the node file asks for"):
        leased(rig_of(ONLINE), 300.0)
    rig = rig_of(ONLINE)
    assert timed(probed(Probing(rig.probes, file("d"), LEASED, proven=False))) < 1, "it was not asked for again"


def test_a_lease_that_came_between_the_probes_and_the_apply_is_none_after_it() -> None:
    """NetworkManager activated eth0 while the gateway was asked: the apply drops the lease that came meanwhile."""
    rig = rig_of(ONLINE)
    rig.neighbours.late[GATEWAY] = 2.0
    rig.profiles.marks = {"eth0": replace(BEFORE, address=None)}

    async def story() -> None:
        asyncio.get_running_loop().call_later(1.0, setattr, rig.profiles, "marks", {"eth0": replace(BEFORE, given="1")})
        probing = Probing(rig.probes, file("d"), LEASED, proven=False)
        await probing.begin()
        rig.profiles.marks = {"eth0": replace(GIVEN_UP, given="1")}
        asyncio.get_running_loop().call_later(STAYS_SECONDS, setattr, rig.kernel, "now", replace(ONLINE, addresses=()))
        await probing.accept()

    with pytest.raises(ProbeFailed, match="eth0 got no IPv4 address, which the node file asks for"):
        timed(story)


def test_an_address_that_was_given_up_is_waited_out_where_nothing_is_demanded() -> None:
    """No gateway answered before, as on an isolated network: the file is kept, once no such address can be selected."""
    rig = rig_of(OFFLINE)
    rig.neighbours.there.clear()

    def change() -> None:
        rig.profiles.marks = {"eth0": GIVEN_UP}
        gone = replace(OFFLINE, addresses=())
        asyncio.get_running_loop().call_later(STAYS_SECONDS, setattr, rig.kernel, "now", gone)

    took = timed(probed(Probing(rig.probes, file("d"), LEASED, proven=False), change))
    assert STAYS_SECONDS <= took < KEPT_SECONDS + 1


@pytest.mark.parametrize("seconds", [2.6, 16.0, 20.0, 44.0, 50.0])
def test_a_slow_relay_is_waited_for_as_long_as_network_manager_asks(seconds: float) -> None:
    assert seconds < leased(rig_of(ONLINE), seconds) < seconds + 2


def test_a_port_that_learns_and_dhcp_behind_it_are_waited_for_together() -> None:
    """LACP, spanning tree, and the pauses of DHCP."""
    assert 88 < leased(rig_of(ONLINE), 88.0, changes=2) < 91
    with pytest.raises(ProbeFailed, match="eth0 got no IPv4 address"):
        leased(rig_of(ONLINE), 100.0, changes=2)
    assert LEASE_SECONDS + FORWARD_SECONDS + 30 < ROLLBACK_SECONDS, "NetworkManager must not roll back meanwhile"


def test_with_a_late_lease_the_gateway_gets_its_time() -> None:
    """It is asked over the new address: what answered over the old one says nothing."""
    rig = rig_of(ONLINE)

    def change() -> None:
        loop = asyncio.get_running_loop()
        rig.profiles.marks = {"eth0": GIVEN_UP}
        loop.call_later(STAYS_SECONDS, setattr, rig.kernel, "now", OFFLINE)
        loop.call_later(20, setattr, rig.kernel, "now", ONLINE)
        loop.call_later(20, setattr, rig.profiles, "marks", {"eth0": NEW})
        loop.call_later(20, rig.neighbours.there.discard, GATEWAY)

    with pytest.raises(ProbeFailed, match=r"the gateway 192\.0\.2\.1 does not answer on eth0"):
        timed(probed(Probing(rig.probes, file("d"), LEASED, proven=False), change))


def test_a_network_manager_that_does_not_answer_is_no_success() -> None:
    rig = rig_of(ONLINE)
    rig.profiles.broken = Unavailable("NetworkManager does not answer")
    with pytest.raises(Unavailable):
        timed(probed(Probing(rig.probes, file("d"), LEASED, proven=False)))


def test_the_settings_say_which_families_count() -> None:
    edges = stage_edges()
    assert Probes.of(edges, Settings()).scope.families == set()
    assert Probes.of(edges, Settings(families=("ipv4",))).scope.families == {Family.IPV4}
    vips = Settings(api_vips=(ip_address("2001:db8::7"),), ingress_vips=(ip_address("2001:db8::8"),))
    assert Probes.of(edges, vips).scope.families == {Family.IPV6}
    rig = rig_of(DUAL)
    assert applied(rig, LEASED, replace(DUAL, routes=ONLINE.routes)) < 1
    rig.kernel.now = DUAL
    rig.probes.scope = replace(rig.probes.scope, families=frozenset(Family))
    with pytest.raises(ProbeFailed, match="the node has no IPv6 default route any more"):
        applied(rig, LEASED, replace(DUAL, routes=ONLINE.routes))


def test_a_wrong_vlan_beside_another_nic_with_a_default_route() -> None:
    """No lease on eth0, and the network of eth1 answers."""
    after = replace(TWO_NICS, addresses=TWO_NICS.addresses[1:], routes=(SECOND,))
    rig = rig_of(TWO_NICS)

    def change() -> None:
        rig.kernel.now, rig.profiles.marks = after, {"eth0": GIVEN_UP}

    with pytest.raises(ProbeFailed, match="eth0 got no IPv4 address, which the node file asks for"):
        timed(probed(Probing(rig.probes, file("d"), LEASED, proven=False), change))


def test_a_file_that_identifies_a_nic_by_its_mac_address_is_compared_with_that_nic() -> None:
    """Its name in the file is that of the profile: neither a lost carrier nor a lost lease was seen."""
    mac = "52:54:00:00:00:01"
    keys = f'name: primary, identifier: mac-address, mac-address: "{mac}"'
    text = f"interfaces: [{{{keys}, ipv4: {{enabled: true, dhcp: true}}}}]\n"
    wish = parse(NodeFile("worker-0.yml", text, "d"))
    nic = replace(TWO_NICS.links[0], mac=mac)
    before = replace(TWO_NICS, links=(nic, TWO_NICS.links[1]))
    rig = rig_of(before)

    def change() -> None:
        rig.kernel.now = replace(before, links=(replace(nic, carrier=False), TWO_NICS.links[1]))
        rig.profiles.marks = {}

    with pytest.raises(ProbeFailed, match="eth0 has no carrier any more; eth0 got no IPv4 address"):
        timed(probed(Probing(rig.probes, file("d"), wish, proven=False), change))


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
