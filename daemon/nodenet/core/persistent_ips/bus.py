"""What does nodenet-ipam offer on the bus? The reviewed contract is ``units/dbus/org.nodenet1.Ipam.xml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_interface
from typing import Any

from nodenet.core.status.bus_interfaces import Interface

NAME = "org.nodenet1.Ipam"
PATH = "/org/nodenet1/ipam"
IPAM = Interface(
    NAME,
    properties={"Node": "s", "Addresses": "u", "Claims": "u", "Problems": "as"},
    methods={"GetClaims": ("s", "s"), "Explain": ("s", "s"), "GetMetrics": ("", "s"), "Check": ("s", "s")},
    signals={"AddressAllocated": "ssss", "AddressReleased": "sss", "AddressRefused": "ss"},
    mutators=frozenset({"Check"}),
)
OBJECTS = {PATH: (IPAM, None)}
"""Object path → its interface; no stage has an object here."""
REPAIR = "repair"
"""The argument of Check that also repairs what can safely be repaired; empty: only compare."""


def values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a claims *document*."""
    addresses = document["addresses"]
    return {
        "Node": document["node"],
        "Addresses": len(addresses),
        "Claims": len({entry["claim"] for entry in addresses} - {None}),
        "Problems": list(document["problems"]),
    }


def of_network(document: Mapping[str, Any], network: str) -> dict[str, Any]:
    """Return *document* with the addresses of one network; an empty name is all networks."""
    if not network:
        return dict(document)
    return {**document, "addresses": [entry for entry in document["addresses"] if entry["network"] == network]}


def signals(before: Mapping[str, Any], document: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return name and body of a signal for each address that was allocated or released between two documents."""
    old, new = _by_address(before), _by_address(document)
    released = [("AddressReleased", [*key, old[key]["claim"] or ""]) for key in old if key not in new]
    allocated = [
        ("AddressAllocated", [*key, new[key]["claim"] or "", new[key]["pod"] or ""]) for key in new if key not in old
    ]
    return [*released, *allocated]


def _by_address(document: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(entry["network"], entry["address"]): entry for entry in document["addresses"]}


# How do the addresses of persistent IPs look on a terminal?

HEADINGS = ("NETWORK", "ADDRESS", "STATE", "CLAIM", "POD", "NODE", "SINCE")
NOTHING = "No addresses: no claim and no pod of this node has one"


def rows(document: Mapping[str, Any]) -> list[Sequence[str]]:
    """Return a row for each address of a claims *document*, by network, then by address; "-" where there is nothing."""
    entries = sorted(document["addresses"], key=lambda entry: (entry["network"], _order(entry["address"])))
    return [tuple(entry[heading.lower()] or "-" for heading in HEADINGS) for entry in entries]


def differences(document: Mapping[str, Any]) -> list[str]:
    """Return the lines for the document of a check: one for each difference, and a last one that sums up."""
    lines = []
    for difference in document["differences"]:
        ending = " (repaired)" if difference["repaired"] else ""
        lines.append(f"{difference['network']} {difference['address']}: {difference['cause']}{ending}")
        if not difference["repaired"] and difference["remedy"]:
            lines.append(f"  {difference['remedy']}")
    found = len(document["differences"])
    compared = f"{document['addresses']} addresses compared"
    lines.append(f"{compared}, {found} differences" if found else f"{compared}: store, Leases and claims agree")
    return lines


def open_differences(document: Mapping[str, Any]) -> bool:
    """Return whether a check found a difference that it did not repair."""
    return any(not difference["repaired"] for difference in document["differences"])


def _order(address: str) -> tuple[int, int, str]:
    try:
        interface = ip_interface(address)
    except ValueError:
        return 0, 0, address
    return interface.version, int(interface), ""
