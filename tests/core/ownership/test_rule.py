"""Who has put something on a link?"""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Address, AddressFlag, NextHop, Route
from nodenet.core.network_manager.profiles import MADE_BY_NM, Device, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.core.ownership.rule import configured_links, foreign_ports, is_of_another, patched, ports_of_bridges

MASQUERADE = Address(ip_address("169.254.0.2"), 17, "br-ex")
SERVICE = Route(ip_network("172.30.0.0/16"), (NextHop("br-ex", ip_address("169.254.0.4")),), protocol="boot")
OVN = Neighbour(3, ip_address("169.254.0.4"), 0x80, bytes.fromhex("0a58a9fe0004"))


@pytest.mark.parametrize(
    "item",
    [MASQUERADE, Address(ip_address("fd69::2"), 112, "br-ex"), SERVICE, OVN],
    ids=["4", "6", "route", "neighbour"],
)
def test_what_ovn_kubernetes_puts_on_br_ex_is_of_another(item: Address | Route | Neighbour) -> None:
    assert is_of_another(item)


@pytest.mark.parametrize(
    "item",
    [
        Address(ip_address("192.0.2.5"), 24, "br-ex", flags=frozenset({AddressFlag.NO_PREFIX_ROUTE})),
        Address(ip_address("192.0.2.5"), 24, "br-ex", valid_lifetime=3600),
        Address(ip_address("fe80::5"), 64, "br-ex"),
        Route(ip_network("192.0.2.0/24"), (NextHop("br-ex"),), protocol="kernel"),
        Route(ip_network("0.0.0.0/0"), (NextHop("br-ex", ip_address("192.0.2.1")),), protocol="static"),
        Route(ip_network("0.0.0.0/0"), (NextHop("br-ex", ip_address("192.0.2.1")),), protocol="dhcp"),
        Route(ip_network("::/0"), (NextHop("br-ex", ip_address("fe80::1")),), protocol="ra"),
        Route(ip_network("169.254.0.2/32"), (NextHop("br-ex"),), protocol="boot", kind="local"),
        Neighbour(3, ip_address("192.0.2.1"), 0x02, bytes(6)),
        Neighbour(3, ip_address("224.0.0.1"), 0x40, bytes(6)),
    ],
    ids=["profile", "lease", "link-local", "prefix", "static", "dhcp", "ra", "local", "learnt", "multicast"],
)
def test_what_network_manager_and_the_kernel_set_is_not(item: Address | Route | Neighbour) -> None:
    assert not is_of_another(item)


def test_only_a_link_with_a_profile_of_its_own_is_configured() -> None:
    """NetworkManager copies a generated profile from the link, so the profile does not show who set a value."""
    own, copied = Profile("1", "eth0", "802-3-ethernet"), Profile("2", "eth1", "802-3-ethernet", generated=True)
    devices = (Device("eth0", "ethernet", profile=own), Device("eth1", "ethernet", profile=copied))
    assert configured_links((*devices, Device("eth2", "veth"))) == {"eth0"}


def test_a_port_without_the_mark_of_network_manager_is_of_another() -> None:
    own = {MADE_BY_NM: "1"}
    ports = (
        OvsPort("br-ex", (OvsInterface("br-ex", "internal"),), own),
        OvsPort("eth0", (OvsInterface("eth0"),), own),
        OvsPort("patch", (OvsInterface("patch", "patch"),)),
        OvsPort("tap0", (OvsInterface("tap0"),)),
    )
    bridges = (
        OvsBridge("br-ex", ports=ports),
        OvsBridge("br-int", ports=(OvsPort("ovn", (OvsInterface("ovn", "geneve"),)),)),
    )
    assert sorted(foreign_ports(bridges)) == [("br-ex", "patch"), ("br-ex", "tap0"), ("br-int", "ovn")]
    assert patched(bridges) == {"br-ex"}
    assert ports_of_bridges(bridges) == {"eth0", "tap0"}
