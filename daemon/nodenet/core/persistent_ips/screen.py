"""How do the addresses of persistent IPs look on a terminal?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_interface
from typing import Any

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
