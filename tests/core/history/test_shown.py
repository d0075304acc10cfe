"""How are an entry of the history, the difference of two, and what earlier files left over shown?"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from core.history.test_entry import GOOD
from nodenet.core.history.shown import (
    NOT_SHOWN,
    NOTHING,
    Named,
    difference,
    document,
    file_text,
    left_over,
    left_over_lines,
    lines,
    listed,
    named_in,
    network,
    numbered,
    owned_after,
    removal,
    together,
)
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read

GUARDED = """interfaces:
- name: eth0
  type: ethernet
  802.1x:
    identity: node
    private-key-password: hunter2-rack
"""
STATE = {
    "interfaces": [
        {
            "name": "eth0",
            "type": "ethernet",
            "state": "up",
            "mtu": 1400,
            "ipv4": {"address": [{"ip": "192.0.2.5", "prefix-length": 24}]},
            "ipv6": {"address": [{"ip": "fe80::1", "prefix-length": 64}]},
        },
        {"name": "lo", "type": "loopback", "mtu": 65536},
        {"name": "pod1", "type": "veth", "state": "up", "mtu": 1500},
    ],
    "routes": {
        "config": [
            {
                "destination": "10.99.0.0/16",
                "next-hop-address": "192.0.2.1",
                "next-hop-interface": "eth0",
                "table-id": 7,
            }
        ]
    },
    "dns-resolver": {"running": {"server": ["192.0.2.53"]}},
}


def test_the_network_for_people() -> None:
    """Not lo, and not the links of pods."""
    found = network(STATE)
    assert list(lines(found)) == [
        "eth0 (ethernet), up, MTU 1400: 192.0.2.5/24",
        "route 10.99.0.0/16 via 192.0.2.1 on eth0 table 7",
        "DNS 192.0.2.53",
    ]
    assert list(lines({})) == []
    assert network({}) == {"links": [], "routes": [], "dns": []}


def test_no_secret_is_printed() -> None:
    digest = hashlib.sha256(GUARDED.encode()).hexdigest()
    one = replace(GOOD, text=GUARDED, digest=digest)
    for printed in (file_text(one), json.dumps(document(one)), "\n".join(difference(GOOD, one))):
        assert "hunter2" not in printed
        assert "identity: node" in printed or "network" in printed
    assert "settings" not in document(one)["profiles"][0]
    assert file_text(replace(one, text="interfaces: [\n secret")) == NOT_SHOWN


def test_the_list_has_neither_files_nor_networks() -> None:
    (row,) = listed([GOOD])["entries"]
    assert (row["number"], row["kind"], row["result"], row["good"], row["can_come_back"]) == (
        3,
        "node-file",
        "committed",
        True,
        True,
    )
    assert not {"text", "network", "profiles"} & row.keys()


TEXT = b"""interfaces:
- name: eth0
  type: ethernet
  mtu: 1300
- name: br-test
  type: linux-bridge
  state: up
- name: br-ex
  type: ovs-bridge
routes:
  config:
  - destination: 10.99.0.5/16
    next-hop-address: 192.0.2.1
    next-hop-interface: eth0
  - destination: 10.77.0.0/16
    next-hop-interface: br-test
    table-id: 7
  - destination: 0.0.0.0/0
    next-hop-interface: eth0
    state: absent
"""
ROUTE, OTHER = "10.99.0.0/16 via 192.0.2.1 on eth0", "10.77.0.0/16 on br-test table 7"
NAMED = named_in(parse(read("w.yml", TEXT)).document)


def shown(*links: str, routes: tuple[str, ...] = (), mtu: int = 1500) -> dict[str, Any]:
    """Return a network; *mtu* is that of eth0."""
    return {"links": [{"name": name, "mtu": mtu if name == "eth0" else 1500} for name in links], "routes": list(routes)}


BEFORE, AFTER = shown("eth0"), shown("eth0", "br-test", routes=(ROUTE, OTHER), mtu=1300)
OWNED = numbered(owned_after({}, NAMED, BEFORE, AFTER), 12)


def test_what_a_file_names() -> None:
    assert (
        Named(
            {"eth0": "ethernet", "br-test": "linux-bridge", "br-ex": "ovs-bridge"},
            {
                ROUTE: {"destination": "10.99.0.5/16", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth0"},
                OTHER: {"destination": "10.77.0.0/16", "next-hop-interface": "br-test", "table-id": "7"},
            },
            frozenset({"eth0"}),
        )
        == NAMED
    )
    assert named_in(None) == NOTHING


def test_what_a_file_has_made_is_left_over_once_no_file_names_it() -> None:
    """A route over a link that is left over goes with the link."""
    left = left_over(OWNED, NOTHING, AFTER)
    assert list(left_over_lines(left)) == [f"12: br-test, route {ROUTE}, MTU of eth0"]
    assert removal(left) == {
        "interfaces": [
            {"name": "eth0", "mtu": 1500},
            {"name": "br-test", "type": "linux-bridge", "state": "absent"},
        ],
        "routes": {
            "config": [
                {
                    "destination": "10.99.0.5/16",
                    "next-hop-address": "192.0.2.1",
                    "next-hop-interface": "eth0",
                    "state": "absent",
                }
            ]
        },
    }
    assert not any(left_over(OWNED, NAMED, AFTER).values())
    only_link = Named({"br-test": "linux-bridge"}, {}, frozenset())
    (route,) = left_over(OWNED, only_link, shown("eth0", "br-test", routes=(OTHER,)))["routes"].values()
    assert removal({"routes": {OTHER: route}})["routes"]["config"][0]["table-id"] == 7
    assert removal(left_over(OWNED, NAMED, AFTER)) == {}


@pytest.mark.parametrize(
    ("was", "after"),
    [
        (AFTER, AFTER),
        ({}, AFTER),
        (BEFORE, BEFORE),
    ],
    ids=["it was there before", "it is not known what was there", "it did not come"],
)
def test_what_nodenet_has_not_made_is_never_left_over(was: dict[str, Any], after: dict[str, Any]) -> None:
    assert not any(owned_after({}, NAMED, was, after).values())


def test_each_thing_keeps_the_number_of_the_entry_that_made_it() -> None:
    """And the MTU from before the first file that set it."""
    newer = Named({"bond0": "bond", "eth0": "ethernet"}, {}, frozenset({"eth0"}))
    now = shown("eth0", "br-test", "bond0", routes=(ROUTE, OTHER), mtu=1400)
    owned = numbered(owned_after(OWNED, newer, AFTER, now), 14)
    assert list(left_over_lines(left_over(owned, NOTHING, now))) == [
        f"12: br-test, route {ROUTE}, MTU of eth0",
        "14: bond0",
    ]
    assert owned["mtu"] == {"eth0": {"before": 1500, "number": 12}}
    unknown = owned_after(OWNED, newer, AFTER, {})
    assert unknown == OWNED


def test_difference_and_removal_are_one_document() -> None:
    difference = {"interfaces": [{"name": "eth0", "ipv4": {}}], "routes": {"config": [1]}, "dns-resolver": {}}
    removed = {
        "interfaces": [{"name": "eth0", "mtu": 1500}, {"name": "b", "state": "absent"}],
        "routes": {"config": [2]},
    }
    assert together(difference, removed) == {
        "interfaces": [{"name": "eth0", "ipv4": {}, "mtu": 1500}, {"name": "b", "state": "absent"}],
        "routes": {"config": [1, 2]},
        "dns-resolver": {},
    }
    assert together({}, {"interfaces": [{"name": "b"}]}) == {"interfaces": [{"name": "b"}]}
