"""Which nodes of a fleet are odd, and why? Each is compared with the nodes that have its role.

A value is odd if more than half of the nodes of that role share another one. Without such a value the digests say
nothing (the node file may have values of each host), while a fleet without a common MTU is odd as a whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from nodenet.core.fleet.host import Host
from nodenet.core.value import frozen

SLOWER = 10
"""A boot is slow if it took so many times the median of its role."""
LEAST_SECONDS = 5.0
"""A shorter boot is not slow."""
MOST_NAMED = 3
DIGITS = 12
_DIGITS = re.compile(r"([0-9]{1,50})")


@frozen
class Mark:
    """What is odd about a node: the *column* that shows it, and why in words."""

    column: str
    why: str


Marks = dict[str, list[Mark]]
"""Place of a node → what is odd about it."""


def marks(hosts: Sequence[Host]) -> Marks:
    """Return what is odd about each node; nodes without an entry are not odd."""
    found: Marks = {}
    for one in hosts:
        found[one.place] = list(_alone(one))
    for role in sorted({one.role for one in hosts}):
        _beside_the_role([one for one in hosts if one.role == role], found)
    _shared("host", "the host name", hosts, lambda one: (one.name.lower(),), found)
    _shared("node IPs", "", hosts, lambda one: dict.fromkeys((*one.node_ips, *one.addresses)), found)
    _shared("MAC", "the MAC ", hosts, lambda one: sorted(one.macs), found)
    return {place: each for place, each in found.items() if each}


def _alone(one: Host) -> Iterator[Mark]:
    """Yield what is odd about a node by itself."""
    if one.health and one.health != "ok":
        yield Mark("health", f"{one.health}: {one.cause}" if one.cause else one.health)
    elif not (one.health or one.macs or one.addresses):
        yield Mark("health", "; ".join(one.missing) or "nothing is known")
    elif one.health and not one.ready:
        yield Mark("health", "not ready")
    if one.digest and one.applied and one.digest != one.applied:
        yield Mark("digest", f"{one.node_file} is not applied: {one.applied[:DIGITS]} is")


def _beside_the_role(same: list[Host], found: Marks) -> None:
    role = same[0].role
    _another("MTU", role, same, lambda one: str(one.mtu or ""), found)
    _another("version", role, same, lambda one: one.version, found)
    for file in sorted({one.node_file for one in same if one.node_file}):
        of_file = [one for one in same if one.node_file == file]
        _another("digest", f"{role} with {file}", of_file, lambda one: one.digest[:DIGITS], found)
    took = [one.boot_seconds for one in same if one.boot_seconds is not None]
    usual = sorted(took)[len(took) // 2] if took else 0.0
    for one in same:
        if one.boot_seconds and one.boot_seconds > max(LEAST_SECONDS, SLOWER * usual):
            found[one.place].append(Mark("boot", f"{one.boot_seconds:.1f} s, the median is {usual:.1f} s ({role})"))


def _another(column: str, role: str, same: Iterable[Host], value: Callable[[Host], str], found: Marks) -> None:
    """Mark the nodes with another value than most of their role."""
    known = [(one, text) for one in same if (text := value(one))]
    counted = Counter(text for _, text in known)
    if len(counted) < 2:
        return
    usual, times = counted.most_common(1)[0]
    is_common = times * 2 > len(known)
    if not is_common and column == "digest":
        return
    others = ", ".join(f"{text} ({number})" for text, number in counted.most_common(MOST_NAMED))
    for one, text in known:
        if not is_common:
            found[one.place].append(Mark(column, f"{text}: {role} nodes have {others}"))
        elif text != usual:
            found[one.place].append(Mark(column, f"{text}, and {times} of {len(known)} have {usual} ({role})"))


def _shared(
    column: str, what: str, hosts: Sequence[Host], values: Callable[[Host], Collection[str]], found: Marks
) -> None:
    """Mark the nodes that have a value in common which only one may have."""
    having: dict[str, list[Host]] = {}
    for one in hosts:
        for each in values(one):
            having.setdefault(each, []).append(one)
    for each, several in having.items():
        if len(several) < 2:
            continue
        for one in several:
            others = [other.place if column == "host" else other.name for other in several if other is not one]
            more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            named = f"{', '.join(others[:MOST_NAMED])}{more}"
            found[one.place].append(Mark(column, f"{what if column == 'host' else what + each} is that of {named} too"))


def newest(hosts: Iterable[Host]) -> tuple[list[Host], list[Host]]:
    """Return the nodes, and older documents of the same nodes: those of one name that share a MAC, or show none."""
    kept: dict[str, list[Host]] = {}
    older: list[Host] = []
    for one in sorted(hosts, key=lambda each: (each.made, each.place), reverse=True):
        same = kept.setdefault(one.name.lower(), [])
        if any(not one.macs or not other.macs or one.macs & other.macs for other in same):
            older.append(one)
        else:
            same.append(one)
    return sorted((one for same in kept.values() for one in same), key=lambda one: natural(one.name)), older


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return the key that sorts ``worker-9`` before ``worker-10``."""
    parts = _DIGITS.split(name.lower())
    return tuple((0, int(part), "") if number % 2 else (1, 0, part) for number, part in enumerate(parts))
