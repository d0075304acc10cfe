"""Which link has the configuration that moves, and which MAC does the bridge get?"""

from __future__ import annotations

from ipaddress import ip_interface

import pytest

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.source import source_of


@pytest.mark.parametrize(
    ("case", "link"), [("dhcp4", "eth0"), ("standing-ours", "br-ex"), ("stale-other-uplink", "eth1")]
)
def test_the_configuration_is_the_uplink_s_until_its_bridge_has_it(case: str, link: str) -> None:
    """A bridge over another link has that link's."""
    uplink = "eth1" if case == "stale-other-uplink" else "eth0"
    assert source_of(facts_of(CASES / case), "br-ex", uplink).link == link


@pytest.mark.parametrize(
    ("case", "uplink", "keeps"),
    [("dhcp4", "eth0", True), ("bond-802-3ad", "bond0", True), ("bond-active-backup-fail-over-mac", "bond0", False)],
)
def test_a_mac_that_moves_between_ports_is_not_copied(case: str, uplink: str, *, keeps: bool) -> None:
    assert source_of(facts_of(CASES / case), "br-ex", uplink).keeps_mac is keeps


def test_a_leased_address_is_dynamic_and_a_profile_s_address_static() -> None:
    leased = source_of(facts_of(CASES / "dhcp4"), "br-ex", "eth0")
    assert (leased.static("ipv4"), leased.dynamic("ipv4")) == ([], [ip_interface("10.88.0.113/24")])
    static = source_of(facts_of(CASES / "two-static-in-order"), "br-ex", "eth0")
    assert [str(each.ip) for each in static.static("ipv4")] == ["10.88.0.51", "10.88.0.50", "10.88.0.9"]
    assert static.dynamic("ipv4") == []
