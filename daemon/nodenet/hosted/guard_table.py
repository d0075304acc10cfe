"""Is keepalived guarded against VRRP of strangers while it is wanted? (``core.hosted_services.keepalived``)"""

from __future__ import annotations

import asyncio

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import keepalived
from nodenet.core.hosted_services.model import Service
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
        self._put: str | None = None
        self._due = 0.0

    def rules(self) -> str | None:
        """Return the rules of the present plan, None where this node holds no VIP."""
        state = self._state
        if self._plan is not state.plan:
            self._plan, self._rules = state.plan, keepalived.guard_rules(state.known.inputs, state.plan.vips)
        return self._rules

    async def look(self) -> None:
        """Put the table while keepalived may run; systemd takes it up with keepalived, and removes it after that."""
        state, now, rules = self._state, asyncio.get_running_loop().time(), self.rules()
        if rules is None or Service.KEEPALIVED in state.waits:
            self._put = None
            return
        try:
            if rules != self._put or (now >= self._due and not await self._table.is_there()):
                await self._table.put(rules)
        except Unavailable as error:
            if state.report_failure("VRRP guard", f"Any host can send VRRP to this node: {error}"):
                log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
            return
        if now >= self._due:
            self._due = now + TABLE_SECONDS
        self._put = rules
        state.report_failure("VRRP guard", None)
