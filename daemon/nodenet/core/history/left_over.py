"""What have earlier node files made that the present one does not name?

NMState leaves alone what a file does not name. Each entry of the history therefore knows what nodenet has made on the
node by then, and from which entry it is: links that were not there before, routes, and the MTU of links. A link
or route that is gone, or was there before, does not count: what another program made is never left over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.history.shown import route_text
from nodenet.core.node_file.links import NICS
from nodenet.core.node_file.values import interfaces, routes, text
from nodenet.core.node_file.yaml_text import Block
from nodenet.core.value import frozen

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


def lines(left: Owned) -> Iterator[str]:
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
        values["table-id"] = int(table) if table.isdecimal() else table
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
