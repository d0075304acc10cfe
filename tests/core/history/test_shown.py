"""What is printed of the history."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from core.history.test_entry import GOOD
from nodenet.core.history.shown import NOT_SHOWN, difference, document, file_text, lines, listed, network

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


def test_two_entries_are_compared_by_their_files_and_networks() -> None:
    newer = replace(GOOD, number=4, text="interfaces: []\n# more\n", shown=network(STATE))
    found = difference(replace(GOOD, shown=network({**STATE, "routes": {}})), newer)
    assert [line for line in found if line[0] in "+-"] == [
        "--- @3 worker-0.yml",
        "+++ @4 worker-0.yml",
        "+# more",
        "--- @3 network",
        "+++ @4 network",
        "+route 10.99.0.0/16 via 192.0.2.1 on eth0 table 7",
    ]
    assert difference(GOOD, GOOD) == []
