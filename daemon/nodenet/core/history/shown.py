"""What is printed of the history? Never a secret: neither of a node file nor of a profile."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.history.entry import Entry
from nodenet.core.node_file.content import judge
from nodenet.core.node_file.find import NodeFile

SCHEMA = 1
DIGITS = 12
"""The first digits of a digest, as people are shown it."""
NOT_SHOWN = "(not shown: it cannot be read as YAML, so its secrets cannot be left out)"
HIDDEN_KINDS = frozenset({"loopback", "veth"})
"""Types of links that are not shown: those of pods, and lo. A veth with an address is shown."""


def listed(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return what is known of each entry but its file and its network, JSON-ready."""
    return {"schema_version": SCHEMA, "entries": [row(each) for each in entries]}


def row(entry: Entry) -> dict[str, Any]:
    """Return the same of one entry."""
    return {
        "number": entry.number,
        "time": entry.time,
        "kind": entry.kind.value,
        "result": entry.result.value,
        "good": entry.good,
        "node_file": entry.name or None,
        "digest": entry.digest or None,
        "hostname": entry.hostname,
        "who": entry.who or None,
        "boot_id": entry.boot_id,
        "cause": entry.cause or None,
        "probes": entry.probes or None,
        "settings_digest": entry.settings or None,
        "can_come_back": entry.network is not None,
    }


def document(entry: Entry) -> dict[str, Any]:
    """Return everything that may be shown of one entry, JSON-ready."""
    profiles = entry.network.profiles if entry.network else ()
    names = [{"name": each.name, "uuid": each.uuid, "link": each.link or None} for each in profiles]
    return {
        "schema_version": SCHEMA,
        **row(entry),
        "text": file_text(entry),
        "network": entry.shown,
        "profiles": names,
        "active": dict(entry.network.active) if entry.network else {},
    }


def file_text(entry: Entry) -> str:
    """Return the text of the node file without its secrets."""
    try:
        return judge(NodeFile(entry.name, entry.text, entry.digest)).desired.secrets.hidden_in(entry.text)
    except NodeFileInvalid:
        return NOT_SHOWN


def network(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of libnmstate's *state* to be shown: links, MTU, addresses, routes and name servers."""
    links = [_link(each) for each in state.get("interfaces") or () if isinstance(each, Mapping)]
    routes = [route_text(each) for each in (state.get("routes") or {}).get("config") or ()]
    servers = ((state.get("dns-resolver") or {}).get("running") or {}).get("server") or []
    shown = [one for one in links if one["type"] not in HIDDEN_KINDS or (one["addresses"] and one["type"] == "veth")]
    return {"links": shown, "routes": sorted(routes), "dns": [str(each) for each in servers]}


def _link(item: Mapping[str, Any]) -> dict[str, Any]:
    found = [
        f"{each.get('ip')}/{each.get('prefix-length')}"
        for family in ("ipv4", "ipv6")
        for each in (item.get(family) or {}).get("address") or ()
        if not str(each.get("ip")).startswith("fe80:")
    ]
    kind, mtu = str(item.get("type")), item.get("mtu")
    return {"name": str(item.get("name")), "type": kind, "state": item.get("state"), "mtu": mtu, "addresses": found}


def route_text(item: Mapping[str, Any]) -> str:
    """Return a route in words, the same for each way to write it."""
    via = f" via {item['next-hop-address']}" if item.get("next-hop-address") else ""
    table = f" table {item['table-id']}" if str(item.get("table-id") or 0) not in ("0", "254") else ""
    destination = str(item.get("destination"))
    with suppress(ValueError):
        destination = str(ip_network(destination, strict=False))
    return f"{destination}{via} on {item.get('next-hop-interface')}{table}"


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the network of an entry in lines."""
    for one in shown.get("links") or ():
        addresses = ", ".join(one["addresses"]) or "no address"
        yield f"{one['name']} ({one['type']}), {one['state']}, MTU {one['mtu']}: {addresses}"
    yield from (f"route {each}" for each in shown.get("routes") or ())
    if servers := shown.get("dns"):
        yield f"DNS {', '.join(servers)}"


def difference(older: Entry, newer: Entry) -> list[str]:
    """Return how two entries differ, in lines of a unified diff: the files, then the networks."""
    one, two = f"@{older.number}", f"@{newer.number}"
    files = file_text(older).splitlines(), file_text(newer).splitlines()
    networks = list(lines(older.shown)), list(lines(newer.shown))
    return [
        *difflib.unified_diff(*files, f"{one} {older.name}", f"{two} {newer.name}", lineterm=""),
        *difflib.unified_diff(*networks, f"{one} network", f"{two} network", lineterm=""),
    ]
