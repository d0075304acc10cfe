"""How does a test run a command in a VM without a network? `guest/usr/lib/lab/agent.py` is the other end."""

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import host

GRACE = 30.0
"""Seconds that an answer may take beyond the command's own limit: under emulation a fork alone takes long."""


class Channel:
    """The test's end of the virtio-serial port; it stays open over the VM's reboots."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._heard = b""
        self._asked = 0

    def ask(self, argv: list[str], stdin: str, timeout: float) -> dict[str, Any]:
        """Let the VM run a command; returns the agent's answer."""
        self.tell(argv, stdin, timeout)
        return self._next(lambda message: message.get("id") == self._asked, timeout + GRACE)

    def tell(self, argv: list[str], stdin: str = "", timeout: float = 30) -> None:
        """Let the VM run a command without waiting for its answer."""
        self._asked += 1
        question = {"id": self._asked, "argv": argv, "stdin": stdin, "timeout": timeout}
        self._socket.settimeout(timeout + GRACE)
        self._socket.sendall(json.dumps(question).encode() + b"\n")

    def wait_for_hello(self, timeout: float) -> str:
        """Block until an agent starts; returns its boot id."""
        return str(self._next(lambda message: "hello" in message, timeout)["hello"])

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _next(self, wanted: Callable[[dict[str, Any]], bool], timeout: float) -> dict[str, Any]:
        # What is not wanted is the late answer to a question that was given up.
        deadline = time.monotonic() + timeout
        while True:
            message: dict[str, Any] = json.loads(self._line(deadline))
            if wanted(message):
                return message

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._heard:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                piece = self._socket.recv(1 << 16)
            except TimeoutError as late:
                raise host.LabError("the VM does not answer") from late
            if not piece:
                raise host.LabError("QEMU ended")
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        return line
