"""nodenetd's part on the bus as a process of its own: every edge and the service, without the loop that moves links.

Each line of its input asks for a report: one JSON document a line. A reload takes ``RELOAD_SECONDS``.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import structlog
from dbus_next.signature import SignatureTree

from edge.lag import Lag
from nodenet.assembly import Assembly
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Busy
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.core.trial.trial import TrialOrder
from nodenet.edge.bus.service import Orders, Service
from nodenet.edge.clock import Idle

RELOAD_SECONDS = 1.0


class Count:
    """A log that counts its lines, and keeps the first ones."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def msg(self, text: str) -> None:
        self.lines.append(text)

    info = warning = error = exception = msg


async def reload(_: str = "") -> None:
    await asyncio.sleep(RELOAD_SECONDS)


async def refuse_trial(order: TrialOrder) -> None:
    raise Busy(f"{order.who} tries {order.name}")


def refuse(stage: StageName, who: str, why: str) -> int:
    raise Busy(f"{stage} {who} {why}")


def megabytes(what: str) -> float:
    """Return a line of proc_pid_status(5). VmHWM is the peak of this program; ru_maxrss has that of its parent, too."""
    (kilobytes,) = re.findall(rf"^{what}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(kilobytes) / 1024


async def serve() -> None:
    """Serve and report until the input ends."""
    count = Count()
    structlog.configure(logger_factory=lambda *_: count, cache_logger_on_first_use=False)
    loop = asyncio.get_running_loop()
    machine = Assembly(lambda _: None, Idle())
    machine.inputs.build_stages(Settings())
    status = BootStatus(new_boot({}, degrade=True), boot_id="b")
    orders = Orders(
        reload=reload,
        prune=reload,
        reselect=reload,
        remove_bridge=reload,
        run_stage=lambda *_: None,
        inhibit=refuse,
        explain=machine.explain,
        try_file=refuse_trial,
        confirm=reload,
        roll_back=reload,
        history=machine.history,
        to_entry=machine.to_entry,
    )
    service = Service(machine.bus, orders, lambda: status)
    service.show(status)
    lag = Lag()
    tasks = [asyncio.create_task(machine.bus.run()), asyncio.create_task(lag.tick())]
    assert await machine.bus.wait_up(20)
    (name,) = await machine.bus.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        report = {
            "bus": name,
            "lag": lag.worst,
            "resident_megabytes": megabytes("VmRSS"),
            "most_megabytes": megabytes("VmHWM"),
            "signatures": len(SignatureTree._cache),
            "lines": len(count.lines),
            "first_lines": count.lines[:5],
            "connections": machine.bus._transport.number if machine.bus._transport else 0,
            "owns_name": machine.bus.owns_name,
        }
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(serve())
