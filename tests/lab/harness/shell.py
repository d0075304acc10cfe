"""What can a test ask a booted node?

Everything here uses `run()`: a systemd-nspawn node and a QEMU VM answer in the same way, and an assertion about one is
valid for the other.
"""

import abc
import json
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from harness import host
from harness.stubs import Record

SETTLED = frozenset({"running", "degraded"})


class Shell(abc.ABC):
    """A root shell on a node, and the queries of tests."""

    name: str
    patience: float = host.PATIENCE
    """The factor for all time limits."""
    pause: float = 0.1
    """Seconds between two looks of `wait_until`; what a look costs is taken from what it waits for."""

    @abc.abstractmethod
    def run(
        self, command: Sequence[str] | str, *, check: bool = True, timeout: float = 30, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root in the node (a string: by /bin/sh) and return its result.

        Raises LabError, with the console's and the journal's end, if it takes longer or (with `check`) fails.
        """

    @abc.abstractmethod
    def console(self) -> str:
        """Return what the node has written to its console in all boots."""

    @abc.abstractmethod
    def write(self, name: str, text: str, mode: int = 0o644) -> object:
        """Write a file on the disk; an existing one is replaced by rename."""

    @abc.abstractmethod
    def reboot(self, *, timeout: float = 30) -> None:
        """Reboot as `systemctl reboot` does; return when the node accepts requests again."""

    @abc.abstractmethod
    def mac(self, link: str = "eth0") -> str:
        """The permanent MAC of a link, the same in every boot."""

    @abc.abstractmethod
    def set_carrier(self, link: str, *, up: bool) -> None:
        """Take the carrier from a cable, or give it back."""

    @abc.abstractmethod
    def _journal_text(self, select: str) -> str:
        """Return the journal as plain text; never raise."""

    def wait_settled(self, *, timeout: float = 60) -> str:
        """Block until systemd has no job left; returns `running` or `degraded`."""
        state = self.run(["systemctl", "is-system-running", "--wait"], check=False, timeout=timeout)
        word = state.stdout.strip()
        if word not in SETTLED:
            raise self._failure(f"node {self.name} did not settle: {word or state.stderr}")
        return word

    def json(self, command: Sequence[str] | str, *, timeout: float = 30) -> Any:
        """Run a command and read what it prints as JSON."""
        return json.loads(self.run(command, timeout=timeout).stdout)

    def wait_until(self, command: Sequence[str] | str, *, timeout: float = 30) -> str:
        """Repeat a command until it succeeds; returns its output."""
        look = partial(self._output, command)
        try:
            return host.eventually(look, f"{command}", timeout=timeout, pause=self.pause, patience=self.patience)
        except host.LabError as error:
            raise self._failure(str(error)) from error

    def journal(self, unit: str | None = None, boot: int = 0) -> list[dict[str, Any]]:
        """Entries of one boot (0: this one, -1: the one before), as `journalctl -o json` gives them."""
        select = [f"--boot={boot}", *([f"--unit={unit}"] if unit else [])]
        text = self.run(["journalctl", "--output=json", "--all", "--no-pager", *select], check=False).stdout
        return [json.loads(line) for line in text.splitlines()]

    def record(self, unit: str, *, timeout: float = 30) -> Record:
        """What the stub `kubelet` or `crio` saw at its last start; waits for the start."""
        return Record.parse(self.wait_until(["cat", f"/run/lab/{unit}.json"], timeout=timeout))

    def started(self, unit: str) -> bool:
        """Whether the stub `kubelet` or `crio` has started in this boot."""
        return self.run(["test", "-e", f"/run/lab/{unit}.json"], check=False).returncode == 0

    def addresses(self, link: str = "eth0", family: str = "inet") -> list[str]:
        """Addresses of global scope on a link, the kernel's order."""
        infos = self.json(["ip", "-j", "address", "show", "dev", link])[0]["addr_info"]
        return [info["local"] for info in infos if info["family"] == family and info["scope"] == "global"]

    def keep(self, directory: Path) -> None:
        """Save console and journal of all boots, to explain a failure."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self.name}.console.log").write_text(self.console())
        (directory / f"{self.name}.journal.log").write_text(self._journal_text("--all"))

    def _failure(self, what: str) -> host.LabError:
        console = f"--- console of {self.name}\n{host.tail(self.console())}"
        journal = f"--- journal of {self.name}\n{self._journal_text('--lines=40')}"
        return host.LabError(f"{what}\n{console}\n{journal}")

    def _guard(self, order: Callable[[], None]) -> None:
        try:
            order()
        except host.LabError as error:
            raise self._failure(str(error)) from error

    def _output(self, command: Sequence[str] | str) -> str | None:
        done = self.run(command, check=False)
        return (done.stdout or " ") if done.returncode == 0 else None
