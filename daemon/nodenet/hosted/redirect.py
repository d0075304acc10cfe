"""Is the redirect of the VIP to haproxy as it should be?

Its nft table is there only while this node's haproxy answers. One that believes no server asks all of them: slow ones
still serve. Other programs remove tables: a restart of nftables.service removes all of them.
"""

from __future__ import annotations

import asyncio

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.haproxy import ports
from nodenet.core.hosted_services.model import Service
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.hosted_services import RedirectTable

log = structlog.get_logger()

TABLE_SECONDS = 30.0
"""How often nodenet-hosted looks whether the table is still there."""


class Redirect:
    """The nft table."""

    def __init__(self, state: State, table: RedirectTable) -> None:
        """Until the first verdict on haproxy the table stays as an earlier companion left it."""
        self._state = state
        self._table = table
        self._there: bool | None = None
        self._due = 0.0
        self._stale = False
        """Whether the table that is there has other rules."""

    async def look(self, *, leaves: bool, renewed: bool) -> None:
        """Put or remove the table. *leaves*: haproxy is about to be stopped; *renewed*: its rules are other ones."""
        rules = self._state.plan.texts.get(Service.REDIRECT)
        self._stale = self._stale or renewed
        try:
            before = there = await self._is_there()
            if there and self._stale:
                there = self._there = await self._renewed(rules or "")
            self._stale = False
            wanted = rules is not None and self._is_wanted(there=there, leaves=leaves)
            if wanted and not there and rules is not None:
                await self._table.put(rules)
            elif there and not wanted:
                await self._table.remove()
        except Unavailable as error:
            if self._state.report_failure("redirect", str(error)):
                log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
            return
        self._there = self._state.running[Service.REDIRECT] = wanted
        self._state.report_failure("redirect", None)
        if wanted is not before:
            log.info(f"The redirect to haproxy is {'on' if wanted else 'off'}", message=Message.BALANCER_CHANGED)

    async def _renewed(self, rules: str) -> bool:
        """Replace the table's rules; return whether it is there afterwards. Raises Unavailable.

        One that leads to another port goes: haproxy may listen there no longer, and not yet on the new port.
        """
        if ports(await self._table.printed()) != ports(rules):
            await self._table.remove()
            return False
        await self._table.put(rules)
        return True

    async def _is_there(self) -> bool:
        now = asyncio.get_running_loop().time()
        if self._there is None or (self._there and now >= self._due):
            self._there, self._due = await self._table.is_there(), now + TABLE_SECONDS
        return self._there

    def _is_wanted(self, *, there: bool, leaves: bool) -> bool:
        state, verdict = self._state, self._state.verdicts.get(Service.REDIRECT)
        if leaves or Service.HAPROXY in state.waits or not state.running.get(Service.HAPROXY):
            return False
        undecided = verdict is None or (not verdict.healthy and verdict.points == 0)
        return there if undecided else bool(verdict and verdict.healthy)
