"""What do a node's DNS and its VIPs answer, all the while? Each change is a line with its time.

The times are those of CLOCK_MONOTONIC, which nodes of the lab share with the test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dns_questions import ASK
from harness import Lan, Node

RIGHT, NONE, SILENT = "right", "none", "silent"
"""The expected answer; another answer or none of the address; no answer at all."""
_LOOP = r"""
import json, sys, threading, time
wanted = json.loads(sys.argv[1])
before = {}
def note(what, state):
    if before.get(what) != state:
        print(json.dumps({"at": time.monotonic(), "what": what, "state": state}), flush=True)
    before[what] = state
    time.sleep(0.01)
"""
_DNS = r"""
import io
from contextlib import redirect_stdout
code = compile(sys.argv[2].replace("settimeout(2)", "settimeout(0.5)"), "ask", "exec")
def answered(name, expected):
    said = io.StringIO()
    sys.argv[1:] = ["127.0.0.1", name, "A"]
    try:
        with redirect_stdout(said):
            exec(code, {})
    except SystemExit:
        return "silent"
    return "right" if said.getvalue().strip() == "NOERROR " + expected else "none"
while True:
    for what, (name, expected) in wanted.items():
        note(what, answered(name, expected))
"""
_TCP = r"""
import socket
def connected(address, port):
    try:
        socket.create_connection((address, port), 0.4).close()
    except ConnectionRefusedError:
        return "right"
    except OSError:
        return "none"
    return "right"
def watch(what, address, port):
    while True:
        note(what, connected(address, port))
for what, (address, port) in wanted.items():
    threading.Thread(target=watch, args=(what, address, port)).start()
"""


class Watched:
    """What was seen until now."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[tuple[float, str, str]]:
        """Return time, name and state of each change, the oldest first; a line that is being written is left out."""
        whole = self.path.read_text().rpartition("\n")[0].splitlines() if self.path.exists() else []
        return [(one["at"], one["what"], one["state"]) for one in map(json.loads, whole)]

    def states(self) -> dict[str, str]:
        """Return the last state of each."""
        return {what: state for _, what, state in self.lines()}

    def after(self, began: float, what: str, wanted: str) -> float | None:
        """Return the seconds from *began* until *what* was *wanted*, None while it is not."""
        return next(
            (at - began for at, one, state in self.lines() if (one, state) == (what, wanted) and at > began), None
        )


@contextmanager
def dns_watched(node: Node, path: Path, names: Mapping[str, tuple[str, str]]) -> Iterator[Watched]:
    """Ask the node's DNS from the node itself, by *names*: what → name and expected address."""
    words = ["python3", "-u", "-c", _LOOP + _DNS, json.dumps(names), ASK]
    with path.open("wb") as output, subprocess.Popen(node.enter_argv(*words), stdout=output) as program:
        try:
            yield Watched(path)
        finally:
            program.kill()


@contextmanager
def tcp_watched(lan: Lan, path: Path, servers: Mapping[str, tuple[str, int]]) -> Iterator[Watched]:
    """Connect from the LAN to *servers*: what → address and port. A host that refuses is there."""
    program = lan.start(sys.executable, "-u", "-c", _LOOP + _TCP, json.dumps(servers), output=path)
    try:
        yield Watched(path)
    finally:
        program.kill()
        program.wait()
