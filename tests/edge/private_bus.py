"""A D-Bus bus of the test's own: dbus-daemon, or dbus-broker as Fedora and RHEL have it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

POLICY = Path(__file__).parents[2] / "units" / "dbus" / "org.nodenet1.conf"
OPEN = """<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow receive_sender="*"/>
<allow own="*"/><allow user="*"/></policy>"""
"""Everybody may everything: the daemon is on its own."""
AS_SHIPPED = f"""<policy context="default"><allow user="*"/><deny own="*"/><deny send_type="method_call"/>
<allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/>
<allow send_requested_reply="true" send_type="error"/><allow receive_type="method_call"/>
<allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/></policy>
<policy user="root"><allow own_prefix="org.freedesktop"/></policy><include>{POLICY}</include>"""
"""The rules of dbus's own system.conf, then nodenetd's."""
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>{rules}</busconfig>"""
START_SECONDS = 10.0


class PrivateBus:
    """A bus of the test's own, that can be stopped, killed and started again."""

    def __init__(self, directory: Path, rules: str = OPEN, broker: Path | None = None) -> None:
        """Listen in *directory*; *broker*: the programs of dbus-broker, to be used instead of dbus-daemon."""
        self.path = directory / "bus"
        self.address = f"unix:path={self.path}"
        self._config = directory / "bus.conf"
        self._config.write_text(CONFIG.format(path=self.path, rules=rules))
        self._broker = broker
        self._process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        """Start it; return when it listens."""
        self.path.unlink(missing_ok=True)
        if self._broker:
            self._start_broker(self._broker)
            return
        self._process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self._config}", "--nofork", "--print-address"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a line for each message that a rule refuses
        )
        assert self._process.stdout
        assert self._process.stdout.readline()

    def _start_broker(self, programs: Path) -> None:
        program = [sys.executable, str(Path(__file__).with_name("broker_program.py"))]
        # A process group of its own: the launcher has a child, the broker.
        self._process = subprocess.Popen(
            ["unshare", "-m", *program, str(programs), str(self._config), str(self.path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self.path.exists():
            assert self._process.poll() is None, "dbus-broker-launch has ended"
            assert time.monotonic() < deadline, "dbus-broker-launch does not listen"
            time.sleep(0.01)

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
            if self._broker:
                os.killpg(self._process.pid, signal.SIGKILL)
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


@pytest.fixture(scope="session")
def broker_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with dbus-broker's programs, from the package of the machine's own Debian."""
    if os.geteuid() != 0:
        pytest.skip("dbus-broker needs a mount namespace (root)")
    programs = fetch_broker(tmp_path_factory.mktemp("broker"))
    if programs is None:
        pytest.skip("Debian's package dbus-broker cannot be fetched")
    return programs


def fetch_broker(directory: Path) -> Path | None:
    """Unpack Debian's dbus-broker below *directory*; return the folder of its programs, None: it cannot be fetched."""
    done = subprocess.run(["apt-get", "download", "dbus-broker"], cwd=directory, capture_output=True, check=False)
    if done.returncode:
        return None
    (package,) = directory.glob("dbus-broker_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, directory / "root"], check=True)
    return directory / "root" / "usr" / "bin"


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A folder that every user can enter, unlike pytest's."""
    directory = Path(tempfile.mkdtemp(prefix="nodenet-bus-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(params=["dbus-daemon", "dbus-broker"])
def any_bus(request: pytest.FixtureRequest, public_directory: Path) -> Iterator[PrivateBus]:
    """A running bus of each kind, on which everybody may everything."""
    yield from _running(request, public_directory, OPEN)


@pytest.fixture(params=["dbus-daemon", "dbus-broker"])
def system_bus(request: pytest.FixtureRequest, public_directory: Path) -> Iterator[PrivateBus]:
    """A running bus of each kind, with the rules of a system bus and with nodenetd's own."""
    yield from _running(request, public_directory, AS_SHIPPED)


def _running(request: pytest.FixtureRequest, directory: Path, rules: str) -> Iterator[PrivateBus]:
    broker = request.getfixturevalue("broker_programs") if request.param == "dbus-broker" else None
    if broker is None and shutil.which("dbus-daemon") is None:
        pytest.skip("dbus-daemon is not installed (Debian package dbus-daemon)")
    bus = PrivateBus(directory, rules, broker)
    bus.start()
    yield bus
    bus.kill()
