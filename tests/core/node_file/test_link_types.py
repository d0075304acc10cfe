"""Types of interfaces that libnmstate does not know: it would only log a line, and call the file applied."""

from __future__ import annotations

import pytest

from nodenet.core.node_file.values import interfaces, unknown_types
from nodenet.core.node_file.yaml_text import Block, load


def said(link: str) -> list[str]:
    document = load("w.yml", f"interfaces: [{{name: eth0, {link}}}]")
    assert isinstance(document, Block)
    return [f"{each.sentence()}. {each.remedy}" for each in unknown_types(interfaces(document))]


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("ethernetz", "Did you mean 'ethernet'?"),
        ("Ethernet", "Did you mean 'ethernet'?"),
        ("macvlan", "Did you mean 'mac-vlan' or "),
        ("bridge", "Did you mean 'ovs-bridge' or 'linux-bridge'?"),
        ("wireguard", "Leave `type` out for a link that is there already; the types are: bond, dummy, "),
    ],
)
def test_an_unknown_type_is_refused_with_the_nearest(kind: str, meant: str) -> None:
    (sentence,) = said(f"type: {kind}")
    assert sentence.startswith(f"interfaces[0].type: libnmstate knows no type {kind!r} (interface 'eth0'). {meant}")


@pytest.mark.parametrize("link", ["", "type: ", "type: unknown", "type: tun", "state: ignore, type: wireguard"])
def test_a_link_that_is_found_by_its_name_may_have_the_type_that_is_shown_or_none(link: str) -> None:
    """`nmstatectl show` prints such links, and says what it leaves alone."""
    assert said(link) == []
