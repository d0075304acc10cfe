"""When is a file tried again that was refused for what another host did, or a policy that found nothing?

For as long as kubelet waits for it. A host that had the address, or did not answer, is asked with a back-off: it may be
switched off, be an attacker that has left, or a router that was starting. The network that a policy looks at may still
come, as a lease does. A node that works is not changed without an order.
"""

from __future__ import annotations

from nodenet.core.apply.retry import pauses
from nodenet.core.backoff import backoff
from nodenet.core.boot.outcome import Again, Failed, Topic
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.node_ip.published_files import USERS
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.ports import Systemd


class LaterTries:
    """Counts how often in a row a file was refused for another host; keeps why a policy was refused."""

    def __init__(self, systemd: Systemd) -> None:
        """Ask *systemd* whether kubelet waits."""
        self._systemd = systemd
        self._times: tuple[str, int] = ("", 0)
        self._unresolved: tuple[str, Failed] | None = None

    async def is_due(self, digest: str) -> bool:
        """Return whether the file with *digest* is tried again though it was refused in this boot.

        Kubelet may have started since, with the node IPs of the last boot.
        """
        return self._times[0] == digest and await self._systemd.any_runs(USERS) is False

    async def again(self, digest: str, failure: NmstateFailure, refused: Failed) -> Failed:
        """Return *refused*, with the time of the next try where there is one."""
        number = self._times[1] + 1 if self._times[0] == digest else 1
        self._times = "", 0
        first_and_longest = pauses(failure.kind) if isinstance(failure, ProbeFailed) else None  # it was rolled back
        if first_and_longest is None or await self._systemd.any_runs(USERS) is not False:
            return refused
        self._times = digest, number
        return Failed(refused.problem, refused.facts, Again(seconds=backoff(number, *first_and_longest)))

    async def too_late(self, digest: str) -> Failed | None:
        """Return why the policy with *digest* was refused, if kubelet runs by now: its order is missing."""
        if self._unresolved is None or self._unresolved[0] != digest or not await self._systemd.any_runs(USERS):
            return None
        return self._unresolved[1]

    async def unresolved(self, digest: str, refused: Failed) -> Failed:
        """Return *refused*, of the policy with *digest*, with the events after which it is resolved again."""
        self._unresolved = digest, refused
        if await self._systemd.any_runs(USERS):
            return refused
        return Failed(refused.problem, refused.facts, Again(frozenset({Topic.KERNEL, Topic.NETWORK_MANAGER})))
