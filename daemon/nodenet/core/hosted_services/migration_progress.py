"""Has this node done its part of a migration's phase, and what keeps it from that?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from nodenet.core.hosted_services.health import Answer, Result
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

GOOD_ANSWERS, BAD_ANSWERS = 5, 5
"""So many in a row pass or fail the external load balancer."""
VIP_ANSWERS = 10
"""So many good ones in a row pass the VIP."""


@frozen
class Tries:
    """The last answers of one address: *good* and *bad* ones in a row, and what was wrong with the last bad one."""

    good: int = 0
    bad: int = 0
    problem: str = ""


@frozen
class Facts:
    """What a node has found in one phase.

    *tries*: the answers of each address that the phase checks. *named*: what this node's DNS answers for ``api-int``,
    None where it is not to answer. *holders*: how many hosts hold each API VIP. *lost*: the new address answered no
    more.
    """

    control_plane: bool
    tries: Mapping[IPAddress, Tries] = field(default_factory=dict)
    named: frozenset[IPAddress] | None = None
    redirects: bool = False
    balances: bool = False
    holders: Mapping[IPAddress, int] = field(default_factory=dict)
    lost: bool = False


@frozen
class Progress:
    """This node's part: of which *attempt* and *phase*, whether it is done, and what is wrong.

    *lost*: the new address does not answer this node any more.
    """

    attempt: int
    phase: Phase
    ready: bool = False
    problem: str = ""
    lost: bool = False


def after(tries: Tries, result: Result) -> Tries:
    """Return the tries after one more answer."""
    if result.answer is Answer.GOOD:
        return Tries(good=tries.good + 1)
    return Tries(bad=tries.bad + 1, problem=result.problem)


def progress(migration: Migration, facts: Facts) -> Progress:
    """Return this node's part of the phase; a worker has one in ``SWITCH_DNS`` alone."""
    made = Progress(migration.attempt, migration.phase, lost=migration.switched and facts.lost)
    if facts.lost and migration.switched:
        shown = " and ".join(map(str, migration.target)) or "the API VIP"
        return replace(made, problem=f"the API does not answer at {shown} any more")
    if not facts.control_plane and migration.phase is not Phase.SWITCH_DNS:
        return replace(made, ready=True)
    problem = _problem(migration, facts)
    return replace(made, ready=problem is None, problem=problem or "")


def _problem(migration: Migration, facts: Facts) -> str | None:
    """Return what is missing: None when the part is done, an empty text while that is open."""
    match migration.phase:
        case Phase.VERIFY | Phase.DRAIN_HAPROXY | Phase.DRAIN_EXTERNAL:
            return _verified(facts.tries, GOOD_ANSWERS if migration.phase is Phase.VERIFY else 1)
        case Phase.START_HAPROXY:
            return None if facts.balances else "haproxy has no API server that answers yet"
        case Phase.VERIFY_VIP:
            wrong = next(
                (f"the VIP {vip} has {count} holders" for vip, count in facts.holders.items() if count != 1), ""
            )
            return wrong or _verified(facts.tries, VIP_ANSWERS)
        case Phase.SWITCH_DNS if facts.named is not None and facts.named != frozenset(migration.target):
            shown = " and ".join(sorted(map(str, facts.named))) or "nothing"
            return f"DNS of this node answers {shown} for api-int"
        case Phase.REDIRECT_OFF:
            return "the redirect to haproxy is on" if facts.redirects else None
    return None


def _verified(tries: Mapping[IPAddress, Tries], wanted: int) -> str | None:
    """Return None when each address has answered *wanted* times in a row, a problem after as many failures."""
    for address, found in tries.items():
        if found.bad >= BAD_ANSWERS:
            return f"{address}: {found.problem}"
    return None if tries and all(found.good >= wanted for found in tries.values()) else ""
