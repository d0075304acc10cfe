"""Which address does ``api-int`` have on this node while the API does not answer where the resource leads?

At rest, the API VIP may replace an external load balancer that has not answered since this node came up, for a minute,
while the API answers at the VIP: a cluster that comes back from a power cut is not to wait for a machine outside. One
that has answered once in this boot keeps the name, whatever happens to it later.

While the API moves, the address that has the name has it on trial, because another one serves as well: the VIP, and
after the switch of DNS the load balancer of before.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum
from ipaddress import ip_address

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

PATIENCE_SECONDS = 60.0
TRIAL_SECONDS = 6.0
"""The patience with a load balancer that has the name on trial, in a migration."""
VIP_TRIAL_SECONDS = 15.0
"""That with the VIP: a takeover by another node needs three seconds."""
RETURN_ANSWERS = 5
"""So many good answers in a row give the name back."""
MOST_BYTES = 1024


class Way(StrEnum):
    """Where the name leads."""

    UNTRIED = "untried"
    """Where it should, to an address that has not answered yet in this boot."""
    EXTERNAL = "external"
    """Where it should, to an address that has answered."""
    VIP = "vip"
    """To an address that replaces it."""


@frozen
class Trial:
    """What is known of the *addresses* that should have the name.

    *dead*: those that do not have it, and others that cannot replace them. *since*: when they were first found dead, on
    a monotonic clock; *good*: their good answers in a row.
    """

    addresses: frozenset[IPAddress] = frozenset()
    way: Way = Way.UNTRIED
    dead: frozenset[IPAddress] = frozenset()
    since: float | None = None
    good: int = 0


@frozen
class Look:
    """What one look has found: whether the addresses that should have the name *answer*.

    *dead*: the addresses before the first one that can replace them, empty where none answers. *patience*: how long
    they may be silent, in seconds. *migrates*: whether a migration goes on.
    """

    answers: bool
    dead: frozenset[IPAddress] = frozenset()
    patience: float = PATIENCE_SECONDS
    migrates: bool = False


def after(trial: Trial, now: float, look: Look) -> Trial:
    """Return the trial after one more look."""
    if look.answers:
        good = trial.good + 1
        back = trial.way is not Way.VIP or good >= RETURN_ANSWERS
        kept = replace(trial, since=None, good=good)
        return replace(kept, way=Way.EXTERNAL, dead=frozenset()) if back else kept
    since = now if trial.since is None else trial.since
    on_trial = look.migrates or trial.way is not Way.EXTERNAL
    if on_trial and look.dead and now - since >= look.patience:
        return replace(trial, way=Way.VIP, dead=look.dead, since=since, good=0)
    return replace(trial, since=since, good=0)


def render(trial: Trial) -> bytes:
    """Return the file of this boot that says where the name leads."""
    found: dict[str, object] = {"addresses": _texts(trial.addresses), "way": trial.way.value}
    if trial.way is Way.VIP and trial.dead != trial.addresses:
        found["dead"] = _texts(trial.dead)
    return json.dumps(found).encode() + b"\n"


def parse(content: bytes | None, addresses: Collection[IPAddress]) -> Trial:
    """Return the trial of *addresses* in the file; a file of another kind has none."""
    known, way, gone = _read(content)
    fresh = Trial(frozenset(addresses))
    return replace(fresh, way=way, dead=gone) if known == fresh.addresses else fresh


def dead(content: bytes | None) -> frozenset[IPAddress]:
    """Return the addresses that another one replaces, and what cannot replace them; none while none does."""
    return _read(content)[2]


def _read(content: bytes | None) -> tuple[frozenset[IPAddress], Way, frozenset[IPAddress]]:
    try:
        found = json.loads(content or b"{}")
        addresses, way = frozenset(map(ip_address, found["addresses"])), Way(found["way"])
        gone = frozenset(map(ip_address, found.get("dead", found["addresses"])))
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset(), Way.UNTRIED, frozenset()
    return addresses, way, gone if way is Way.VIP else frozenset()


def _texts(addresses: Collection[IPAddress]) -> list[str]:
    return sorted(map(str, addresses))
