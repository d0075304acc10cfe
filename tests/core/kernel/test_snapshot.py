"""The values of a snapshot: what a link, an address and a route say of themselves."""

from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, Route


def test_an_address_and_a_route_know_their_family() -> None:
    assert Address(ip_address("192.0.2.5"), 24, "eth0").family is Family.IPV4
    assert Address(ip_address("2001:db8::5"), 64, "eth0").family is Family.IPV6
    assert Route(ip_network("::/0"), (), 0).family is Family.IPV6


@pytest.mark.parametrize(("destination", "default"), [("0.0.0.0/0", True), ("::/0", True), ("0.0.0.0/1", False)])
def test_only_a_prefix_of_length_zero_is_the_default(destination: str, default: bool) -> None:  # noqa: FBT001
    assert Route(ip_network(destination), (), 0).is_default is default


def test_the_mac_of_the_hardware_is_the_permanent_one_where_it_differs() -> None:
    """A port of a bond has the MAC of another one."""
    assert Link(1, "eth0", mac="52:54:00:00:00:01").hardware_mac == "52:54:00:00:00:01"
    port = Link(1, "eth0", mac="52:54:00:00:00:02", permanent_mac="52:54:00:00:00:01")
    assert port.hardware_mac == "52:54:00:00:00:01"
