"""How often was a node file tried in this boot, and what is left to try?"""

from __future__ import annotations

from nodenet.core.apply.retry import BUDGET_SECONDS, may_try_again
from nodenet.core.errors import NodenetError
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.value import frozen


@frozen
class Tried:
    """How often a file was tried, when that began (seconds of CLOCK_BOOTTIME), and how the last try failed."""

    number: int
    began: float
    last: NodenetError


class Tries:
    """The failed tries of each file, by digest, while another may follow."""

    def __init__(self) -> None:
        """Begin with none."""
        self._failed: dict[str, Tried] = {}

    def another(self, digest: str, failure: NmstateFailure, *, began: float, now: float) -> int | None:
        """Count a try of *digest* that *began* and failed; return its number, None where no other may follow."""
        before = self._failed.pop(digest, None)
        number, since = (before.number + 1, before.began) if before else (1, began)
        if not may_try_again(failure, number, now - since):
            return None
        self._failed[digest] = Tried(number, since, failure)
        return number

    def used_up(self, digest: str, now: float) -> NodenetError | None:
        """Return how *digest* failed last where its time is over; then it is counted no more."""
        tried = self._failed.get(digest)
        if tried is None or now - tried.began < BUDGET_SECONDS:
            return None
        return self._failed.pop(digest).last

    def over(self, digest: str) -> None:
        """Forget *digest*, which is refused."""
        self._failed.pop(digest, None)

    def clear(self) -> None:
        """Forget all: a file is in force."""
        self._failed.clear()
