"""How are an entry of the history, the difference of two, and what earlier files left over shown?"""

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
from nodenet.core.node_file.links import NICS
from nodenet.core.node_file.values import interfaces, routes, text
from nodenet.core.node_file.yaml_text import Block
from nodenet.core.value import frozen

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


# What have earlier node files made that the present one does not name?
#
# NMState leaves alone what a file does not name. Each entry of the history therefore knows what nodenet has made on the
# node by then, and from which entry it is: links that were not there before, routes, and the MTU of links. A link or
# route that is gone, or was there before, does not count: what another program made is never left over.

Owned = Mapping[str, Mapping[str, Any]]
"""``links``: name → type and number of the entry; ``routes``: the route in words → its values and number; ``mtu``: link
→ what it was before, and number."""
NEW = 0
"""The number of an entry that has none yet."""
VALUES = ("destination", "next-hop-address", "next-hop-interface", "table-id")


@frozen
class Named:
    """What a node file names: links with their types, routes in words with their values, and links with an MTU."""

    links: Mapping[str, str]
    routes: Mapping[str, Mapping[str, str]]
    mtu: frozenset[str]


NOTHING = Named({}, {}, frozenset())


def named_in(document: Block | None) -> Named:
    """Return what the *document* of a node file names."""
    if document is None:
        return NOTHING
    found = [item for _, item in interfaces(document)]
    wanted = [one for _, one in routes(document) if text(one, "state") != "absent"]
    values = [{key: value for key in VALUES if (value := text(one, key))} for one in wanted]
    return Named(
        {text(item, "name"): text(item, "type") for item in found},
        {route_text(each): each for each in values},
        frozenset(text(item, "name") for item in found if text(item, "mtu")),
    )


def owned_after(before: Owned, named: Named, was: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return what nodenet has made, after a change to a file that names *named*.

    *before* is what it had made before, *was* the network then, as it is shown, and *shown* the one after it. Where it
    is not known what the network was, nothing new is nodenet's.
    """
    links, known = {**before.get("links", {})}, {one["name"]: one for one in was.get("links") or ()}
    ways, mtu = {**before.get("routes", {})}, {**before.get("mtu", {})}
    if was:
        made = {name: kind for name, kind in named.links.items() if _is_made(kind) and name not in known}
        links |= {name: {"type": kind, "number": NEW} for name, kind in made.items()}
        new = named.routes.keys() - set(was.get("routes") or ()) - ways.keys()
        ways |= {way: {**named.routes[way], "number": NEW} for way in sorted(new)}
        set_now = {link for link in named.mtu if link in known and link not in mtu}
        mtu |= {link: {"before": known[link].get("mtu"), "number": NEW} for link in sorted(set_now)}
    return _present({"links": links, "routes": ways, "mtu": mtu}, shown) if shown else dict(before)


def _present(owned: Owned, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of *owned* is in the network *shown*."""
    there = {one["name"]: one for one in shown.get("links") or ()}
    routes_now = set(shown.get("routes") or ())
    return {
        "links": {name: each for name, each in owned["links"].items() if name in there},
        "routes": {way: each for way, each in owned["routes"].items() if way in routes_now},
        "mtu": {link: each for link, each in owned["mtu"].items() if _is_set(there.get(link), each)},
    }


def _is_set(link: Mapping[str, Any] | None, mtu: Mapping[str, Any]) -> bool:
    return link is not None and link.get("mtu") != mtu.get("before")


def _is_made(kind: str) -> bool:
    """Return whether a link of that type is made by a file; what is of Open vSwitch has `nodenetctl bridge remove`."""
    return kind not in NICS and not kind.startswith("ovs-")


def numbered(owned: Owned, number: int) -> dict[str, Any]:
    """Return *owned* of an entry that gets *number*."""
    return {
        part: {key: {**each, "number": each.get("number") or number} for key, each in values.items()}
        for part, values in owned.items()
    }


def left_over(owned: Owned, named: Named, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of *owned* is still in the network *shown*, and is not in the present file, which names *named*."""
    found = _present({part: owned.get(part, {}) for part in ("links", "routes", "mtu")}, shown)
    links = {name: each for name, each in found["links"].items() if name not in named.links}
    return {
        "links": links,
        "routes": {
            way: each
            for way, each in found["routes"].items()
            if way not in named.routes and each.get("next-hop-interface") not in links
        },
        "mtu": {link: each for link, each in found["mtu"].items() if link not in named.mtu and link not in links},
    }


def left_over_lines(left: Owned) -> Iterator[str]:
    """Yield what is left over in words, by the entry that made it: ``12: br-test, route 10.99.0.0/16 …``."""
    by_number: dict[int, list[str]] = {}
    for part, words in (("links", "{}"), ("routes", "route {}"), ("mtu", "MTU of {}")):
        for key, each in left.get(part, {}).items():
            by_number.setdefault(each.get("number", NEW), []).append(words.format(key))
    yield from (f"{number}: {', '.join(found)}" for number, found in sorted(by_number.items()))


def removal(left: Owned) -> dict[str, Any]:
    """Return the NMState document that removes what is *left*."""
    gone = [{"name": name, "type": each["type"], "state": "absent"} for name, each in left.get("links", {}).items()]
    mtu = [
        {"name": link, "mtu": each["before"]}
        for link, each in left.get("mtu", {}).items()
        if isinstance(each.get("before"), int)
    ]
    ways = [_gone(each) for each in left.get("routes", {}).values()]
    document: dict[str, Any] = {}
    if gone or mtu:
        document["interfaces"] = [*mtu, *gone]
    if ways:
        document["routes"] = {"config": ways}
    return document


def _gone(route: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: route[key] for key in VALUES if key in route}
    if table := str(values.pop("table-id", "")):
        values["table-id"] = int(table) if table.isdecimal() and len(table) <= 10 else table
    return {**values, "state": "absent"}


def together(difference: Mapping[str, Any], removed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one document of both: what the file asks for beyond the state, and what is removed."""
    merged = {**difference}
    items = [dict(each) for each in difference.get("interfaces") or ()]
    for item in removed.get("interfaces") or ():
        same = next((each for each in items if each.get("name") == item["name"]), None)
        if same is None:
            items.append(dict(item))
        else:
            same.update(item)
    if items:
        merged["interfaces"] = items
    ways = [*((difference.get("routes") or {}).get("config") or ()), *(removed.get("routes") or {}).get("config", ())]
    if ways:
        merged["routes"] = {**(difference.get("routes") or {}), "config": ways}
    return merged
