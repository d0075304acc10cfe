"""Does a bond, or a bridge with several uplinks, run on fewer legs than it has? One carrier is enough to work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.uplink_health.watched import Place

BOND = "bond"


def notes(place: Place, names: Sequence[str], snapshot: Snapshot) -> tuple[str, ...]:
    """Return what an administrator should know of the legs of the uplinks *names* of *place*."""
    links = {link.name: link for link in snapshot.links}
    uplinks = [links[name] for name in names if name in links]
    found = [note for link in uplinks if link.kind == BOND for note in _note(link.name, _ports(link, snapshot))]
    return (*found, *_note(place.link, uplinks)) if len(uplinks) > 1 else tuple(found)


def _ports(bond: Link, snapshot: Snapshot) -> list[Link]:
    return [link for link in snapshot.links if link.master == bond.name]


def _note(name: str, legs: Sequence[Link]) -> Iterator[str]:
    lost = sorted(leg.name for leg in legs if not (leg.up and leg.carrier))
    if 0 < len(lost) < len(legs):
        have = "has" if len(lost) == 1 else "have"
        yield f"{name} runs on {len(legs) - len(lost)} of {len(legs)} ports: {' and '.join(lost)} {have} no carrier"
