"""Is keepalived guarded against VRRP of strangers while it is wanted? (``core.hosted_services.vrrp_guard``)"""

from __future__ import annotations

import asyncio

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import vrrp_guard
from nodenet.core.hosted_services.plan import Plan
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.hosted_services import RedirectTable

log = structlog.get_logger()

TABLE_SECONDS = 30.0
"""How often nodenet-hosted looks whether the table is still there."""


class GuardTable:
    """The nft table."""

    def __init__(self, state: State, table: RedirectTable) -> None:
        """What an earlier companion has put there is replaced."""
        self._state = state
        self._table = table
        self._plan: Plan | None = None
        self._rules: str | None = None
        self._put: str | None = ""
        self._due = 0.0

    async def look(self) -> None:
        """Put or remove the table."""
        state, now = self._state, asyncio.get_running_loop().time()
        if self._plan is not state.plan:
            self._plan, self._rules = state.plan, vrrp_guard.rules(state.known.inputs, state.plan.vips)
        try:
            if self._rules and (self._rules != self._put or (now >= self._due and not await self._table.is_there())):
                await self._table.put(self._rules)
            elif self._rules is None and self._put is not None:
                await self._table.remove()
        except Unavailable as error:
            if state.report_failure("VRRP guard", f"Any host can send VRRP to this node: {error}"):
                log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
            return
        if now >= self._due:
            self._due = now + TABLE_SECONDS
        self._put = self._rules
        state.report_failure("VRRP guard", None)
