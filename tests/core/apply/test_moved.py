"""Which profiles lose their name servers before an apply."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.apply.moved import ends_a_family, to_prepare
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Profile

SERVERS = {"dns-data": ["192.0.2.53"], "dns-search": ["example.net"], "method": "manual"}
ETH0 = Profile("a", "Wired connection 1", "802-3-ethernet", settings={"ipv4": SERVERS, "ipv6": {"dns-data": ["::1"]}})
ETH1 = Profile("b", "eth1", "802-3-ethernet", "eth1", settings={"ipv4": {"method": "auto"}})
FOUND = Inventory((Device("eth0", "ethernet", profile=ETH0), Device("eth1", "ethernet", profile=ETH1)), (ETH0, ETH1))
IPV4 = {"ipv4": {"dns-data": None, "dns-search": None}}


@pytest.mark.parametrize(
    ("items", "prepared"),
    [
        ([], []),
        ([{"name": "eth0", "mtu": 1400}], []),
        ([{"name": "eth0", "ipv4": {"enabled": True}}], []),
        ([{"name": "eth0", "ipv4": {"enabled": False}}], [("a", IPV4)]),
        ([{"name": "eth0", "state": "down"}], [("a", IPV4 | {"ipv6": {"dns-data": None}})]),
        ([{"name": "eth0", "state": "absent"}], []),
        ([{"name": "eth1", "ipv4": {"enabled": False}}], []),
        ([{"name": "eth9", "ipv4": {"enabled": False}}], []),
    ],
    ids=str,
)
def test_only_name_servers_of_a_family_that_ends(items: list[dict[str, Any]], prepared: list[Any]) -> None:
    """The profile of a link is the one that it uses, or that names it."""
    difference = {"interfaces": items}
    assert list(to_prepare(difference, FOUND)) == prepared
    assert ends_a_family(difference) or not prepared
