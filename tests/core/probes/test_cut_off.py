"""Which networks a node file may make, and which cost the node its way out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_interface, ip_network

import pytest

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.probes.questions import Answer, Look, Scope, known, look_at, on_host, questions
from nodenet.core.probes.verdict import Verdict, verdict

V4, V6 = Family.IPV4, Family.IPV6
ETH0, ETH1 = Link(2, "eth0"), Link(3, "eth1")


def address(text: str, link: str) -> Address:
    return Address(ip_interface(text).ip, ip_interface(text).network.prefixlen, link)


def route(to: str, *hops: tuple[str, str], metric: int = 100, table: str = "main") -> Route:
    return Route(
        ip_network(to),
        tuple(NextHop(link, ip_address(gateway) if gateway else None) for link, gateway in hops),
        metric,
        table=table,
    )


DEFAULT = route("0.0.0.0/0", ("eth0", "192.0.2.1"))
RA = route("::/0", ("eth0", "fe80::1"), metric=1024)
DHCP = Snapshot((ETH0, ETH1), (address("192.0.2.9/24", "eth0"),), (DEFAULT,))
WITH_RA = replace(DHCP, addresses=(*DHCP.addresses, address("2001:db8::9/64", "eth0")), routes=(DEFAULT, RA))
ISOLATED = Snapshot((ETH0, ETH1), (address("192.0.2.50/24", "eth0"),))
NIC = "- {{name: {}, type: ethernet, state: up, ipv4: {{{}}}, ipv6: {{{}}}}}\n"
OFF, LEASED, LOCAL = "enabled: false", "enabled: true, dhcp: true", "enabled: true"
STATIC = "enabled: true, dhcp: false, address: [{ip: 192.0.2.50, prefix-length: 24}]"
GATEWAY = "{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0}"
ABSENT = "{destination: 0.0.0.0/0, state: absent, next-hop-interface: eth0}"


def text(interfaces: str, *routes: str) -> str:
    return f"interfaces:\n{interfaces}routes: {{config: [{', '.join(routes)}]}}\n"


@dataclass(frozen=True)
class Case:
    """One apply: the network before and after it, who is silent, and the links that NetworkManager has a lease for."""

    file: str
    before: Snapshot
    after: Snapshot
    silent: tuple[str, ...] = ()
    leased: tuple[str, ...] = ("eth0",)
    required: frozenset[Family] = frozenset()
    scope: Scope = field(default_factory=Scope)
    silent_before: tuple[str, ...] = ()

    def verdict(self) -> Verdict:
        wish = on_host(parse(NodeFile("n.yml", self.file, "d")), self.before.links)
        links = wish.links.existing | wish.links.made

        def look(snapshot: Snapshot, silent: tuple[str, ...]) -> Look:
            asked = questions(snapshot, (), self.scope)
            answers = {each: Answer.NO if each.name in silent else Answer.YES for each in asked}
            return look_at(snapshot, answers | known(snapshot, links), self.scope, self.leased)

        asked = wish.demands.within({"main", *self.scope.tables})
        before = replace(look(self.before, self.silent_before), asked=asked, required=self.required)
        return verdict(before, look(self.after, self.silent))


VLAN = Link(6, "eth1.7", kind="vlan")
PRODUCTION = (
    "- {name: eth1.7, type: vlan, state: up, vlan: {base-iface: eth1, id: 7}, "
    "ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.5, prefix-length: 24}]}}\n"
)
VIA_VLAN = "{destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: eth1.7, metric: 10}"
TABLE_100 = GATEWAY[:-1] + ", table-id: 100}"
ECMP = replace(DHCP, routes=(route("0.0.0.0/0", ("eth0", "192.0.2.1"), ("eth0", "192.0.2.2")),))
BRIDGE = Link(7, "br0", kind="bridge")
SIX = "{destination: '::/0', next-hop-address: '2001:db8::1', next-hop-interface: eth0}"
STATIC6 = "enabled: true, dhcp: false, autoconf: false, address: [{ip: '2001:db8::5', prefix-length: 64}]"

TAKEN = {
    "isolated: no gateway on purpose": Case(text(NIC.format("eth0", STATIC, OFF), ABSENT), DHCP, ISOLATED),
    "isolated, though routers advertise": Case(text(NIC.format("eth0", STATIC, OFF), ABSENT), WITH_RA, ISOLATED),
    "isolated: leases without their gateway": Case(
        text(NIC.format("eth0", LEASED + ", auto-gateway: false", OFF)), DHCP, replace(DHCP, routes=())
    ),
    "two halves in the place of a default route": Case(
        text(
            NIC.format("eth0", STATIC, OFF),
            GATEWAY.replace("0.0.0.0/0", "0.0.0.0/1"),
            GATEWAY.replace("0.0.0.0/0", "128.0.0.0/1"),
        ),
        DHCP,
        replace(ISOLATED, routes=(route("0.0.0.0/1", ("eth0", "192.0.2.1")),)),
    ),
    "VRF for management": Case(
        text(
            "- {name: mgmt, type: vrf, state: up, vrf: {port: [eth0], route-table-id: 100}}\n"
            + NIC.format("eth0", STATIC, OFF),
            TABLE_100,
        ),
        DHCP,
        replace(ISOLATED, routes=(replace(DEFAULT, table="100"),)),
    ),
    "policy routing": Case(
        text(NIC.format("eth0", STATIC, OFF), TABLE_100),
        DHCP,
        replace(ISOLATED, routes=(replace(DEFAULT, table="100"),)),
    ),
    "policy routing, a table that the settings use": Case(
        text(NIC.format("eth0", STATIC, OFF), TABLE_100),
        DHCP,
        replace(ISOLATED, routes=(replace(DEFAULT, table="100"),)),
        scope=Scope(tables=("main", "100")),
    ),
    "/31 between node and switch": Case(
        text(
            NIC.format("eth0", STATIC.replace("192.0.2.50, prefix-length: 24", "198.51.100.0, prefix-length: 31"), OFF),
            GATEWAY.replace("192.0.2.1", "198.51.100.1"),
        ),
        DHCP,
        Snapshot((ETH0,), (address("198.51.100.0/31", "eth0"),), (route("0.0.0.0/0", ("eth0", "198.51.100.1")),)),
    ),
    "/32 with an on-link gateway": Case(
        text(
            NIC.format("eth0", STATIC.replace("24", "32"), OFF),
            "{destination: 203.0.113.1/32, next-hop-interface: eth0}",
            GATEWAY.replace("192.0.2.1", "203.0.113.1"),
        ),
        DHCP,
        Snapshot((ETH0,), (address("192.0.2.50/32", "eth0"),), (route("0.0.0.0/0", ("eth0", "203.0.113.1")),)),
    ),
    "IPv6 link-local gateway, IPv6 alone": Case(
        text(NIC.format("eth0", OFF, STATIC6), SIX.replace("2001:db8::1", "fe80::1")),
        WITH_RA,
        Snapshot((ETH0,), (address("2001:db8::5/64", "eth0"),), (RA,)),
    ),
    "IPv6 without autoconf on a LAN with router advertisements": Case(
        text(NIC.format("eth0", LEASED, LOCAL)), WITH_RA, DHCP
    ),
    "IPv6 of a service network without a gateway, a router advertised": Case(
        text(NIC.format("eth0", LEASED, STATIC6)), WITH_RA, DHCP
    ),
    "IPv6 gateway that is not there yet": Case(
        text(NIC.format("eth0", LEASED, STATIC6), SIX),
        DHCP,
        replace(DHCP, routes=(DEFAULT, route("::/0", ("eth0", "2001:db8::1")))),
        silent=("2001:db8::1",),
    ),
    "one of two routers is away": Case(
        text("- {name: eth0, type: ethernet, mtu: 1500}\n"), ECMP, ECMP, silent=("192.0.2.2",)
    ),
    "a bridge loses its last port on purpose": Case(
        text("- {name: br0, type: linux-bridge, state: up, bridge: {port: []}}\n" + NIC.format("eth0", LEASED, OFF)),
        replace(DHCP, links=(ETH0, replace(ETH1, master="br0"), BRIDGE)),
        replace(DHCP, links=(ETH0, ETH1, replace(BRIDGE, carrier=False))),
    ),
    "a second NIC without DHCP": Case(
        text(NIC.format("eth0", LEASED, OFF) + NIC.format("eth1", LEASED, OFF)), DHCP, DHCP
    ),
    "the NIC of the installation is switched off": Case(
        text("- {name: eth0, type: ethernet, state: down}\n" + PRODUCTION, VIA_VLAN),
        DHCP,
        Snapshot(
            (ETH1, VLAN), (address("198.51.100.5/24", "eth1.7"),), (route("0.0.0.0/0", ("eth1.7", "198.51.100.1")),)
        ),
    ),
    "a storage network beside the uplink": Case(text(PRODUCTION), DHCP, replace(DHCP, links=(ETH0, ETH1, VLAN))),
    "a point-to-point link": Case(
        text(NIC.format("eth0", STATIC, OFF), "{destination: 0.0.0.0/0, next-hop-interface: eth0}"),
        DHCP,
        replace(ISOLATED, routes=(route("0.0.0.0/0", ("eth0", "")),)),
    ),
    "nothing answered before": Case(
        text(NIC.format("eth0", STATIC, OFF), GATEWAY),
        DHCP,
        DHCP,
        silent=("192.0.2.1",),
        silent_before=("192.0.2.1",),
    ),
}


@pytest.mark.parametrize("case", TAKEN.values(), ids=TAKEN)
def test_networks_of_data_centres_are_taken(case: Case) -> None:
    assert case.verdict().failed == ()


ANSWERED = "and the gateway 192.0.2.1 answered before the apply"
NO_LEASE = f"eth0 got no IPv4 address, which the node file asks for, {ANSWERED}"
NO_ROUTE = f"the node has no IPv4 default route any more, {ANSWERED}"
SECOND = replace(
    DHCP,
    addresses=(*DHCP.addresses, address("198.51.100.9/24", "eth1")),
    routes=(DEFAULT, route("0.0.0.0/0", ("eth1", "198.51.100.1"), metric=101)),
)
REFUSED = {
    "the gateway does not answer": (
        Case(text(NIC.format("eth0", STATIC, OFF), GATEWAY), DHCP, DHCP, silent=("192.0.2.1",)),
        "the gateway 192.0.2.1 does not answer on eth0, and it answered before the apply",
    ),
    "a wrong gateway": (
        Case(
            text(NIC.format("eth0", STATIC, OFF), GATEWAY.replace("2.1", "2.254")),
            DHCP,
            replace(DHCP, routes=(route("0.0.0.0/0", ("eth0", "192.0.2.254")),)),
            silent=("192.0.2.254",),
        ),
        f"the gateway 192.0.2.254 does not answer on eth0, {ANSWERED}",
    ),
    "a forgotten route": (Case(text(NIC.format("eth0", STATIC, OFF)), DHCP, ISOLATED), NO_ROUTE),
    "static routes alone": (
        Case(
            text(NIC.format("eth0", STATIC, OFF), GATEWAY.replace("0.0.0.0/0", "10.0.0.0/8")),
            DHCP,
            replace(ISOLATED, routes=(route("10.0.0.0/8", ("eth0", "192.0.2.1")),)),
        ),
        NO_ROUTE,
    ),
    "a forgotten route on a LAN with router advertisements": (
        Case(text(NIC.format("eth0", STATIC, LOCAL)), WITH_RA, replace(ISOLATED, routes=(RA,))),
        NO_ROUTE,
    ),
    "a wrong gateway on a LAN with router advertisements": (
        Case(
            text(NIC.format("eth0", STATIC, "enabled: true, autoconf: true"), GATEWAY.replace("2.1", "2.254")),
            WITH_RA,
            replace(WITH_RA, routes=(route("0.0.0.0/0", ("eth0", "192.0.2.254")), RA)),
            silent=("192.0.2.254",),
        ),
        f"the gateway 192.0.2.254 does not answer on eth0, {ANSWERED}",
    ),
    "a lease that NetworkManager has given up, its address still there": (
        Case(text(NIC.format("eth0", LEASED, OFF)), DHCP, DHCP, leased=()),
        NO_LEASE,
    ),
    "no lease, and another network's gateway answers": (
        Case(
            text(NIC.format("eth0", LEASED, OFF)),
            SECOND,
            replace(SECOND, addresses=SECOND.addresses[1:], routes=SECOND.routes[1:]),
            leased=("eth1",),
        ),
        NO_LEASE,
    ),
    "no lease on the VLAN in the place of the link": (
        Case(
            text(
                NIC.format("eth0", OFF, OFF)
                + "- {name: eth0.7, type: vlan, vlan: {base-iface: eth0, id: 7}, ipv4: {enabled: true, dhcp: true}}\n"
            ),
            DHCP,
            Snapshot((ETH0, replace(VLAN, name="eth0.7"))),
            leased=(),
        ),
        NO_LEASE.replace("eth0", "eth0.7"),
    ),
    "a family that the settings name": (
        Case(text(NIC.format("eth0", LEASED, LOCAL)), WITH_RA, DHCP, required=frozenset(Family)),
        "the node has no IPv6 default route any more, and the gateway fe80::1 answered before the apply",
    ),
    "a file without addresses": (
        Case(text("- {name: eth0, type: ethernet, mtu: 1400}\n"), DHCP, ISOLATED),
        NO_ROUTE.replace("IPv4 ", ""),
    ),
}


@pytest.mark.parametrize(("case", "said"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_costs_the_node_its_way_out_is_not(case: Case, said: str) -> None:
    assert case.verdict().failed == (said,)


def test_a_lease_that_is_missing_may_still_come() -> None:
    assert REFUSED["a lease that NetworkManager has given up, its address still there"][0].verdict().lease
    assert not REFUSED["a wrong gateway"][0].verdict().lease


def test_the_remedy_is_the_line_that_says_it_is_meant() -> None:
    """Where the file names no gateway: with the line it is taken."""
    for name in ("a forgotten route", "static routes alone"):
        failure = REFUSED[name][0].verdict().failure
        assert failure is not None
        line = "`- {destination: 0.0.0.0/0, state: absent, next-hop-interface: NAME}` below `routes: config:`"
        assert line in str(failure.remedy)
        case = REFUSED[name][0]
        assert replace(case, file=case.file.replace("config: [", f"config: [{ABSENT}, ")).verdict().failed == ()
    other = REFUSED["a wrong gateway"][0].verdict().failure
    assert other is not None
    assert "absent" not in str(other.remedy)


@pytest.mark.parametrize("file", [TAKEN, REFUSED])
def test_no_verdict_depends_on_a_router_advertisement_before_the_look(file: dict[str, object]) -> None:
    """A file with IPv4 addresses, where the settings name no family."""
    for case in (each[0] if isinstance(each, tuple) else each for each in file.values()):
        assert isinstance(case, Case)
        if "ipv4: {enabled: true" in case.file and not case.required:
            late = replace(case, before=replace(case.before, routes=tuple(r for r in case.before.routes if r != RA)))
            early = replace(case, before=replace(late.before, routes=(*late.before.routes, RA)))
            assert late.verdict().failed == early.verdict().failed


def test_a_proven_file_is_rolled_back_for_what_answered_before_alone() -> None:
    case = REFUSED["a wrong gateway"][0]
    before = look_at(case.before, dict.fromkeys(questions(case.before, (), Scope()), Answer.YES), Scope())
    gone = look_at(case.after, dict.fromkeys(questions(case.after, (), Scope()), Answer.NO), Scope())
    silent = look_at(case.before, dict.fromkeys(questions(case.before, (), Scope()), Answer.NO), Scope())
    assert verdict(replace(before, proven=True), gone).failed == ()
    assert verdict(replace(before, proven=True), silent).failed != ()


def test_after_an_interruption_any_gateway_will_do() -> None:
    """What answers before the second apply may be what the first one left."""
    before = replace(look_at(DHCP, {}, Scope()), had_gateway=True)
    nothing = look_at(DHCP, dict.fromkeys(questions(DHCP, (), Scope()), Answer.NO), Scope())
    there = look_at(DHCP, dict.fromkeys(questions(DHCP, (), Scope()), Answer.YES), Scope())
    said = "the gateway 192.0.2.1 does not answer on eth0, and one answered when the node last worked"
    assert verdict(before, nothing).failed == (said,)
    assert verdict(before, there).failed == ()
