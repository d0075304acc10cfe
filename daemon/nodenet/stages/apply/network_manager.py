"""Is NetworkManager on the bus, and if not, what is reported, and is NetworkManager started?

A NetworkManager that systemd has given up is started again, a few times, each with a line in the journal: nothing else
would start it, and the node would have no network. One that was stopped or masked is only reported.
"""

from __future__ import annotations

import structlog

from nodenet.core.messages import Message
from nodenet.core.network_manager.state import PAUSES, UNIT, ManagerState, Service, absence, is_due
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Manager, Systemd

log = structlog.get_logger()

START_SECONDS = 200.0
"""A start that has lasted so long may never end: a DHCP client without a time-out, on a bridge without an uplink.

The four tries of a link with the default time-out are over after 180 s.
"""


class NetworkManagerStarter:
    """NetworkManager's presence on the bus. All stages share one, for the whole run: no reload adds starts."""

    def __init__(self, manager: Manager, systemd: Systemd, clock: Clock) -> None:
        """Ask *manager*, and where it is not there, *systemd*."""
        self._manager = manager
        self._systemd = systemd
        self._clock = clock
        self._starts = 0
        self._given_up = NEVER
        self._starting = NEVER

    async def look(self) -> tuple[ManagerState, str]:
        """Return how far NetworkManager is, and the reason of a wait for it; never raises."""
        state, words = await self._state()
        self._starting = self._starting.holds(self._clock.boottime()) if state is ManagerState.STARTING else NEVER
        return state, words

    @property
    def starts_endlessly(self) -> bool:
        """Whether NetworkManager was starting at the last look, and so for START_SECONDS."""
        return self._starting is not NEVER and self._starting.left(self._clock.boottime(), START_SECONDS) <= 0

    async def _state(self) -> tuple[ManagerState, str]:
        state = await self._manager.state()
        if state is not ManagerState.ABSENT:
            return state, state.value
        service = await self._systemd.service(UNIT)
        if service and service.active_state == "active":
            state = await self._manager.state()  # again: it may have come between the two questions
            if state is not ManagerState.ABSENT:
                return state, state.value
        await self._start_if_due(service)
        return state, absence(service, self._starts)

    async def _start_if_due(self, service: Service | None) -> None:
        if service is None or not service.given_up:
            self._given_up = NEVER
            return
        now = self._clock.boottime()
        self._given_up = self._given_up.holds(now)
        if is_due(self._starts, self._given_up.lasted(now)):
            self._starts, self._given_up = self._starts + 1, NEVER
            refusal = await self._systemd.start_failed(UNIT)
            ending = f", which systemd refuses: {refusal}" if refusal else ""
            text = f"NetworkManager has failed: {service.result}; start {self._starts} of {len(PAUSES)}{ending}"
            log.warning(text, message=Message.MANAGER_AWAY)
