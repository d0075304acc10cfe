"""May ``api-int`` be the API VIP although the resource names an external load balancer?

Only where that load balancer has not answered since this node came up, for a minute, while the API answers at its VIP:
a cluster that comes back from a power cut is not to wait for a machine outside. One that has answered once in this boot
keeps the name, whatever happens to it later, except while a migration drains the VIP: then it has the name on trial.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import ip_address

from nodenet.core.ip import IPAddress

PATIENCE_SECONDS = 60.0
TRIAL_SECONDS = 6.0
"""The patience while the load balancer has the name on trial, in a migration."""
RETURN_ANSWERS = 5
"""So many good answers in a row give the name back."""
MOST_BYTES = 1024


class Way(StrEnum):
    """Where the name leads."""

    UNTRIED = "untried"
    """To the external load balancer, which has not answered yet in this boot."""
    EXTERNAL = "external"
    """To the external load balancer, which has answered."""
    VIP = "vip"


@dataclass(frozen=True, slots=True)
class Trial:
    """What is known of the load balancer at *addresses*.

    *since*: when it was first found dead, on a monotonic clock; *good*: its good answers in a row.
    """

    addresses: frozenset[IPAddress] = frozenset()
    way: Way = Way.UNTRIED
    since: float | None = None
    good: int = 0


def after(trial: Trial, now: float, *, external: bool, vip: bool, migrates: bool = False) -> Trial:
    """Return the trial after one more look: whether the *external* load balancer and the API at its *vip* answered.

    *migrates*: whether the load balancer has just got the name.
    """
    if external:
        good = trial.good + 1
        back = trial.way is not Way.VIP or good >= RETURN_ANSWERS
        return replace(trial, way=Way.EXTERNAL if back else Way.VIP, since=None, good=good)
    since = now if trial.since is None else trial.since
    patience = TRIAL_SECONDS if migrates else PATIENCE_SECONDS
    dead = (migrates or trial.way is Way.UNTRIED) and vip and now - since >= patience
    return replace(trial, way=Way.VIP if dead else trial.way, since=since, good=0)


def render(trial: Trial) -> bytes:
    """Return the file of this boot that says where the name leads."""
    addresses = sorted(map(str, trial.addresses))
    return json.dumps({"addresses": addresses, "way": trial.way.value}).encode() + b"\n"


def parse(content: bytes | None, addresses: Collection[IPAddress]) -> Trial:
    """Return the trial of *addresses* in the file; a file of another kind has none."""
    known, way = _read(content)
    fresh = Trial(frozenset(addresses))
    return replace(fresh, way=way) if known == fresh.addresses else fresh


def dead(content: bytes | None) -> frozenset[IPAddress]:
    """Return the addresses of the load balancer that the API VIP replaces, none while it does not."""
    addresses, way = _read(content)
    return addresses if way is Way.VIP else frozenset()


def _read(content: bytes | None) -> tuple[frozenset[IPAddress], Way]:
    try:
        found = json.loads(content or b"{}")
        return frozenset(map(ip_address, found["addresses"])), Way(found["way"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset(), Way.UNTRIED
