"""The properties and signals of org.nodenet1.Ipam, and the reviewed contract."""

from __future__ import annotations

import re
from pathlib import Path

from nodenet.core.persistent_ips import bus
from nodenet.core.status.bus_interfaces import introspection

CONTRACT = Path(__file__).parents[3] / "units" / "dbus" / "org.nodenet1.Ipam.xml"
CLAIMED = {
    "network": "blue",
    "address": "192.0.2.7/24",
    "state": "attached",
    "claim": "team/vm.blue",
    "pod": "team/virt-launcher-vm",
    "node": "worker-0",
    "since": "2026-11-22T08:00:00Z",
}
EPHEMERAL = {**CLAIMED, "network": "red", "address": "198.51.100.9/24", "claim": None}
DOCUMENT = {"schema_version": 1, "node": "worker-0", "problems": ["x"], "addresses": [CLAIMED, EPHEMERAL]}


def plain(xml: str) -> str:
    """Return *xml* without comments, names of arguments and spaces between elements."""
    text = re.sub(r"<!--.*?-->|<!DOCTYPE.*?>|<\?xml.*?\?>", "", xml, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", re.sub(r'<arg name="\w+" ', "<arg ", text)).strip()


def test_the_reviewed_contract_is_what_is_offered() -> None:
    assert plain(CONTRACT.read_text()) == introspection(bus.PATH, bus.OBJECTS)


def test_addresses_that_come_and_go_are_signals() -> None:
    empty = {**DOCUMENT, "addresses": []}
    allocated = [
        ("AddressAllocated", ["blue", "192.0.2.7/24", "team/vm.blue", "team/virt-launcher-vm"]),
        ("AddressAllocated", ["red", "198.51.100.9/24", "", "team/virt-launcher-vm"]),
    ]
    assert bus.signals(empty, DOCUMENT) == allocated
    assert bus.signals(DOCUMENT, empty) == [
        ("AddressReleased", ["blue", "192.0.2.7/24", "team/vm.blue"]),
        ("AddressReleased", ["red", "198.51.100.9/24", ""]),
    ]
    assert bus.signals(DOCUMENT, DOCUMENT) == []
    for name, body in allocated:
        assert len(body) == len(bus.IPAM.signals[name])
