"""Does a fixture notice when a rule of node IP selection is broken? `python tools/mutations.py` prints the report.

Each mutant breaks one thing: a rule that rejects never holds, a place of the rank counts for nothing or the wrong way
round, what was published is forgotten. The cases under ``fixtures/node_ip`` must not all come out as written down.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from node_ip_cases import Case, directories, read_case, told
from nodenet.core.node_ip import choice, ranking, rules
from nodenet.core.node_ip import pending as waiting
from nodenet.core.node_ip import select as selection
from nodenet.core.node_ip.ranking import Ranked, Surroundings
from nodenet.core.node_ip.select import Selection

SAME_PAIR = "addresses equal up to this place are on one link, and whichever leads, the other one accompanies it"
HARMLESS = {f"rank: the preferred family is {verb}": SAME_PAIR for verb in ("ignored", "turned round")}
"""Mutants that no fixture can notice, and why not."""

Break = Callable[[Case], Case]
"""What a mutant does to a case before it is asked; most do nothing here, for the code itself is broken."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken thing: a module's attribute and what takes its place, or what is kept from the selection."""

    name: str
    where: tuple[tuple[Any, str, object], ...] = ()
    before: Break = lambda case: case

    def killer(self, cases: dict[str, tuple[Case, Any]]) -> str | None:
        """Return the first case that comes out differently, None when no case notices."""
        with replaced(self.where):
            for name, (case, expected) in cases.items():
                if _outcome(self.before(case)) != expected:
                    return name
        return None


@contextmanager
def replaced(places: tuple[tuple[Any, str, object], ...]) -> Iterator[None]:
    """Put other values in the place of attributes, for a while."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    try:
        for owner, name, value in places:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def read_cases() -> dict[str, tuple[Case, Any]]:
    """Return every case with its expected result, by name."""
    return {path.name: (read_case(path), json.loads((path / "expected.json").read_text())) for path in directories()}


def _outcome(case: Case) -> dict[str, Any] | str:
    try:
        chosen: Selection = case.selection()
        return told(chosen)
    except Exception as error:  # noqa: BLE001 - a mutant may do anything, and has then been noticed
        return repr(error)


def mutants() -> Iterator[Mutant]:
    """Yield every mutant."""
    yield from _rules()
    yield from _ranks()
    yield from _wishes()
    yield from _families()
    yield from _stickiness()


def _rules() -> Iterator[Mutant]:
    """Yield selections without one of the rules that reject, and without what makes a rule pass."""
    for dropped, _ in rules.REJECTIONS:
        left = tuple(entry for entry in rules.REJECTIONS if entry[0] is not dropped)
        yield Mutant(f"rule {dropped} never holds", ((rules, "REJECTIONS", left),))
    for rule in sorted(rules.PASSING):
        yield Mutant(f"{rule} takes away what is published", ((selection, "PASSING", rules.PASSING - {rule}),))


def _ranks() -> Iterator[Mutant]:
    """Yield selections that ignore a place of the rank, or want the opposite there."""
    for place, words in enumerate(ranking.KEY_NAMES):
        for verb, factor in (("ignored", 0), ("turned round", -1)):
            broken = _reranked(place, factor)
            yield Mutant(f"rank: {words} is {verb}", ((selection, "ranked", broken), (waiting, "ranked", broken)))


def _reranked(place: int, factor: int) -> Callable[[rules.Case, Surroundings], Ranked]:
    genuine = ranking.ranked

    def broken(case: rules.Case, around: Surroundings) -> Ranked:
        found = genuine(case, around)
        key = tuple(value * factor if i == place else value for i, value in enumerate(found.key))
        return found._replace(key=key)

    return broken


def _wishes() -> Iterator[Mutant]:
    """Yield selections that do not hear one of the administrator's wishes."""
    unheard: dict[str, Any] = {
        "hints": (),
        "hint_required": False,
        "families": "auto",
        "prefer_ipv6": False,
        "network_type": "Calico",
        "platform": "none",
        "user_managed_lb": False,
        "deny_links": (),
        "masquerade_subnets": (),
        "route_tables": ("main",),
        "stated": frozenset(),
        "api_vips": (),
        "ingress_vips": (),
    }
    for name, value in unheard.items():
        yield Mutant(f"policy: {name} is ignored", before=_without(name, value))


def _without(name: str, value: object) -> Break:
    return lambda case: replace(case, policy=replace(case.policy, **{name: value}))  # type: ignore[arg-type]


def _families() -> Iterator[Mutant]:
    """Yield selections in which the metrics of one family decide for the other."""
    yield Mutant("families: any metric decides", ((choice, "_best", lambda places, _: places[0]),))


def _stickiness() -> Iterator[Mutant]:
    """Yield selections that forget what was published, wholly or in part."""
    yield Mutant("sticky: forgotten", before=lambda case: replace(case, sticky=None))
    for word, value in (("another", False), ("this", True)):
        yield Mutant(f"sticky: always of {word} boot", before=_of_boot(this=value))
    yield Mutant("sticky: the companion is forgotten", before=_first_only)
    yield Mutant("sticky: the link is forgotten", before=_without_mac)


def _of_boot(*, this: bool) -> Break:
    return lambda case: replace(case, sticky=case.sticky and replace(case.sticky, this_boot=this))


def _first_only(case: Case) -> Case:
    return replace(case, sticky=case.sticky and replace(case.sticky, addresses=case.sticky.addresses[:1]))


def _without_mac(case: Case) -> Case:
    return replace(case, sticky=case.sticky and replace(case.sticky, permanent_mac=None))


def main() -> int:
    """Print what became of each mutant; exit 1 when one survives."""
    cases, survivors = read_cases(), 0
    for mutant in mutants():
        killer, excuse = mutant.killer(cases), HARMLESS.get(mutant.name)
        survivors += killer is None and excuse is None
        fate = f"noticed by {killer}" if killer else f"harmless: {excuse}" if excuse else "SURVIVES"
        sys.stdout.write(f"{mutant.name}: {fate}\n")
    sys.stdout.write(f"{survivors} of {len(list(mutants()))} survive\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
