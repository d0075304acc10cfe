"""Which node file does each host get, and what does each file configure? One row a file, for a table.

A file named ``cluster`` is for every host that has no file (docs: the node file). An address that two files
configure is a duplicate on the wire.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface

from nodenet.core.day_one.document import Document, addresses, gateways, interfaces, is_automatic, name_servers
from nodenet.core.value import frozen

CLUSTER = "cluster"


@frozen
class Row:
    """One node file. *duplicates*: its addresses that another file configures too."""

    file: str
    host: str
    links: tuple[str, ...]
    addresses: tuple[IPv4Interface | IPv6Interface, ...]
    automatic: bool
    gateways: tuple[str, ...]
    name_servers: tuple[str, ...]
    duplicates: tuple[str, ...]


def rows(documents: Mapping[str, Document]) -> tuple[Row, ...]:
    """Return a row for each file of *documents* (file name → document), by name."""
    found = {name: _addresses(document) for name, document in documents.items()}
    times = Counter(address.ip for listed in found.values() for address in {item.ip: item for item in listed}.values())
    return tuple(_row(name, documents[name], found[name], times) for name in sorted(documents))


def _addresses(document: Document) -> tuple[IPv4Interface | IPv6Interface, ...]:
    return tuple(address for item in interfaces(document) for address in addresses(item))


def _row(
    name: str,
    document: Document,
    listed: tuple[IPv4Interface | IPv6Interface, ...],
    times: Counter[IPv4Address | IPv6Address],
) -> Row:
    stem = name.rpartition(".")[0]
    links = [item for item in interfaces(document) if item.get("state", "up") == "up"]
    return Row(
        file=name,
        host="every host without a file of its own" if stem == CLUSTER else stem,
        links=tuple(str(item.get("name")) for item in links),
        addresses=listed,
        automatic=any(map(is_automatic, links)),
        gateways=gateways(document),
        name_servers=name_servers(document),
        duplicates=tuple(dict.fromkeys(str(item.ip) for item in listed if times[item.ip] > 1)),
    )
