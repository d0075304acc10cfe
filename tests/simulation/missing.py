"""Which faults have never struck at which call of a stage, and why not?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from simulation.kinds import KINDS
from simulation.run import Triple

FEW = 10.0
"""Where so many strikes are expected, none at all is seen by chance in one of 20 000 cases."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A triple that no run had; *call* alone: no fault at all has struck there."""

    stage: str
    call: str
    kind: str
    reason: str
    is_seldom: bool = False
    """Whether more runs may have it."""

    def __str__(self) -> str:
        return "\t".join((self.stage or "no stage", self.call or "no call", self.kind or "any fault", self.reason))


def missing(covered: Mapping[Triple, int], calls: Collection[str]) -> Iterator[Missing]:
    """Yield the triples that *covered* lacks, of all its stages and calls and all kinds; *calls* are all there are."""
    of_place, of_kind = Counter[tuple[str, str]](), Counter[str]()
    for (stage, call, kind), times in covered.items():
        of_place[stage, call] += times
        of_kind[kind] += times
    strikes = sum(of_kind.values())
    for (stage, call), there in sorted(of_place.items()):
        for kind in sorted(KINDS):
            if (stage, call, kind) not in covered:
                yield Missing(stage, call, kind, *_why(there, of_kind[kind], strikes))
    for call in sorted(set(calls) - {call for _, call in of_place}):
        yield Missing("any stage", call, "", "nodes make this call, and no fault has struck there")


def _why(there: int, of_kind: int, strikes: int) -> tuple[str, bool]:
    """Return why none of *of_kind* faults, of *strikes* in all, was among the *there* at a call; whether by chance."""
    expected = there * of_kind / strikes
    if not of_kind:
        return "this fault has not struck anywhere", False
    text = f"{there} of {strikes} strikes were there, and {expected:.1f} of this kind are expected among them"
    return (f"seldom: {text}", True) if expected < FEW else (f"not by chance: {text}", False)
