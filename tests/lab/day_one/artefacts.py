"""Artefacts of day one, made as a user makes them, on the machine of the tests."""

from __future__ import annotations

from pathlib import Path

from harness import LabError
from nodenet.cli.main import main

KEYFILES = "/etc/NetworkManager/system-connections"


def day_one(*words: object) -> None:
    """Run `nodenetctl day-one`; raise LabError unless it ends well."""
    code = main(["day-one", *map(str, words)])
    if code:
        raise LabError(f"day-one {' '.join(map(str, words))}: exit code {code}")


def keyfiles(document: str, directory: Path, *, first_step: bool = False) -> dict[str, str]:
    """Return path on the node → keyfile for *document*; *first_step*: derive the document without Open vSwitch."""
    source = directory / "worker-0.yml"
    source.write_text(document)
    if first_step:
        (directory / "early").mkdir()
        day_one("early", source, "--out", directory / "early")
        source = directory / "early" / "worker-0.yml"
    out = directory / "keyfiles"
    out.mkdir()
    day_one("keyfiles", source, "--out", out)
    return {f"{KEYFILES}/{path.name}": path.read_text() for path in sorted(out.iterdir())}
