"""Is the node without an address because a link is set down? In a boot without a node IP it is set up again.

NetworkManager would use the link and does not set it up a second time, so the boot would wait for ever. Later in a boot
an administrator may have set it down: then the status names the command that sets it up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Outcome, Topic, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.messages import Message
from nodenet.core.node_ip import lowered
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.published_files import PRIMARY, RUN
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Files, Kernel, Profiles, Stage

log = structlog.get_logger()

DOWN_SECONDS = 5.0
"""How long a link is left down: NetworkManager sets its links up in its first second, and drivers reset links."""
TIMES = 3
"""How often nodenetd sets a link up: one that goes down again and again is an administrator's or a driver's concern."""


class RaiseLinks:
    """Runs the stage that chooses the node IP, and sets links up while it waits."""

    def __init__(  # noqa: PLR0913  (its edges)
        self, stage: Stage, policy: Policy, kernel: Kernel, profiles: Profiles, files: Files, clock: Clock
    ) -> None:
        """Run *stage*; a link that *policy* denies is left as it is."""
        self._stage = stage
        self._kernel = kernel
        self._profiles = profiles
        self._files = files
        self._clock = clock
        self._policy = policy
        self._down = NEVER
        self._raised: Counter[str] = Counter()

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome; a wait ends earlier where a link must be set up."""
        outcome = await self._stage.attempt(facts, request)
        if not isinstance(outcome, Waiting) or self._has_published():
            self._down = NEVER
            return outcome
        try:
            left = await self._raise()
        except Unavailable as error:
            log.debug("A link that is down could not be set up", stage="nodeip", cause=error.cause)
            return outcome
        if left is None:
            return outcome
        seconds = left if outcome.seconds is None else min(outcome.seconds, left)
        return replace(outcome, topics=outcome.topics | {Topic.KERNEL}, seconds=seconds)

    def _has_published(self) -> bool:
        """Return whether a node IP was published in this boot; where the directory cannot be read, none was."""
        try:
            return PRIMARY.name in self._files.listing(RUN)
        except NodenetError as error:
            log.debug("It is not known whether a node IP was published", stage="nodeip", cause=error.cause)
            return False

    async def _raise(self) -> float | None:
        """Set up what has been down for DOWN_SECONDS; return the seconds until then, None where nothing is to be done.

        Raises Unavailable.
        """
        links = tuple(
            name for name in lowered.down(self._kernel.snapshot(), self._policy) if self._raised[name] < TIMES
        )
        if not links:
            self._down = NEVER
            return None
        now = self._clock.boottime()
        self._down = self._down.holds(now)
        if (left := self._down.left(now, DOWN_SECONDS)) > 0:
            return left
        self._down = NEVER
        for name in lowered.managed(links, (await self._profiles.inventory(profiles=False)).states):
            self._raised[name] += 1
            self._kernel.set_up(name)
            text = f"Set {name} up: another program had set it down, and the node has no address yet"
            log.warning(text, message=Message.NODE_IP_NOTE, stage="nodeip")
        return None
