"""What do other programs have on the links of this node at one moment, and how is it kept over a change?"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

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
