"""When is a file tried again that was refused for what another host did: it had an address, or it did not answer?

With a back-off, for as long as kubelet waits for the file: that host may be switched off, it may be an attacker that
has left, or a router that was starting. A node that works is not changed without an order.
"""

from __future__ import annotations

from nodenet.core.apply.retry import pauses
from nodenet.core.backoff import backoff
from nodenet.core.boot.outcome import Again, Failed
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.node_ip.published_files import USERS
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.ports import Systemd


class LaterTries:
    """Counts how often in a row a file was refused for another host."""

    def __init__(self, systemd: Systemd) -> None:
        """Ask *systemd* whether kubelet waits."""
        self._systemd = systemd
        self._times: tuple[str, int] = ("", 0)

    def waits(self, digest: str) -> bool:
        """Return whether the file with *digest* is tried again though it was refused in this boot."""
        return self._times[0] == digest

    async def again(self, digest: str, failure: NmstateFailure, refused: Failed) -> Failed:
        """Return *refused*, with the time of the next try where there is one."""
        number = self._times[1] + 1 if self.waits(digest) else 1
        self._times = "", 0
        first_and_longest = pauses(failure.kind) if isinstance(failure, ProbeFailed) else None  # it was rolled back
        if first_and_longest is None or await self._systemd.any_runs(USERS):
            return refused
        self._times = digest, number
        return Failed(refused.problem, refused.facts, Again(seconds=backoff(number, *first_and_longest)))
