"""How long was a node out of reach? Seen from the LAN, as everybody else sees it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from harness import LabError, Lan, eventually

EVERY = 0.02
"""Seconds between two pings."""
REPLY = re.compile(r"^\[(\d+\.\d+)\].* bytes from .* icmp_seq=(\d+) ", re.MULTILINE)


class Pinger:
    """Pings an address from the LAN's router while the block runs; `outage` is known afterwards."""

    def __init__(self, lan: Lan, address: str, every: float = EVERY) -> None:
        ping = ["stdbuf", "-oL", "ping", "-n", "-D", "-i", str(every), "-W", "1", address]
        self._argv = ["ip", "netns", "exec", lan.netns, *ping]
        self._said = tempfile.NamedTemporaryFile()  # noqa: SIM115 -- closed with the block
        self.replies: list[float] = []
        self.lost: set[int] = set()
        """Sequence numbers of the pings without an answer between two that have one, known afterwards."""

    def __enter__(self) -> Self:
        self._ping = subprocess.Popen(self._argv, stdout=self._said, stderr=subprocess.STDOUT)
        return self

    def wait_for_reply(self, *, timeout: float = 30) -> None:
        """Return once the node answers, anew where it did before; from here on a silence counts.

        Raises LabError when there is no answer in time, and at once when ping ends: it has no route to the address.
        """
        heard = len(self._times())
        eventually(lambda: self._heard_more(heard), "an answer to the ping", timeout=timeout, pause=0.05)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ping.terminate()
        self._ping.wait()
        self.replies = self._times()
        numbers = [int(number) for _, number in self._answers()]
        self.lost = set(range(min(numbers, default=0), max(numbers, default=0))) - set(numbers)
        self._said.close()

    @property
    def outage(self) -> float:
        """The longest silence between two answers, in seconds."""
        return max((later - earlier for earlier, later in zip(self.replies, self.replies[1:], strict=False)), default=0)

    def _heard_more(self, before: int) -> bool:
        if self._ping.poll() is not None:
            raise LabError(f"ping ended: {Path(self._said.name).read_text()}")
        return len(self._times()) > before

    def _times(self) -> list[float]:
        return [float(time) for time, _ in self._answers()]

    def _answers(self) -> list[tuple[str, str]]:
        return REPLY.findall(Path(self._said.name).read_text())
