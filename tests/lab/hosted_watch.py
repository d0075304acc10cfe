"""When is api-int answered for the first time in a boot, and when was a stage over?"""

from __future__ import annotations

from dns_questions import ASK
from harness import Node
from story import story

PROGRAM, FIRST = "/usr/local/libexec/lab-first-answer", "/run/lab-first-answer"
_WATCH = """#!/usr/bin/python3
import io, sys, time
from contextlib import redirect_stdout
code = compile({ask!r}, "ask", "exec")
sys.argv[1:] = [{server!r}, "api-int.c.example.com", "A"]
while True:
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            exec(code, {{}})
    except SystemExit:
        pass
    if said.getvalue().startswith("NOERROR "):
        break
    time.sleep(0.005)
open({first!r}, "w").write(str(time.clock_gettime(time.CLOCK_BOOTTIME)))
"""
_UNIT = f"""[Unit]
DefaultDependencies=no
[Service]
Type=exec
ExecStart=/usr/bin/python3 {PROGRAM}
[Install]
WantedBy=sysinit.target
"""


def watch_units(server: str = "127.0.0.1") -> dict[str, str]:
    """Return files that ask every 5 ms from the beginning of the boot until the first answer.

    Enable `lab-first-answer.service`.
    """
    program = _WATCH.format(ask=ASK, server=server, first=FIRST)
    return {PROGRAM: program, "/etc/systemd/system/lab-first-answer.service": _UNIT}


def first_answer(node: Node) -> float:
    """Return when the first answer came, in seconds of CLOCK_BOOTTIME."""
    return float(node.wait_until(f"cat {FIRST}", timeout=20))


def stage_ended(node: Node, name: str) -> float:
    """Return when a stage was over for the first time in this boot, in seconds of CLOCK_BOOTTIME."""
    ended = [entry["STAGE_ENDED"] for entry in story(node) if entry.get("STAGE") == name and "STAGE_ENDED" in entry]
    return float(ended[0])
