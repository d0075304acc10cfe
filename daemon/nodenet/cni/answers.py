"""What does the service know, for people: which addresses, why, and whether store, Leases and claims agree?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from nodenet.core.persistent_ips import check, explain
from nodenet.core.persistent_ips.effects import Here, ListLeases, Steps, ask
from nodenet.core.persistent_ips.lease import all_selector
from nodenet.core.persistent_ips.metrics import Figures

MOST_REFUSALS = 1000
"""Of so many pods the last refusal is remembered."""
T = TypeVar("T")


class Run(Protocol):
    """Carries out the steps of a verb."""

    def __call__(self, steps: Steps[T]) -> Awaitable[T]:
        """Return what *steps* return. Raises what they raise."""


class Answers:
    """The answers to questions over the bus; fits ``bus_object.Answers``."""

    def __init__(self, here: Callable[[], Here], run: Run, problems: Callable[[], Sequence[str]]) -> None:
        """*here*: what a verb gets that begins now. *problems*: what is wrong at the moment."""
        self._here = here
        self._run = run
        self._problems = problems
        self._figures = Figures()
        self._refusals: dict[str, str] = {}

    def refused(self, pod: str, cause: str) -> None:
        """Remember why *pod* (NAMESPACE/NAME) got no address."""
        self._refusals.pop(pod, None)
        self._refusals[pod] = cause
        if len(self._refusals) > MOST_REFUSALS:
            del self._refusals[next(iter(self._refusals))]

    def served(self, pod: str) -> None:
        """Forget the refusal: *pod* got its addresses."""
        self._refusals.pop(pod, None)

    def document(self) -> Mapping[str, Any]:
        """Return the claims document."""
        here = self._here()
        return explain.document(here.book, here.node, self._problems())

    def figures(self) -> Figures:
        """Return what is counted and measured since the service started."""
        return self._figures

    def explain(self, claim: str) -> str:
        """Return why the claim NAMESPACE/NAME has its addresses, or what it waits for."""
        namespace, _, name = claim.partition("/")
        return explain.explain(self._here().book, namespace, name, self._refusals)

    async def check(self, *, repair: bool) -> Mapping[str, Any]:
        """Compare store, Leases and claims, and repair where that is safe. Raises ApiAway, Forbidden, PublishFailed."""
        here = self._here()
        before = frozenset(here.book.reservations())
        leases = await self._run(ask(ListLeases(all_selector())))
        found: list[tuple[check.Difference, bool]] = []
        for difference in check.differences(here, leases):
            if difference.row is not None and difference.row not in before:
                continue  # reserved while the Leases were listed: its Lease may not be among them
            found.append((difference, False))
        if repair:
            found = [(one, await self._run(check.repair(self._here(), one))) for one, _ in found]
        return check.document(here.book, leases, found)
