"""What of the resolver's configuration moves with a link?"""

from __future__ import annotations

from dataclasses import replace

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.dns import hides_other_links, is_in_profile, of_profile, resolver
from nodenet.core.br_ex.plan import plan
from nodenet.core.br_ex.source import Source, source_of


def source(case: str) -> Source:
    return source_of(facts_of(CASES / case), "br-ex", "eth0")


def test_only_what_the_profile_says_is_said_again() -> None:
    assert not is_in_profile(source("dhcp4"))
    assert resolver([source("dhcp4")], {"eth0": "br-ex"}) == {}
    assert resolver([source("static4-with-dns")], {})["dns-resolver"]["config"]["server"]


def test_a_family_keeps_its_servers_and_their_priority() -> None:
    found = of_profile(source("dns-instead-of-dhcp"), "ipv4")
    assert found["dns-data"] == ["192.0.2.53"]
    assert set(found) == {"dns-data", "dns-search", "dns-options", "dns-priority"}


def test_the_scope_of_a_link_local_server_moves_too() -> None:
    servers = resolver([source("static6-with-link-local-server")], {"eth0": "br-ex"})["dns-resolver"]["config"][
        "server"
    ]
    assert any(server.endswith("%br-ex") for server in servers)
    assert not any(server.endswith("%eth0") for server in servers)


def test_a_global_configuration_that_was_there_is_left() -> None:
    """An apply makes one of a static link's servers: where there was none it must be emptied again."""
    facts = facts_of(CASES / "static4-with-dns")
    document = plan(facts).document
    assert hides_other_links(facts, document)
    assert not hides_other_links(replace(facts, global_dns=True), document)
