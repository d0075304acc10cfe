"""What is on the disk after a power cut? Of everything that a program wrote, at least what it had synced.

A test runs the program below strace and kills it. Its files are then made again from the trace, with the writes that a
finished fsync(2) or fdatasync(2) of the file came after, and without all others: the least that a disk may keep.
"""

from __future__ import annotations

import re
from pathlib import Path

from harness import host

CALLS = "pwrite64,ftruncate,fsync,fdatasync"
LONGEST = 1 << 20
WRITE = re.compile(r'\d+ +pwrite64\(\d+<([^>]*)>, "([^"]*)", \d+, (\d+)')
CUT = re.compile(r"\d+ +ftruncate\(\d+<([^>]*)>, (\d+)")
SYNC = re.compile(r"(\d+) +f(?:data)?sync\(\d+<([^>]*)>(.*)")
SYNCED = re.compile(r"(\d+) +<\.\.\. f(?:data)?sync resumed>.*= 0")


def tracer(trace: Path) -> list[str]:
    """Return the command that runs a program and writes *trace*."""
    host.ensure_packages({"strace": "strace"})
    return ["strace", "-f", "-y", "-xx", "-s", str(LONGEST), "-e", f"trace={CALLS}", "-o", str(trace)]


def traced(strace: int) -> int:
    """Return the process that *strace* runs."""
    return int(Path(f"/proc/{strace}/task/{strace}/children").read_text().split()[0])


def restore(trace: Path, file: Path) -> None:
    """Leave of *file* and those beside it that begin with its name what was synced."""
    kept = synced(trace.read_text())
    for one in file.parent.glob(f"{file.name}*"):
        one.unlink()
    for path, content in kept.items():
        if path.startswith(str(file)):
            Path(path).write_bytes(content)


def synced(trace: str) -> dict[str, bytes]:
    """Return the content of each file as it was at the beginning of its last sync that finished."""
    written: dict[str, bytearray] = {}
    syncing: dict[str, tuple[str, bytes]] = {}
    kept: dict[str, bytes] = {}
    for line in trace.splitlines():
        if found := WRITE.match(line):
            content, data, start = written.setdefault(_text(found[1]), bytearray()), _bytes(found[2]), int(found[3])
            content.extend(bytes(max(start - len(content), 0)))
            content[start : start + len(data)] = data
        elif found := CUT.match(line):
            del written.setdefault(_text(found[1]), bytearray())[int(found[2]) :]
        elif found := SYNC.match(line):
            path = _text(found[2])
            syncing[found[1]] = path, bytes(written.get(path, b""))
            if found[3].endswith("= 0"):
                kept.update([syncing.pop(found[1])])
        elif found := SYNCED.match(line):
            kept.update([syncing.pop(found[1])])
    return kept


def _text(shown: str) -> str:
    return _bytes(shown).decode() if shown.startswith("\\x") else shown


def _bytes(shown: str) -> bytes:
    return bytes.fromhex(shown.replace("\\x", ""))
