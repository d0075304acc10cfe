"""Which addresses, routes and rules can have an owner, and how do two states differ in them?"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from nodenet.core.nmstate import state as nmstate
from nodenet.core.value import frozen


class Kind(StrEnum):
    """What a thing is, in the order in which things can be put on a link."""

    ADDRESS = "address"
    NEIGHBOUR = "neighbour"
    ROUTE = "route"


@frozen
class Thing:
    """Something that another program put on *link*.

    *name* identifies it in NMState's words: the address; the neighbour; destination, next hop ("": none), table and
    metric of a route. *message* is the body of the kernel's own message about it (rtnetlink(7)), in hexadecimal: all
    attributes are kept.
    """

    kind: Kind
    link: str
    name: tuple[str, ...]
    message: str = ""


@frozen
class Others:
    """What others have on links with a profile; *ports*: (bridge, port) of Open vSwitch; *patched*: its bridges."""

    things: tuple[Thing, ...] = ()
    ports: frozenset[tuple[str, str]] = frozenset()
    patched: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether there is anything."""
        return bool(self.things or self.ports)

    def addresses(self, link: str) -> frozenset[str]:
        """Return the addresses on *link*."""
        return frozenset(each.name[0] for each in self.things if (each.kind, each.link) == (Kind.ADDRESS, link))

    def routes(self, link: str) -> frozenset[tuple[str, ...]]:
        """Return destination, next hop and table of the routes that leave by *link*."""
        return frozenset(each.name[:3] for each in self.things if (each.kind, each.link) == (Kind.ROUTE, link))

    def ports_of(self, bridge: str) -> frozenset[str]:
        """Return the ports on *bridge*."""
        return frozenset(port for name, port in self.ports if name == bridge)


NO_OTHERS = Others()


def of_links(things: Iterable[Thing], links: Collection[str], besides: Collection[str] = ()) -> tuple[Thing, ...]:
    """Return those on *links*, addresses first; *besides* are addresses that move with their holder, such as VIPs."""
    kinds = list(Kind)
    found = (each for each in things if each.link in links)
    wanted = (each for each in found if each.kind is not Kind.ADDRESS or each.name[0] not in besides)
    return tuple(sorted(wanted, key=lambda each: (kinds.index(each.kind), len(each.name) > 1 and each.name[1] != "")))


def missing(kept: Iterable[Thing], now: Iterable[Thing]) -> tuple[Thing, ...]:
    """Return those of *kept* that are not there *now*."""
    there = {(each.kind, each.link, each.name) for each in now}
    return tuple(each for each in kept if (each.kind, each.link, each.name) not in there)


def render(things: Iterable[Thing]) -> bytes:
    """Return the things as they are stored."""
    return json.dumps([asdict(each) for each in things]).encode() + b"\n"


def parse(content: bytes) -> tuple[Thing, ...]:
    """Return the things from their bytes. Raises ValueError."""
    try:
        return tuple(map(_thing, json.loads(content)))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a list of things: {error}") from error


def _thing(item: Mapping[str, Any]) -> Thing:
    message = bytes.fromhex(item["message"]).hex()
    return Thing(Kind(item["kind"]), str(item["link"]), tuple(map(str, item["name"])), message)


ORDER = "allow-extra-patch-ports"
IDENTITY = frozenset({"name", "type", "state"})
FAMILIES = ("ipv4", "ipv6")
Document = dict[str, Any]


def remaining(difference: Mapping[str, Any], state: Mapping[str, Any], others: Others = NO_OTHERS) -> Document:
    """Return what is left of libnmstate's *difference* to *state* once what it only takes for one is left out.

    The state names the main table of every route, a node file rarely does. ``allow-extra-patch-ports`` is an order for
    the apply and is not in any state. Both arguments are documents of libnmstate. An empty result: nothing to do.
    """
    known = [_with_table(route) for route in state.get("routes", {}).get("config", ())]
    left = {key: value for key, value in difference.items() if value and key not in {"routes", "interfaces"}}
    asked = (_without_what_is_there(link, state, others) for link in difference.get("interfaces", ()))
    links = [link for link in asked if link is not None]
    wanted = difference.get("routes", {}).get("config", ())
    routes = [route for route in wanted if not any(_within(_with_table(route), other) for other in known)]
    left |= {"interfaces": links} if links else {}
    return {**left, "routes": {"config": routes}} if routes else left


def without_others(state: Mapping[str, Any], others: Others) -> Mapping[str, Any]:
    """Return *state* as it would be without the ports on bridges of Open vSwitch, and all on these bridges, of others.

    For the plan of such a bridge: whatever stands on it and is of another program is no part of its configuration.
    """
    if not others:
        return state
    inside = {item["name"] for item in state.get("interfaces", ()) if item.get("type") == nmstate.OVS_INTERFACE}
    interfaces = [_stripped(item, others) for item in state.get("interfaces", ())]
    routes = {
        part: [each for each in found or () if not _is_theirs(each, others, inside)]
        for part, found in state.get("routes", {}).items()
    }
    return {**state, "interfaces": interfaces, "routes": routes}


def _stripped(item: Mapping[str, Any], others: Others) -> Mapping[str, Any]:
    name = str(item.get("name"))
    if item.get("type") == nmstate.OVS_BRIDGE:
        foreign = others.ports_of(name)
        section = item.get("bridge", {})
        ports = [port for port in section.get("port") or () if port.get("name") not in foreign]
        return {**item, "bridge": {**section, "port": ports}} if foreign else item
    addresses = others.addresses(name) if item.get("type") == nmstate.OVS_INTERFACE else ()
    return next(iter(nmstate.without_addresses({"interfaces": [item]}, addresses)["interfaces"]))


def _is_theirs(route: Mapping[str, Any], others: Others, links: set[str]) -> bool:
    link = str(route.get("next-hop-interface"))
    hop = nmstate.gateway_of(route) or ""
    return link in links and (str(route.get("destination")), hop, str(nmstate.table_of(route))) in others.routes(link)


def _without_what_is_there(link: Mapping[str, Any], state: Mapping[str, Any], others: Others) -> Document | None:
    """Return what *link*, of a difference, asks for beyond the state; None: nothing."""
    name, now = str(link.get("name")), _now(state, link)
    left: Document = {}
    for key, section in link.items():
        asked = section
        if key in FAMILIES and isinstance(section, Mapping):
            asked = _less(section, now.get(key) or {}, "address", "ip", others.addresses(name))
        elif key == "bridge" and isinstance(section, Mapping):
            asked = _less(section, now.get(key) or {}, "port", "name", others.ports_of(name))
            asked = {} if asked.keys() == {ORDER} else asked
        if asked or asked == section:
            left[key] = asked
    return None if left.keys() <= IDENTITY and left.keys() != link.keys() else left


def _less(
    section: Mapping[str, Any], now: Mapping[str, Any], key: str, name: str, others: frozenset[str]
) -> Mapping[str, Any]:
    """Return *section* without the list *key* where all of that list is there, and all else there is of *others*."""
    if key not in section:
        return section
    wanted = {str(each.get(name)): each for each in section[key] or ()}
    there = {str(each.get(name)): each for each in now.get(key) or ()}
    same = all(each in there and _within(part, there[each]) for each, part in wanted.items())
    more = there.keys() - wanted.keys()
    is_no_difference = same and more and more <= others
    return {each: value for each, value in section.items() if each != key} if is_no_difference else section


def _now(state: Mapping[str, Any], link: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what *state* has of the link of a difference."""
    name, kind = str(link.get("name")), link.get("type")
    found = nmstate.ovs_bridge(state, name) if kind == nmstate.OVS_BRIDGE else nmstate.link(state, name)
    return found or {}


def _with_table(route: Mapping[str, Any]) -> Document:
    table = route.get("table-id")
    return {**route, "table-id": nmstate.MAIN_TABLE if table in (None, 0) else table}


def _within(part: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    return all(whole.get(key) == value for key, value in part.items())
