"""What holds for every snapshot and policy, not only for those somebody thought of?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from random import Random
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from node_ip_cases import shuffled
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.iproute import from_document, to_document
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Hint, Policy, parse_value
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Verdict, select

NAMES = ("lo", "eth0", "eth1", "br-ex", "docker0")
IPV4 = [ip_address(text) for text in ("192.0.2.5", "192.0.2.9", "198.51.100.5", "10.0.0.5", "169.254.1.1", "127.0.0.1")]
IPV6 = [ip_address(text) for text in ("2001:db8::5", "2001:db8::9", "fd00::5", "fd69::2", "fe80::1", "::1")]
LIFETIMES = st.sampled_from([None, 0, 600])


@st.composite
def links(draw: st.DrawFn) -> tuple[Link, ...]:
    """Draw links with distinct names and indices."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    return tuple(
        Link(
            index=index,
            name=name,
            up=draw(st.integers(0, 9)) > 0,
            carrier=draw(st.integers(0, 9)) > 0,
            loopback=name == "lo",
            mac=f"52:54:00:00:00:0{index}",
            altnames=draw(st.sampled_from([(), (f"alt-{name}",)])),
            permanent_mac=draw(st.sampled_from([None, "52:54:00:00:00:ff"])),
            master=draw(st.sampled_from([None, None, "br-ex"])),
        )
        for index, name in enumerate(names, 1)
    )


@st.composite
def addresses(draw: st.DrawFn, names: Sequence[str]) -> Address:
    """Draw an address on one of the links."""
    value: IPAddress = draw(st.sampled_from(IPV4 + IPV6))
    shorter = st.sampled_from([8, 24, 32] if value.version == 4 else [64, 112, 128])
    return Address(
        address=value,
        prefix_length=draw(shorter),
        link=draw(st.sampled_from(names)),
        label=draw(st.sampled_from(["eth0", "eth0:eip", "vip", None])) if value.version == 4 else None,
        flags=draw(st.sets(st.sampled_from(AddressFlag), max_size=2).map(frozenset)),
        valid_lifetime=draw(LIFETIMES),
        preferred_lifetime=draw(LIFETIMES),
    )


@st.composite
def routes(draw: st.DrawFn, names: Sequence[str]) -> Route:
    """Draw a route, mostly a default one."""
    six = draw(st.booleans())
    destination: IPv4Network | IPv6Network = ip_network("::/0" if six else "0.0.0.0/0")
    if draw(st.integers(0, 4)) == 0:
        destination = ip_network("2001:db8::/64" if six else "192.0.2.0/24")
    kind = draw(st.sampled_from(["unicast", "unicast", "unicast", "unreachable"]))
    gateway = st.sampled_from([None, *(IPV6 if six else IPV4)])
    hop = st.builds(NextHop, st.sampled_from(names), gateway)
    return Route(
        destination=destination,
        next_hops=tuple(draw(st.lists(hop, min_size=1, max_size=3))) if kind == "unicast" else (),
        metric=draw(st.sampled_from([0, 48, 100, 1024])),
        table=draw(st.sampled_from(["main", "main", "100"])),
        protocol=draw(st.sampled_from(["ra", "dhcp"])),
        kind=kind,
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Draw a host."""
    its_links = draw(links())
    names = [link.name for link in its_links]
    if not names:
        return Snapshot()
    its_addresses = draw(st.lists(addresses(names), max_size=8, unique_by=lambda a: (a.address, a.link)))
    its_routes = draw(st.lists(routes(names), max_size=5))
    return Snapshot(its_links, tuple(its_addresses), tuple(its_routes))


def _hint(meaning: Any) -> Hint:
    return Hint(str(meaning), "here", meaning)


MEANINGS = [*IPV4, *IPV6, ip_network("192.0.2.0/24"), ip_network("2001:db8::/32"), "eth1", "alt-eth0"]
VIPS = st.lists(st.sampled_from(IPV4 + IPV6), max_size=2).map(tuple)
POLICIES = st.builds(
    Policy,
    api_vips=VIPS,
    ingress_vips=VIPS,
    hints=st.lists(st.sampled_from(MEANINGS).map(_hint), max_size=2, unique=True).map(tuple),
    hint_required=st.booleans(),
    families=st.sampled_from(["auto", (Family.IPV4,), (Family.IPV6, Family.IPV4), (Family.IPV4, Family.IPV6)]),
    prefer_ipv6=st.booleans(),
    network_type=st.sampled_from(["OVNKubernetes", "Calico"]),
    platform=st.sampled_from(["none", "baremetal"]),
)
STICKIES = st.one_of(
    st.none(),
    st.builds(
        LastPublished,
        st.lists(st.sampled_from(IPV4 + IPV6), min_size=1, max_size=2, unique=True).map(tuple),
        st.just("52:54:00:00:00:02"),
        st.just("boot"),
        st.booleans(),
    ),
)


@given(snapshots(), POLICIES, STICKIES, st.randoms(use_true_random=False))
def test_order_does_not_matter(
    snapshot: Snapshot, policy: Policy, sticky: LastPublished | None, chance: Random
) -> None:
    one, other = select(shuffled(snapshot, chance), policy, sticky), select(snapshot, policy, sticky)
    assert one == other
    assert one.candidates == other.candidates


@given(snapshots(), POLICIES, STICKIES)
def test_a_node_ip_is_on_the_host_and_can_be_one(
    snapshot: Snapshot, policy: Policy, sticky: LastPublished | None
) -> None:
    selection = select(snapshot, policy, sticky)
    present = {address.address for address in snapshot.addresses}
    for address in selection.node_ips:
        assert address in present
        assert address not in policy.vips
        assert not address.is_link_local
        assert not address.is_loopback
    versions = [address.version for address in selection.node_ips]
    assert len(set(versions)) == len(versions)


@given(snapshots(), POLICIES, STICKIES)
def test_every_address_has_one_verdict(snapshot: Snapshot, policy: Policy, sticky: LastPublished | None) -> None:
    selection = select(snapshot, policy, sticky)
    told = sorted((int(item.address), item.link) for item in selection.candidates)
    assert told == sorted((int(address.address), address.link) for address in snapshot.addresses)
    selected = [item.address for item in selection.candidates if item.verdict is Verdict.SELECTED]
    assert tuple(selected) == selection.node_ips
    assert (selection.link is None) is (not selection.node_ips)
    assert selection.node_ips or selection.waiting


@given(snapshots(), POLICIES, st.data())
def test_a_rejected_candidate_changes_no_other_verdict(snapshot: Snapshot, policy: Policy, data: st.DataObject) -> None:
    """A hint may name the new address exactly, and then no longer means the subnet around it: left out here."""
    assume(snapshot.links)
    extra = data.draw(addresses([link.name for link in snapshot.links]))
    assume(all(hint.meaning != extra.address for hint in policy.hints))
    assume(all(address.address != extra.address for address in snapshot.addresses))
    after = select(replace(snapshot, addresses=(*snapshot.addresses, extra)), policy)
    own = next(item for item in after.candidates if item.address == extra.address)
    assume(own.verdict is Verdict.REJECTED)
    others = tuple(item for item in after.candidates if item is not own)
    assert others == select(snapshot, policy).candidates


@given(snapshots(), POLICIES)
def test_what_is_not_bindable_makes_way_until_nothing_is_left(snapshot: Snapshot, policy: Policy) -> None:
    unbindable: set[IPAddress] = set()
    while chosen := select(snapshot, policy, unbindable=frozenset(unbindable)).node_ips:
        assert not unbindable & set(chosen)
        unbindable |= set(chosen)


ON_TWO_LINKS = Snapshot(
    (Link(1, "lo", carrier=False, loopback=True), Link(2, "eth0")),
    (Address(IPV4[0], 8, "lo"), Address(IPV6[0], 64, "eth0"), Address(IPV4[0], 8, "eth0")),
)


@example(ON_TWO_LINKS, Policy(hints=parse_value("192.0.2.5", "policy.toml").hints))
@given(snapshots(), POLICIES)
def test_a_reboot_changes_nothing(snapshot: Snapshot, policy: Policy) -> None:
    """What was selected, kept as the record, is selected again."""
    first = select(snapshot, policy)
    record = LastPublished(first.node_ips, None, "boot")
    for sticky in (record, replace(record, this_boot=True)):
        again = select(snapshot, policy, sticky)
        assert again.node_ips == first.node_ips
        assert Rule.STICKY not in {item.rule for item in again.candidates}


@settings(max_examples=200)
@given(snapshots())
def test_a_snapshot_survives_being_written_down(snapshot: Snapshot) -> None:
    again = from_document(to_document(snapshot))
    assert again.links == snapshot.links
    assert set(again.addresses) == set(snapshot.addresses)
    assert sorted(map(repr, again.routes)) == sorted(map(repr, snapshot.routes))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**128 - 1), st.integers(0, 32))
def test_rules_judge_any_address(four: int, six: int, length: int) -> None:
    link = Link(2, "eth0")
    found = (Address(IPv4Address(four), length, "eth0"), Address(IPv6Address(six), length * 4, "eth0"))
    select(Snapshot((link,), found), Policy(api_vips=(IPv4Address(four ^ 1),)))
