"""How many changes of DNS can nodenetd take, and how often does it write for a burst of them?

The stage with the real loop, real files in a directory of its own and a real dbus-daemon that carries NetworkManager's
signals. `python tools/bench/lookups.py` writes the section of docs/dev/benchmarks.md, and leaves the rest as it is.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path, PurePath, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "daemon")]

from bench.figures import LOOK_UPS, table, with_section  # noqa: E402 -- found there
from edge.bus.test_connection import client  # noqa: E402
from edge.network_manager.test_dns import StandIn, changed_signal  # noqa: E402
from edge.private_bus import PrivateBus  # noqa: E402
from fakes import BOOT_ID, FakeInputs, FakeNodeDns, FakePulse, FakeResolved  # noqa: E402
from nodenet.core.boot.outcome import (  # noqa: E402
    Facts,
    Outcome,
    Skipped,
    Topic,
)
from nodenet.core.boot.stage_state import NOTHING, Request  # noqa: E402
from nodenet.core.boot.stages import BUILT, new_boot  # noqa: E402
from nodenet.core.network_manager.objects import NAME  # noqa: E402
from nodenet.core.resolver import NM_FILES, RESOLV_CONF  # noqa: E402
from nodenet.core.settings.model import Settings  # noqa: E402
from nodenet.core.stage_name import StageName  # noqa: E402
from nodenet.edge.bus.connection import Bus  # noqa: E402
from nodenet.edge.clock import Clock, Idle  # noqa: E402
from nodenet.edge.files import disk as files  # noqa: E402
from nodenet.edge.network_manager.state import DnsManager  # noqa: E402
from nodenet.edge.resolver import ResolverProbe  # noqa: E402
from nodenet.loop.reconciler import Reconciler  # noqa: E402
from nodenet.loop.reload import StageSet  # noqa: E402
from nodenet.ports import Stage  # noqa: E402
from nodenet.stages.resolver import ResolverEdges, ResolvPrependerStage  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
SIGNALS = 2_000
LOOKS = 1_000
SETTLE_SECONDS = 0.2
UPSTREAM = "nameserver 10.0.{}.{}\n"


@dataclass
class Rooted:
    """The real files, below a directory; *writes* counts what was written there."""

    root: Path
    writes: list[PurePath] = field(default_factory=list)

    def listing(self, directory: PurePath) -> tuple[str, ...]:
        return files.listing(self._below(directory))

    def read_node_file(self, directory: PurePath, name: str) -> bytes:
        return files.read_node_file(self._below(directory), name)

    def read(self, path: PurePath) -> bytes | None:
        return files.read(self._below(path))

    def leads_to(self, path: PurePath) -> PurePosixPath | None:
        return files.leads_to(self._below(path))

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        changed = files.write(self._below(path), content, mode)
        self.writes += [path] if changed else []
        return changed

    def remove(self, path: PurePath) -> bool:
        return files.remove(self._below(path))

    def rename(self, path: PurePath, target: PurePath) -> None:
        files.rename(self._below(path), self._below(target))

    def sync(self, directory: PurePath) -> None:
        files.sync(self._below(directory))

    def _below(self, path: PurePath) -> Path:
        return self.root / path.relative_to("/")


@dataclass
class Counted:
    """A stage that counts its looks, and is otherwise the one inside."""

    stage: ResolvPrependerStage
    looks: int = 0

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        self.looks += 1
        return await self.stage.attempt(facts, request)


class Nothing:
    """A stage with nothing to do."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
        return Skipped("nothing to do", facts)


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds for one look without a change; a burst's seconds, looks and writes."""

    look: float
    burst: float
    looks: int
    writes: int

    @property
    def rows(self) -> list[Sequence[str]]:
        """The table."""
        verdict = "met" if self.writes == 1 else "missed"
        return [
            ("one look, nothing changed", f"{self.look * 1000:.2f} ms", "", ""),
            (f"signals taken in a burst of {SIGNALS}", f"{SIGNALS / self.burst:.0f} /s", "", ""),
            ("looks during the burst", str(self.looks), "", ""),
            ("writes of resolv.conf for the burst", str(self.writes), "1", verdict),
        ]


async def measure(directory: Path) -> Measured:
    """Run both measurements below *directory*."""
    disk = Rooted(directory / "root")
    disk.write(NM_FILES[0], UPSTREAM.format(0, 1).encode())
    bus = Bus(address=f"unix:path={directory / 'bus'}", changed=lambda _: None)
    manager = DnsManager(bus, lambda: reconciler.wake(Topic.DNS))
    settings = Settings(api_vips=(ip_address("192.0.2.2"),), cluster_domain="example.com")
    outside = ResolverEdges(manager, FakeResolved(), ResolverProbe(), FakeNodeDns())
    stage = ResolvPrependerStage(outside, disk, Clock(Idle()), settings)
    counted = Counted(stage)
    stages: dict[StageName, Stage] = {**{name: Nothing() for name in BUILT}, StageName.RESOLV_PREPENDER: counted}
    plant = StageSet(new_boot({}, degrade=True), stages, "", 60.0, lambda _: ())
    reconciler = Reconciler(FakeInputs(lambda: plant), (), FakePulse(seconds=10.0), Clock(Idle()), BOOT_ID)
    carrying, running = asyncio.create_task(bus.run()), asyncio.create_task(reconciler.run())
    try:
        await bus.wait_up(5)
        return await _both(counted, disk, f"unix:path={directory / 'bus'}")
    finally:
        reconciler.stop()
        await running
        carrying.cancel()
        await asyncio.wait({carrying})


async def _both(counted: Counted, disk: Rooted, address: str) -> Measured:
    async with client(address) as other:
        other.add_message_handler(StandIn().answer)
        await other.request_name(NAME)
        await asyncio.sleep(SETTLE_SECONDS)
        began = time.perf_counter()
        for _ in range(LOOKS):
            await counted.stage.attempt(Facts())
        look = (time.perf_counter() - began) / LOOKS
        looks, disk.writes = counted.looks, []
        # A lease that brings another server, and very many links that report it one after the other.
        (disk.root / NM_FILES[0].relative_to("/")).write_text(UPSTREAM.format(1, 1))
        began = time.perf_counter()
        for _ in range(SIGNALS):
            await other.send(changed_signal())
        taken = time.perf_counter() - began
        await asyncio.sleep(SETTLE_SECONDS)
        writes = sum(path == RESOLV_CONF for path in disk.writes)
        return Measured(look, taken, counted.looks - looks, writes)


def section(measured: Measured) -> str:
    """Return the section of the page."""
    text = f"""{LOOK_UPS}
Written by `python tools/bench/lookups.py`: NetworkManager's signals over a dbus-daemon, sent by the measuring process
itself, and files in a separate directory. No process is started for an event.
"""
    return f"{text}\n{table(('figure', 'measured', 'aim', ''), measured.rows)}"


def main() -> int:
    """Measure, write the section."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        bus = PrivateBus(directory)
        bus.start()
        try:
            measured = asyncio.run(measure(directory))
        finally:
            bus.kill()
    PAGE.write_text(with_section(PAGE.read_text(), section(measured)))
    sys.stdout.write(table(("figure", "measured", "aim", ""), measured.rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
