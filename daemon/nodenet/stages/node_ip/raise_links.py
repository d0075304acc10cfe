"""Is the node without an address because a link is set down, or given up? In a boot without a node IP that is mended.

NetworkManager would use the link and does not set it up a second time, so the boot would wait for ever. Later in a boot
an administrator may have set it down: then the status names the command that sets it up. A link whose activation has
failed four times rests for five minutes: it is activated again, as what was wrong may be over.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import structlog

from nodenet.core.boot.outcome import Facts, Outcome, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.node_ip import choice
from nodenet.core.node_ip.policy import Policy
from nodenet.core.since import NEVER, backoff
from nodenet.ports import Clock, Files, Kernel, Profiles, Stage
from nodenet.stages.apply.records import has_published

log = structlog.get_logger()

DOWN_SECONDS = 5.0
"""How long a link is left down: NetworkManager sets its links up in its first second, and drivers reset links."""
TIMES = 3
"""How often nodenetd sets a link up: one that goes down again and again is an administrator's or a driver's concern."""
IDLE_SECONDS = (5.0, 30.0)
"""The first and the longest pause between two looks at what NetworkManager has given up."""
GIVEN_UP = (
    "NetworkManager could not activate {} and has given up, so nodenetd activates it again; `journalctl -b -u "
    "NetworkManager` says why, as another host that has its address"
)


class RaiseLinks:
    """Runs the stage that chooses the node IP, and sets links up or activates them while it waits."""

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
        self._idle = NEVER
        """Since the last look at what NetworkManager has given up."""
        self._looks = 0
        self._given_up: tuple[str, ...] = ()
        """What it had given up then."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome; a wait ends earlier where a link must be set up."""
        outcome = await self._stage.attempt(facts, request)
        if not isinstance(outcome, Waiting) or has_published(self._files):
            self._down, self._idle, self._looks, self._given_up = NEVER, NEVER, 0, ()
            return outcome
        try:
            left = await self._raise()
            idle = await self._activate()
        except Unavailable as error:
            log.debug("A link that is down could not be set up", stage="nodeip", cause=error.cause)
            return outcome
        if self._given_up:
            outcome = replace(outcome, reason=f"{GIVEN_UP.format(', '.join(self._given_up))}; {outcome.reason}")
        seconds = min(outcome.seconds, idle, outcome.seconds if left is None else left)
        return replace(outcome, topics=outcome.topics | {Topic.KERNEL} if left else outcome.topics, seconds=seconds)

    async def _activate(self) -> float:
        """Activate what NetworkManager has given up; return the seconds until the next look. Raises Unavailable."""
        now = self._clock.boottime()
        self._idle = self._idle.holds(now)
        if (left := self._idle.left(now, backoff(max(self._looks, 1), *IDLE_SECONDS))) > 0:
            return left
        self._idle, self._looks = NEVER.holds(now), self._looks + 1
        before = self._given_up
        snapshot = self._kernel.snapshot()
        self._given_up = choice.given_up(snapshot, self._policy, await self._profiles.inventory())
        for name in self._given_up:
            if name not in before:
                log.warning(GIVEN_UP.format(name), message=Message.NOTE, stage="nodeip")
            with suppress(Unavailable):  # NetworkManager says why in its journal, and the next link may come up
                await self._profiles.connect(name)
        return backoff(self._looks, *IDLE_SECONDS)

    async def _raise(self) -> float | None:
        """Set up what has been down for DOWN_SECONDS; return the seconds until then, None where nothing is to be done.

        Raises Unavailable.
        """
        links = tuple(name for name in choice.down(self._kernel.snapshot(), self._policy) if self._raised[name] < TIMES)
        if not links:
            self._down = NEVER
            return None
        now = self._clock.boottime()
        self._down = self._down.holds(now)
        if (left := self._down.left(now, DOWN_SECONDS)) > 0:
            return left
        self._down = NEVER
        for name in choice.managed(links, (await self._profiles.inventory(profiles=False)).states):
            self._raised[name] += 1
            self._kernel.set_up(name)
            text = f"Set {name} up: another program had set it down, and the node has no address yet"
            log.warning(text, message=Message.NOTE, stage="nodeip")
        return None
