"""How does the harness control QEMU? By its machine protocol, one JSON object a line (docs/interop/qmp-spec)."""

import json
import socket
from pathlib import Path
from typing import Any

from harness import host


class Qmp:
    """A connection to one QEMU; commands are answered in order, events are passed over."""

    def __init__(self, path: Path, *, timeout: float = 60) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rb")
        self._lines.readline()  # the greeting
        self.order("qmp_capabilities")

    def order(self, command: str, **arguments: object) -> Any:
        """Execute a command and return its result; raise LabError with QEMU's reason if QEMU refuses."""
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while line := self._lines.readline():
            answer = json.loads(line)
            if "error" in answer:
                raise host.LabError(f"QEMU refused {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise host.LabError(f"QEMU ended before it answered {command}")

    def close(self) -> None:
        """Close the connection; QEMU keeps running."""
        self._lines.close()
        self._socket.close()
