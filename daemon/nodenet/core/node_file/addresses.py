"""Which static addresses does a node file give to which link?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from nodenet.core.ip import IPAddress
from nodenet.core.node_file.links import NO
from nodenet.core.node_file.values import text
from nodenet.core.node_file.yaml_text import Block

LinkAddress = tuple[str, IPAddress]
"""The name of a link, and an address."""


def static_addresses(interfaces: Iterable[Block]) -> Iterator[LinkAddress]:
    """Yield the addresses of these *interfaces* of a node file; a family that it disables has none."""
    for link in interfaces:
        for family in ("ipv4", "ipv6"):
            section = link.get(family)
            if isinstance(section, Block) and text(section, "enabled").lower() not in NO - {""}:
                yield from ((text(link, "name"), address) for address in _addresses(section))


def _addresses(section: Block) -> Iterator[IPAddress]:
    entries = section.get("address")
    for entry in entries.items if isinstance(entries, Block) else ():
        try:
            yield ip_address(text(entry, "ip") if isinstance(entry, Block) else "")
        except ValueError:
            continue  # reported as a finding
