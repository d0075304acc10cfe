"""For what does a selection wait although it has an address, and for how long?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Interface, ip_address, ip_network

import pytest

from core.node_ip.test_choice import chosen, host
from nodenet.core.ip import Family
from nodenet.core.kernel.iproute import from_document
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Lease4, Profile
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.patience import ANSWER_SECONDS, MOST_SECONDS, Seen, Wait, rivals, unanswered, wait
from nodenet.core.node_ip.policy import Policy, parse_value
from nodenet.core.node_ip.select import select

ETH0 = Link(2, "eth0", mac="52:54:00:00:00:01")
ETH1 = Link(3, "eth1", mac="52:54:00:00:00:02")
V4, V6 = Address(ip_address("192.0.2.5"), 24, "eth0"), Address(ip_address("2001:db8::5"), 64, "eth0")
OTHER = Address(ip_address("192.0.2.6"), 24, "eth0")
ELSEWHERE = Address(ip_address("198.51.100.5"), 24, "eth1")
RECORD = LastPublished((V4.address,), ETH0.mac, "earlier")
ONLY4 = Policy(families=(Family.IPV4,))


def seen(*addresses: Address, links: tuple[Link, ...] = (ETH0, ETH1), policy: Policy = ONLY4, **given: object) -> Seen:
    """Return what a boot sees that has *addresses*, each with a default route of its family on its link."""
    routes = tuple(
        Route(ip_network("0.0.0.0/0" if item.address.version == 4 else "::/0"), (NextHop(item.link),), 100)
        for item in addresses
    )
    snapshot = Snapshot(links, addresses, routes)
    record = given.get("record")
    assert record is None or isinstance(record, LastPublished)
    return replace(Seen(select(snapshot, policy, record), snapshot, policy), **given)  # type: ignore[arg-type]


def held(address: Address | None, method: str = "auto") -> Inventory:
    """Return what NetworkManager says of eth0: its profile, and the lease that it holds."""
    lease = Lease4(IPv4Interface(f"{address.address}/24")) if address else None
    profile = Profile("u", "eth0", "802-3-ethernet", settings={"ipv4": {"method": method}})
    return Inventory((Device("eth0", "ethernet", profile=profile, lease4=lease),), settled=frozenset({"eth0"}))


# -- the first boot


def test_what_is_complete_is_published_at_once() -> None:
    assert wait(seen(V4)) is None


def test_a_family_that_the_settings_name_is_waited_for() -> None:
    found = wait(seen(V4, policy=Policy(families=(Family.IPV4, Family.IPV6))))
    assert found
    assert found.reason.startswith("IPv6: ")
    assert found.seconds == MOST_SECONDS


def test_a_link_that_network_manager_has_not_settled_is_waited_for() -> None:
    """By its own word, and not for a time that was measured somewhere."""
    found = Inventory(activating=frozenset({"eth0"}), states={"eth0": "getting its IP configuration"})
    state = "NetworkManager: getting its IP configuration"
    assert wait(seen(ELSEWHERE, found=found)) == Wait(f"eth0 may still get a better address ({state})")
    assert wait(seen(ELSEWHERE, found=Inventory(settled=frozenset({"eth0"})))) is None


def test_an_address_in_duplicate_address_detection_is_waited_for() -> None:
    tentative = replace(V4, flags=frozenset({AddressFlag.TENTATIVE}))
    found = wait(seen(tentative, ELSEWHERE))
    assert found == Wait("192.0.2.5 on eth0: duplicate address detection is still running")


@pytest.mark.parametrize(
    ("address", "server", "seconds"),
    [(V4, "an IPv6 router", ANSWER_SECONDS[Family.IPV6]), (V6, "a DHCP server", ANSWER_SECONDS[Family.IPV4])],
    ids=["router", "DHCP server"],
)
def test_a_family_that_nothing_names_has_a_moment_in_the_first_boot_only(
    address: Address, server: str, seconds: float
) -> None:
    link_local = Address(ip_address("fe80::5"), 64, "eth0")
    first = seen(address, link_local, policy=Policy())
    assert wait(first) == Wait(f"no answer from {server} on eth0 yet", seconds)
    assert wait(replace(first, record=replace(RECORD, addresses=(address.address,)))) is None


# -- later boots


@pytest.mark.parametrize(
    ("nic", "state"),
    [
        (ETH0, "eth0 has carrier, no IPv4 address yet (DHCP)"),
        (replace(ETH0, carrier=False), "eth0 has no carrier"),
        (replace(ETH0, up=False), "eth0 is down"),
    ],
)
@pytest.mark.parametrize("starting", [True, False])
def test_the_last_node_ip_is_waited_for_without_a_limit(nic: Link, state: str, *, starting: bool) -> None:
    """As long as its NIC exists, whatever the carrier and NetworkManager's state."""
    found = wait(seen(ELSEWHERE, links=(nic, ETH1), record=RECORD, starting=starting))
    assert found
    assert found.seconds is None
    assert found.reason.startswith("192.0.2.5, the last node IP, to be back")
    assert state in found.reason
    assert found.reason.endswith("`nodenetctl reselect` takes another one")


def test_it_is_published_as_soon_as_it_is_back() -> None:
    """Other links may still start, and another one may have the better metric."""
    starting = Inventory(activating=frozenset({"eth1"}))
    assert wait(seen(V4, ELSEWHERE, record=RECORD, found=starting, starting=True)) is None


def test_the_nic_may_have_another_name() -> None:
    """Its permanent MAC is what counts."""
    renamed = replace(ETH0, name="enp1s0", carrier=False)
    found = wait(seen(ELSEWHERE, links=(renamed, ETH1), record=RECORD))
    assert found
    assert (found.seconds, "enp1s0" in found.reason) == (None, True)


def test_a_nic_that_is_not_there_is_waited_for_a_minute() -> None:
    """A driver may be slow; a NIC that was replaced does not come back."""
    found = wait(seen(ELSEWHERE, links=(ETH1,), record=RECORD))
    missing = "its NIC 52:54:00:00:00:01 is not on this host"
    assert found == Wait(f"192.0.2.5, the last node IP, to be back: {missing}", MOST_SECONDS)


def test_another_lease_of_the_same_nic_is_taken() -> None:
    """Once NetworkManager holds it; and another NIC's address is not preferred to it."""
    both = seen(OTHER, ELSEWHERE, record=RECORD)
    assert both.selection.node_ips == (OTHER.address,)
    assert wait(replace(both, found=held(OTHER))) is None
    for given in (None, V4):  # a static address beside a lease that is to come, or a lease of another address
        found = wait(replace(both, found=held(given)))
        assert found
        assert found.seconds is None


def test_another_static_address_of_the_same_nic_is_taken() -> None:
    assert wait(seen(OTHER, record=RECORD, found=held(None, "manual"))) is None


def test_another_family_does_not_take_its_place() -> None:
    """NetworkManager calls a link activated once it has one family."""
    found = wait(seen(V6, policy=Policy(), record=RECORD, found=held(None)))
    assert found
    assert found.seconds is None


@pytest.mark.parametrize(
    ("hint", "vip", "is_ordered"),
    [
        ("198.51.100.0/24", "", True),
        ("eth1", "", True),
        ("", "198.51.100.100", True),
        ("192.0.2.0/24 198.51.100.0/24", "", False),
        ("eth0 eth1", "", False),
        ("198.51.100.0/24 192.0.2.0/24", "", True),
        ("203.0.113.0/24", "", False),
        ("", "192.0.2.100", False),
    ],
)
def test_a_hint_or_vip_orders_another_one(hint: str, vip: str, *, is_ordered: bool) -> None:
    """But not where the last node IP is asked for as well, or more."""
    policy = replace(ONLY4, hints=parse_value(hint, "test").hints, api_vips=(ip_address(vip),) if vip else ())
    found = wait(seen(ELSEWHERE, policy=policy, record=RECORD))
    assert (found is None or found.seconds is not None) is is_ordered


def test_an_address_that_a_rule_refuses_for_good_is_not_waited_for() -> None:
    """It is a VIP now, or its family is not asked for; one that another host has may be given back."""
    vip = replace(ONLY4, api_vips=(V4.address,))
    for policy in (vip, Policy(families=(Family.IPV6,))):
        found = wait(seen(V6, ELSEWHERE, policy=policy, record=RECORD))
        assert found is None or found.seconds is not None
    refused = replace(V6, flags=frozenset({AddressFlag.DAD_FAILED}))
    found = wait(seen(refused, ELSEWHERE, policy=Policy(), record=replace(RECORD, addresses=(V6.address,))))
    assert found
    assert found.seconds is None


def test_the_second_family_of_the_last_boot_has_a_minute() -> None:
    """A router that is gone does not keep kubelet from starting for ever."""
    record = replace(RECORD, addresses=(V4.address, V6.address))
    found = wait(seen(V4, policy=Policy(), record=record))
    assert found
    assert found.seconds == MOST_SECONDS
    assert found.reason.startswith("2001:db8::5, the last node IP, to be back: eth0 has carrier, no IPv6 address yet")


@pytest.mark.parametrize(
    ("method", "address", "controller", "is_awaited"),
    [
        ("disabled", "", "", False),
        ("manual", "203.0.113.5", "", False),
        ("manual", "192.0.2.5", "", True),
        ("auto", "", "", True),
        ("disabled", "", "bond0", True),  # the bond is not made yet
    ],
)
def test_an_address_that_a_node_file_has_moved_to_another_nic_is_not_waited_for(
    method: str, address: str, controller: str, *, is_awaited: bool
) -> None:
    """The active profile of its link says that the link is not to have it: that was ordered."""
    ipv4 = {"method": method, "address-data": [{"address": address, "prefix": 24}] if address else []}
    profile = Profile("u", "eth0", "802-3-ethernet", settings={"ipv4": ipv4, "connection": {"controller": controller}})
    found = Inventory((Device("eth0", "ethernet", profile=profile),), settled=frozenset({"eth0"}))
    assert (wait(seen(ELSEWHERE, record=RECORD, found=found)) is not None) is is_awaited
    assert wait(seen(ELSEWHERE, record=RECORD, found=replace(found, settled=frozenset()))) is not None
    without_carrier = (replace(ETH0, carrier=False), ETH1)
    assert (wait(seen(ELSEWHERE, links=without_carrier, record=RECORD, found=found)) is not None) is is_awaited


def test_the_wait_is_the_same_in_a_boot_that_has_published_it() -> None:
    """A daemon that was killed before READY goes on as it began."""
    found = wait(seen(ELSEWHERE, record=replace(RECORD, this_boot=True)))
    assert found
    assert found.seconds is None


@pytest.mark.parametrize(
    ("addresses", "families", "lacking"),
    [
        (["192.0.2.5", "fe80::1"], "auto", Family.IPV6),  # a router may answer
        (["192.0.2.5"], "auto", None),  # without a link-local address no router was asked
        (["2001:db8::5", "fe80::1"], "auto", Family.IPV4),  # a DHCP server may answer
        (["192.0.2.5", "2001:db8::5"], "auto", None),
        (["192.0.2.5", "fe80::1"], (Family.IPV4,), None),
    ],
)
def test_a_family_that_a_server_may_still_give(
    addresses: list[str], families: tuple[Family, ...] | str, lacking: Family | None
) -> None:
    document = host(*(("eth0", address, 100) for address in addresses))
    policy = Policy(families=families)  # type: ignore[arg-type]
    selection = chosen(document, policy)
    assert unanswered(from_document(document), policy, selection) is lacking


def found(*activating: str, automatic: tuple[str, ...] = (), settled: tuple[str, ...] = ("eth1",)) -> Inventory:
    links = frozenset(activating)
    return Inventory(settled=frozenset(settled), activating=links, automatic=frozenset(automatic))


def three() -> Snapshot:
    """Return a host with an address on the second of three links."""
    snapshot = from_document(host(("eth1", "192.0.2.5", 100)))
    (eth1,) = (link for link in snapshot.links if link.name == "eth1")
    others = (replace(eth1, index=eth1.index - 1, name="eth0"), replace(eth1, index=eth1.index + 1, name="eth2"))
    return replace(snapshot, links=(eth1, *others))


@pytest.mark.parametrize(
    ("inventory", "starting", "waited_for"),
    [
        (found("eth0"), False, ["eth0"]),  # before the chosen one: its default route is the better one
        (found("eth2", automatic=("eth2",)), False, []),  # a storage NIC without a DHCP server
        (found("eth2"), False, ["eth2"]),  # an administrator's profile may have the lower metric
        (found(), True, ["eth0"]),  # NetworkManager has not got to it yet
        (found(settled=("eth0", "eth1")), True, []),
        (replace(found(), states={"eth0": "unmanaged"}), True, []),
        (found(), False, []),  # its start is over: there is nothing to come
    ],
)
def test_a_link_that_is_not_settled_is_waited_for_if_it_may_win(
    inventory: Inventory, waited_for: list[str], *, starting: bool
) -> None:
    snapshot, policy = three(), Policy()
    selection = select(snapshot, policy)
    assert rivals(snapshot, policy, selection, inventory, starting=starting) == waited_for


def test_a_wish_that_nothing_meets_may_be_met_by_any_link() -> None:
    """Where a VIP or hint asks for a path, the order of the links does not matter."""
    snapshot, inventory = three(), found("eth2", automatic=("eth2",))
    for vip, waited_for in (("198.51.100.1", ["eth2"]), ("192.0.2.1", [])):
        policy = Policy(api_vips=(ip_address(vip),))
        assert rivals(snapshot, policy, select(snapshot, policy), inventory, starting=False) == waited_for
