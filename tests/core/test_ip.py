"""Families by their names in the settings and for people."""

from ipaddress import ip_address, ip_network

from nodenet.core.ip import Family, family_of


def test_addresses_and_networks_have_a_family() -> None:
    assert family_of(ip_address("192.0.2.5")) is family_of(ip_network("192.0.2.0/24")) is Family.IPV4
    assert family_of(ip_address("::1")) is family_of(ip_network("::/0")) is Family.IPV6


def test_a_family_is_read_as_the_settings_write_it_and_shown_as_people_do() -> None:
    assert [Family(name) for name in ("ipv4", "ipv6")] == list(Family)
    assert list(map(str, Family)) == ["IPv4", "IPv6"]
