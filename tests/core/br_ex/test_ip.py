"""How is a link's IP configuration written for the bridge?"""

from __future__ import annotations

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.ip import interface_identifier, ipv4, ipv6, nm_properties, other_identifiers
from nodenet.core.br_ex.source import Source, source_of


def source(case: str) -> Source:
    return source_of(facts_of(CASES / case), "br-ex", "eth0")


def test_dhcp_goes_on_with_the_identifier_in_use() -> None:
    """The server knows the node by it, and gives it the same address."""
    section = ipv4(source("client-id-of-another-kind"), 48)
    assert section["dhcp-client-id"] == "ff:00:88:01:00:00:02:00:00:ab:11:5d:1c:3b"
    assert (section["dhcp"], section["auto-route-metric"], section["address"]) == (True, 48, [])


def test_an_autoconfigured_address_keeps_its_interface_identifier() -> None:
    found = source("dual-stack-dhcp-and-ra")
    assert ipv6(found, 48)["token"] == interface_identifier(found)
    assert other_identifiers(found) == []
    assert len(other_identifiers(source("two-prefixes-two-identifiers"))) == 1


def test_what_nmstate_has_no_key_for_is_set_on_the_profile() -> None:
    assert nm_properties(source("privacy-addresses"), 48)["ipv6"]["ip6-privacy"] == 2
    assert nm_properties(source("ipv4-link-local"), 48)["ipv4"]["method"] == "link-local"
    assert nm_properties(source("dhcp4"), 48) == {}
