"""A D-Bus bus of the test's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CONFIG = """<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow receive_sender="*"/>
<allow own="*"/><allow user="*"/></policy></busconfig>"""


class PrivateBus:
    """A dbus-daemon of the test's own, that can be stopped, killed and started again."""

    def __init__(self, directory: Path) -> None:
        """Listen in *directory*."""
        self.path = directory / "bus"
        self.address = f"unix:path={self.path}"
        self._config = directory / "bus.conf"
        self._config.write_text(CONFIG.format(path=self.path))
        self._process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        """Start it; return when it listens."""
        self.path.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self._config}", "--nofork", "--print-address"], stdout=subprocess.PIPE
        )
        assert self._process.stdout
        assert self._process.stdout.readline()

    def stall(self) -> None:
        """Stop it from reading."""
        assert self._process
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it read again."""
        assert self._process
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it at once."""
        if self._process:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout
            self._process.stdout.close()
            self._process = None


@pytest.fixture
def private_bus(tmp_path: Path) -> Iterator[PrivateBus]:
    """A running bus."""
    if shutil.which("dbus-daemon") is None:
        pytest.skip("dbus-daemon is not installed (Debian package dbus-daemon)")
    bus = PrivateBus(tmp_path)
    bus.start()
    yield bus
    bus.kill()
