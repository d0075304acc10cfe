"""IP configuration as a node file says it: leases are not configuration, and what must stay is pinned."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.day_one.from_host import ip_sections, is_set
from nodenet.core.day_one.yaml_writing import Remarked, plain

LEASED = {"ip": "192.0.2.100", "prefix-length": 24, "valid-life-time": "3600sec"}
ADVERTISED = {"ip": "2001:db8::1234:5678:9abc:def0", "prefix-length": 64, "valid-life-time": "3600sec"}
LINK_LOCAL = {"ip": "fe80::1", "prefix-length": 64}


def of(**families: dict[str, Any]) -> Any:
    return plain(ip_sections({"name": "enp2s0", **families}, "ethernet", []))


def test_a_lease_is_not_an_address() -> None:
    assert of(ipv4={"enabled": True, "dhcp": True, "address": [LEASED]}) == {"ipv4": {"enabled": True, "dhcp": True}}


def test_what_is_off_is_off_and_link_local_addresses_come_by_themselves() -> None:
    assert of(ipv4={"enabled": False, "dhcp": False}, ipv6={"enabled": True, "address": [LINK_LOCAL]}) == {
        "ipv4": {"enabled": False},
        "ipv6": {"enabled": True, "dhcp": False, "autoconf": False},
    }


def test_the_advertised_address_stays() -> None:
    found = ip_sections(
        {"name": "x", "ipv6": {"enabled": True, "autoconf": True, "address": [ADVERTISED]}}, "ethernet", []
    )
    section = found["ipv6"]
    assert isinstance(section, dict)
    assert section["token"] == Remarked("::1234:5678:9abc:def0", "keeps the address that router advertisements give")
    of_mac = {**ADVERTISED, "ip": "2001:db8::5054:ff:fe88:100"}
    assert "token" not in of(ipv6={"enabled": True, "autoconf": True, "address": [of_mac]})["ipv6"]
    two = [ADVERTISED, {**ADVERTISED, "ip": "2001:db8::1"}]
    assert "token" not in of(ipv6={"enabled": True, "autoconf": True, "address": two})["ipv6"]


def test_an_address_of_dhcpv6_may_change() -> None:
    found = ip_sections(
        {"name": "x", "ipv6": {"enabled": True, "dhcp": True, "address": [{**ADVERTISED, "prefix-length": 128}]}},
        "ethernet",
        [],
    )
    section = found["ipv6"]
    assert isinstance(section, dict)
    assert isinstance(section["dhcp"], Remarked)


@pytest.mark.parametrize(("metric", "expected"), [(100, None), (101, 101), (None, None)])
def test_a_metric_that_network_manager_counted_up_is_pinned(metric: int | None, expected: int | None) -> None:
    route = {"destination": "0.0.0.0/0", "next-hop-interface": "enp2s0", "metric": metric}
    found = plain(ip_sections({"name": "enp2s0", "ipv4": {"enabled": True, "dhcp": True}}, "ethernet", [route]))
    assert isinstance(found, dict)
    assert found["ipv4"].get("auto-route-metric") == expected


def test_settings_that_differ_from_the_defaults_are_kept() -> None:
    section = {
        "enabled": True, "dhcp": True, "auto-dns": False, "auto-gateway": True, "auto-route-metric": 48,
        "dhcp-client-id": "ll", "dhcp-custom-hostname": "a",
    }  # fmt: skip
    assert of(ipv4=section)["ipv4"] == {
        "enabled": True, "dhcp": True, "auto-dns": False, "auto-route-metric": 48, "dhcp-custom-hostname": "a",
    }  # fmt: skip


def test_a_link_with_a_link_local_address_alone_has_no_configuration() -> None:
    assert not is_set({"enabled": True, "address": [LINK_LOCAL]})
    assert is_set({"enabled": True, "dhcp": True})


@pytest.mark.parametrize("spelling", ["valid-life-time", "valid-left", "valid-lft"])
def test_a_lease_in_each_spelling_of_its_lifetime_is_not_an_address(spelling: str) -> None:
    """Releases of NMState differ; a leased address that is taken for a static one may be another host's later."""
    leased = {"ip": "192.0.2.6", "prefix-length": 24, spelling: "40218sec"}
    assert of(ipv4={"enabled": True, "dhcp": True, "address": [leased]}) == {"ipv4": {"enabled": True, "dhcp": True}}
