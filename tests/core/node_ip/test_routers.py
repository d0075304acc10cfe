"""A router alone gives no node another IP than VIPs, a hint, the node file or the last boot name."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.patience import Seen, wait
from nodenet.core.node_ip.policy import Policy, parse_value
from nodenet.core.node_ip.select import Selection, select

ETH0 = Link(2, "eth0", mac="52:54:00:00:00:01")
V4 = ip_address("192.0.2.5")
OWN, SAME, STRAY = (ip_address(text) for text in ("fd88:104::5", "fd88:104::6", "2001:db8:bad::5"))
LEASED = ip_address("fd88:105::77")
ROUTERS = (ip_address("fe80::1"), ip_address("fe80::bad"))


def host(*addresses: IPAddress, static: IPAddress | None = None, routers: tuple[IPAddress, ...] = ROUTERS) -> Snapshot:
    """Return a host whose IPv6 prefixes are announced by *routers*; one address of a subnet of its own is leased."""
    found = [
        Address(
            each, 24 if each.version == 4 else 128 if each == LEASED else 64, "eth0", valid_lifetime=_life(each, static)
        )
        for each in addresses
    ]
    announced = {ip_network(f"{each}/64", strict=False) for each in addresses if each.version == 6 and each != LEASED}
    routes = [Route(network, (NextHop("eth0"),), 100, protocol="ra") for network in announced]
    routes += [Route(ip_network("::/0"), (NextHop("eth0", router),), 100, protocol="ra") for router in routers]
    routes += [Route(ip_network("0.0.0.0/0"), (NextHop("eth0", ip_address("192.0.2.1")),), 100)] * (V4 in addresses)
    return Snapshot((ETH0,), tuple(found), tuple(routes))


def _life(address: IPAddress, static: IPAddress | None) -> int | None:
    return None if address == static else 3600


def chosen(snapshot: Snapshot, policy: Policy | None = None, last: tuple[IPAddress, ...] = ()) -> Selection:
    """Return what is selected beside the node IPs *last* of the last boot."""
    return select(snapshot, policy or Policy(), LastPublished(last, ETH0.mac, "earlier") if last else None)


def waits(snapshot: Snapshot, last: tuple[IPAddress, ...], policy: Policy | None = None) -> bool:
    """Return whether the next boot waits without a limit for its last node IP."""
    record, policy = LastPublished(last, ETH0.mac, "earlier"), policy or Policy()
    device = Device("eth0", "ethernet", profile=Profile("u", "eth0", "802-3-ethernet"))
    settled = Inventory((device,), settled=frozenset({"eth0"}))
    found = wait(Seen(select(snapshot, policy, record), snapshot, policy, record, settled))
    return found is not None and found.seconds is None


def test_the_last_node_ip_is_waited_for_beside_another_prefix_of_a_router() -> None:
    """NetworkManager has settled the link: the stray router was first, or the right one is silent."""
    assert waits(host(STRAY), (OWN,))
    assert not waits(host(STRAY, OWN), (OWN,))
    assert chosen(host(STRAY, OWN), last=(OWN,)).node_ips == (OWN,)


def test_another_address_of_the_prefix_or_of_a_lease_takes_its_place() -> None:
    """Another profile has another identifier; a lease is given by a server."""
    assert not waits(host(SAME), (OWN,))
    assert not waits(host(LEASED), (OWN,))


def test_what_a_hint_or_the_node_file_names_takes_its_place() -> None:
    (hint,) = parse_value("2001:db8:bad::", "the test").hints
    assert not waits(host(STRAY), (OWN,), Policy(hints=(hint,)))
    assert not waits(host(STRAY, static=STRAY), (OWN,), Policy(stated=frozenset({STRAY})))


def test_no_router_gives_the_second_family_another_prefix() -> None:
    """It would be published when the wait for the right one, a minute, is over."""
    assert chosen(host(V4, STRAY), last=(V4, OWN)).node_ips == (V4,)
    assert chosen(host(V4, STRAY, SAME), last=(V4, OWN)).node_ips == (V4, SAME)
    assert chosen(host(V4, LEASED), last=(V4, OWN)).node_ips == (V4, LEASED)
    stated = Policy(stated=frozenset({STRAY}))
    assert chosen(host(V4, STRAY), stated, last=(V4, OWN)).node_ips == (V4, STRAY)


def test_in_a_first_boot_the_address_of_the_node_file_wins() -> None:
    """Also over a public prefix, which else outranks a private one; an endless lifetime makes no difference."""
    stated = Policy(stated=frozenset({OWN}))
    assert chosen(host(STRAY, OWN)).node_ips == (STRAY,)
    for static in (OWN, STRAY):
        assert chosen(host(STRAY, OWN, static=static), stated).node_ips == (OWN,)


def test_a_first_boot_beside_two_routers_says_which_prefix_it_took() -> None:
    (note,) = chosen(host(STRAY, OWN)).notes
    assert all(str(each) in note for each in (*ROUTERS, STRAY, OWN))
    assert "NODEIP_HINT" in note
    assert chosen(host(STRAY, OWN, routers=ROUTERS[:1])).notes == ()
    assert chosen(host(SAME, OWN)).notes == ()
    assert chosen(host(STRAY, OWN), last=(OWN,)).notes == ()
