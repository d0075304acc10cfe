"""What is read of an NMState document, and that nothing in it raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodenet.core.day_one.document import (
    Document,
    addresses,
    gateways,
    interfaces,
    is_automatic,
    name_servers,
    read,
    routes,
    rows,
)
from nodenet.core.day_one.reading import ArtefactInvalid


def test_what_is_disabled_or_removed_does_not_count() -> None:
    off = {"ipv4": {"enabled": False, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}}
    assert list(addresses(off)) == []
    assert list(routes({"routes": {"config": [{"state": "absent", "destination": "0.0.0.0/0"}]}})) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not an NMState document: its first level has no keys such as interfaces"),
        ("- a", "not an NMState document: its first level has no keys such as interfaces"),
        ("a: [", "not YAML: line 1, column 5: expected the node content, but found '<stream end>'"),
    ],
)
def test_what_is_no_document_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ArtefactInvalid) as caught:
        read(text)
    assert str(caught.value) == problem


KEYS = st.sampled_from(
    (
        "interfaces",
        "name",
        "type",
        "ipv4",
        "enabled",
        "dhcp",
        "address",
        "ip",
        "routes",
        "config",
        "dns-resolver",
        "server",
    )
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(KEYS, JSON))
def test_no_document_raises(document: dict[str, Any]) -> None:
    for link in interfaces(document):
        assert all(address.version in (4, 6) for address in addresses(link))
        assert is_automatic(link) in (True, False)
    assert isinstance(gateways(document), tuple)
    assert isinstance(name_servers(document), tuple)


# One row a node file; an address in two files is marked in both.


def static(link: str, *addresses: str) -> Document:
    listed = ", ".join(f"{{ip: {address}, prefix-length: 24}}" for address in addresses)
    return read(f"interfaces: [{{name: {link}, type: ethernet, ipv4: {{enabled: true, address: [{listed}]}}}}]\n")


def test_a_row_says_what_a_file_configures() -> None:
    first, second, third = rows(
        {
            "b.yml": static("eth0", "192.0.2.5", "192.0.2.6"),
            "a.yml": static("eth0", "192.0.2.5"),
            "cluster.yml": read("interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}]\n"),
        }
    )
    assert (first.file, first.host, first.duplicates, first.automatic) == ("a.yml", "a", ("192.0.2.5",), False)
    assert (second.file, second.duplicates) == ("b.yml", ("192.0.2.5",))
    assert [str(address) for address in second.addresses] == ["192.0.2.5/24", "192.0.2.6/24"]
    assert (third.host, third.automatic, third.links) == ("every host without a file of its own", True, ("eth0",))
