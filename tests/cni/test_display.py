"""What is shown on the bus and in the file with the figures, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.persistent_ips.test_bus import DOCUMENT
from nodenet.cni.process import PAUSE_SECONDS, Display
from nodenet.core.metrics import Program
from nodenet.core.persistent_ips.metrics import Figures
from nodenet.edge.metrics import MetricsFile
from virtual_time import VirtualLoop


class Service:
    """Knows a document and remembers what was shown."""

    def __init__(self) -> None:
        self.shown: list[Mapping[str, Any]] = []
        self.count = 0

    def document(self) -> Mapping[str, Any]:
        return {**DOCUMENT, "problems": ["x"] * self.count}

    def figures(self) -> Figures:
        made = Figures()
        made.counts["add"] = self.count
        return made

    def show(self, document: Mapping[str, Any]) -> None:
        self.shown.append(document)


def run(directory: Path, service: Service, pauses: list[float]) -> None:
    """Change what is known after each of these pauses; return when all was shown."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(changing(directory, service, pauses))


async def changing(directory: Path, service: Service, pauses: list[float]) -> None:
    display = Display(service, [service.show], MetricsFile(Program.IPAM, directory, state=directory))
    task = asyncio.create_task(display.run())
    for pause in pauses:
        await asyncio.sleep(pause)
        service.count += 1
        display.changed()
    await asyncio.sleep(5 * PAUSE_SECONDS)
    task.cancel()
    await asyncio.wait({task})
    display.end()


def test_many_changes_in_one_moment_are_shown_once(tmp_path: Path) -> None:
    service = Service()
    run(tmp_path, service, [0.1] * 5)
    assert [len(document["problems"]) for document in service.shown] == [0, 5]
    content = (tmp_path / "ipam.prom").read_text()
    assert "nodenet_ipam_add_total 5\n" in content
    assert 'nodenet_running{program="nodenet-ipam"} 0\n' in content  # the display has ended


def test_the_last_change_is_always_shown(tmp_path: Path) -> None:
    """One that comes while the others are being shown, too."""
    service = Service()
    run(tmp_path, service, [0.5, PAUSE_SECONDS, PAUSE_SECONDS, 3 * PAUSE_SECONDS])
    assert len(service.shown[-1]["problems"]) == 4


def test_a_file_that_cannot_be_written_does_not_stop_the_bus(tmp_path: Path) -> None:
    (tmp_path / "ipam.prom").mkdir()
    (tmp_path / "ipam.prom/file").touch()
    service = Service()
    run(tmp_path, service, [0.1, 3.0])
    assert len(service.shown) == 3
