"""How does a VM take orders? This program runs in it and answers the test over a virtio-serial port.

One JSON object a line. Its first word is `{"hello": BOOT_ID}`; a question is
`{"id": 1, "argv": [...], "stdin": "...", "timeout": seconds}`, its answer
`{"id": 1, "code": 0, "out": "...", "err": "..."}`, with `code` null when the command was still running and was killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

NAME = "lab"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root", "TERM": "dumb"}


def port() -> int:
    """Open the port of that name, as soon as it is there."""
    while True:
        for name in Path("/sys/class/virtio-ports").glob("*/name"):
            device = Path("/dev") / name.parent.name
            if name.read_text().strip() == NAME and device.exists():
                return os.open(device, os.O_RDWR)
        time.sleep(0.05)


def send(channel: int, message: object) -> None:
    """Write one line; the driver takes 32 KiB at a time."""
    rest = json.dumps(message).encode() + b"\n"
    while rest:
        rest = rest[os.write(channel, rest) :]


def answer(question: dict[str, Any]) -> dict[str, object]:
    """Run one command."""
    try:
        done = subprocess.run(
            question["argv"],
            input=question["stdin"],
            timeout=question["timeout"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=ENVIRONMENT,
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"code": None, "out": "", "err": ""}
    except OSError as error:
        return {"code": 127, "out": "", "err": f"{error}\n"}
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def main() -> None:
    """Answer for ever; without anybody at the other end, `read` returns nothing at once."""
    channel = port()
    send(channel, {"hello": Path("/proc/sys/kernel/random/boot_id").read_text().strip()})
    heard = b""
    while True:
        piece = os.read(channel, 65536)
        if not piece:
            time.sleep(0.05)
        *lines, heard = (heard + piece).split(b"\n")
        for line in filter(None, lines):
            question = json.loads(line)
            send(channel, {"id": question["id"], **answer(question)})


main()
