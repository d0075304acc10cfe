"""Does keepalived hang with a VIP of this node? Then it is restarted, and systemd takes its VIPs off.

A keepalived that holds a VIP sends an advertisement in each interval, so its processes begin to run again and again.
The peers do not hear one that hangs and elect another holder, while this node still answers for the VIP.
"""

from __future__ import annotations

import asyncio

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.model import Service
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.vips import Addresses, LivingProcesses

log = structlog.get_logger()

PROGRAM = "keepalived"
LOOK_SECONDS = 1.0
LOOKS = 3
"""So many in a row without a sign of life mean that it hangs; of long intervals more."""
HANGS = "keepalived holds a VIP and does nothing: it is restarted"


class KeepalivedWatch:
    """Watches the unit of keepalived."""

    def __init__(self, state: State, processes: LivingProcesses, addresses: Addresses) -> None:
        """Nothing is looked at yet."""
        self._state = state
        self._processes = processes
        self._addresses = addresses

    def runs(self) -> bool:
        """Return whether keepalived runs now."""
        return PROGRAM in self._processes.now().values()

    async def run(self) -> None:
        """Look, until cancelled."""
        before, idle = 0, 0
        while True:
            switches = self._processes.switches()
            idle = idle + 1 if self._holds_a_vip() and switches and switches == before else 0
            before = switches
            if idle >= max(LOOKS, LOOKS * self._state.options.advert_interval):
                log.error(HANGS, message=Message.KEEPALIVED_HANGS, cause=HANGS)
                idle = 0
                self._state.hung.add(Service.KEEPALIVED)
                self._state.changed()
            await asyncio.sleep(LOOK_SECONDS)

    def _holds_a_vip(self) -> bool:
        vips = [duty.address for duty in self._state.plan.vips if duty.wanted]
        try:
            return bool(self._addresses.present(vips)) if vips else False
        except Unavailable:  # the kernel is asked again soon
            return False
