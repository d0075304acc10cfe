"""Which of the eligible addresses is the best node IP?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from core.node_ip.test_choice import host
from node_ip_cases import CASES, read_case
from nodenet.core.kernel.iproute import from_document
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.node_ip.policy import Policy, parse_value
from nodenet.core.node_ip.ranking import (
    KEY_NAMES,
    Path,
    Ranked,
    best_first,
    exact_hints,
    names_below,
    ranked,
    surroundings,
    vip_lengths,
)
from nodenet.core.node_ip.rules import cases
from nodenet.core.node_ip.select import Selection

TWO = from_document(host(("eth0", "10.0.0.5", 100), ("eth1", "192.0.2.5", 100)))


def places(snapshot: Snapshot, policy: Policy = Policy()) -> list[Ranked]:  # noqa: B008
    around = surroundings(snapshot, policy)
    return sorted((ranked(case, around) for case in cases(snapshot, policy, frozenset())), key=best_first)


def first(snapshot: Snapshot, policy: Policy = Policy()) -> str:  # noqa: B008
    return str(places(snapshot, policy)[0].address.address)


def hinted(text: str) -> Policy:
    return Policy(hints=parse_value(text, "a test").hints)


def test_a_hint_outranks_a_vip_and_a_vip_the_default_route() -> None:
    with_vip = Policy(api_vips=(ip_address("192.0.2.2"),))
    assert [place.path for place in places(TWO, with_vip)] == [Path.VIP, Path.DEFAULT_ROUTE]
    assert first(TWO, with_vip) == "192.0.2.5"
    assert first(TWO, hinted("eth0")) == "10.0.0.5"
    assert [place.path for place in places(TWO, hinted("10.0.0.0/24"))] == [Path.HINT, Path.DEFAULT_ROUTE]


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ((("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50)), "198.51.100.5"),  # metric
        ((("eth0", "10.0.0.5", 100), ("eth1", "192.0.2.5", 100)), "10.0.0.5"),  # link index, before public
    ],
)
def test_the_tuple_decides_from_its_first_place_on(rows: tuple[tuple[str, str, int], ...], best: str) -> None:
    assert first(from_document(host(*rows))) == best


def test_every_place_of_the_tuple_has_a_name() -> None:
    assert {len(place.key) for place in places(TWO)} == {len(KEY_NAMES)}


def test_a_hint_that_is_an_address_of_this_host_means_it_alone() -> None:
    (hint,) = parse_value("192.0.2.5", "a test").hints
    assert exact_hints(Policy(hints=(hint,)), [ip_address("192.0.2.5")]) == {hint}
    assert exact_hints(Policy(hints=(hint,)), [ip_address("192.0.2.6")]) == frozenset()


def test_a_full_length_ipv6_address_has_the_subnets_of_router_advertisements() -> None:
    document = host(("eth0", "2001:db8::5", 100))
    document["addresses"][0]["addr_info"][0]["prefixlen"] = 128  # type: ignore[index]
    document["routes6"] = [{"dst": "2001:db8::/64", "dev": "eth0", "protocol": "ra"}]
    snapshot = from_document(document)
    assert set(vip_lengths(snapshot.addresses[0], surroundings(snapshot, Policy()))) == {64}


UPLINK = Link(2, "eth0", ("enp1s0",), mac="52:54:00:00:00:02", master="ovs-system")
SYSTEM = Link(3, "ovs-system", kind="openvswitch", mac="52:54:00:00:00:03")
BRIDGE = Link(4, "br-ex", kind="openvswitch", mac=UPLINK.mac)
INTEGRATION = Link(5, "br-int", kind="openvswitch", mac="52:54:00:00:00:05")


def test_a_port_of_the_kernel_datapath_is_below_the_bridge_with_its_mac() -> None:
    """The alternative names of the port count, too."""
    other = Link(6, "br-two", kind="openvswitch", mac="52:54:00:00:00:06")
    assert names_below((UPLINK, SYSTEM, BRIDGE, INTEGRATION, other)) == {"br-ex": {"eth0", "enp1s0"}}


def test_a_bridge_with_a_mac_of_its_own_is_over_the_port() -> None:
    """As over a bond with fail_over_mac; never the integration bridge."""
    own = replace(BRIDGE, mac="52:54:00:00:00:99")
    assert names_below((UPLINK, SYSTEM, own, INTEGRATION)) == {"br-ex": {"eth0", "enp1s0"}}


def test_the_userspace_datapath_is_known_by_the_mac_alone() -> None:
    tap = replace(BRIDGE, kind="tun")
    assert names_below((replace(UPLINK, master=None), tap)) == {"br-ex": {"eth0", "enp1s0"}}


def test_ports_of_ports_count() -> None:
    bond = Link(7, "bond0", kind="bond", mac=UPLINK.mac, master="ovs-system")
    port = replace(UPLINK, master="bond0")
    assert names_below((port, bond, SYSTEM, BRIDGE))["br-ex"] == {"bond0", "eth0", "enp1s0"}


def test_a_vrf_is_no_bridge() -> None:
    """A link in it keeps its addresses."""
    vrf = Link(8, "blue", kind="vrf")
    assert names_below((replace(UPLINK, master="blue"), vrf)) == {}


def test_a_loop_of_masters_ends() -> None:
    """The kernel has none, a snapshot may have."""
    one, two = Link(2, "a", kind="bridge", master="b"), Link(3, "b", kind="bridge", master="a")
    assert names_below((one, two)) == {"a": {"b"}, "b": {"a"}}


@pytest.mark.parametrize("case", ["br-ex", "br-ex-userspace", "bond-below-br-ex"])
def test_a_hint_for_a_link_means_the_bridge_over_it(case: str) -> None:
    """Hint = "eth0" with hint_required, in a later boot, where br-ex has the address; no note either (R20)."""
    chosen: Selection = read_case(CASES / f"hint-link-below-{case}").selection()
    assert (chosen.link, chosen.notes) == ("br-ex", ())
    assert chosen.selected[0].rule == "hint"
