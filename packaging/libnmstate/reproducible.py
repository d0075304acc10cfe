"""What would differ between two builds of the same sources, and how is it left out?

The paths of the build: rustc writes those of crates into messages, maturin that of this directory into the bill of
materials. And the time and the serial number of that bill.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CRATES, SOURCE = "/cargo", "/libnmstate"
"""The names of cargo's directory and of that of the sources in the wheel."""
BOM = re.compile(r"\.dist-info/sboms/.*\.cyclonedx\.json$")
RECORD = ".dist-info/RECORD"
OPTIONS, SEPARATOR = "CARGO_ENCODED_RUSTFLAGS", "\x1f"
"""The variable with options of rustc, and what is between two of them (the Cargo Book, "Environment Variables")."""
RECIPE = 1
"""To be increased when the same sources become another wheel."""


def environment(given: Mapping[str, str], source: Path) -> dict[str, str]:
    """Return an environment in which cargo has rustc write other paths instead of the true ones."""
    crates = Path(given.get("CARGO_HOME") or "~/.cargo").expanduser()
    options = [word for word in given.get(OPTIONS, "").split(SEPARATOR) if word] or given.get("RUSTFLAGS", "").split()
    options += [f"--remap-path-prefix={place}={name}" for place, name in ((crates, CRATES), (source, SOURCE))]
    return {**given, OPTIONS: SEPARATOR.join(options)}


def normalize(wheel: Path) -> None:
    """Write a wheel again, without what another build of the same sources would have different."""
    with zipfile.ZipFile(wheel) as archive:
        members = {entry: archive.read(entry) for entry in archive.infolist()}
    (record,) = (entry for entry in members if entry.filename.endswith(RECORD))
    for entry, content in members.items():
        if BOM.search(entry.filename):
            members[entry] = _without_build(content)
    members[record] = _recorded(members[record].decode(), {entry.filename: data for entry, data in members.items()})
    with zipfile.ZipFile(wheel, "w") as archive:
        for entry, content in members.items():
            archive.writestr(entry, content)


def _without_build(content: bytes) -> bytes:
    document = json.loads(content)
    document.pop("serialNumber", None)
    document["metadata"].pop("timestamp", None)
    own = document["metadata"]["component"]["bom-ref"].partition("#")[0]
    return json.dumps(document, indent=1).replace(own, f"path+file://{SOURCE}").encode()


def _recorded(record: str, members: dict[str, bytes]) -> bytes:
    """Return RECORD with the digests of *members* (PyPA, "Recording installed projects")."""
    lines = []
    for line in record.splitlines():
        name, digest, _ = line.rsplit(",", 2)
        lines.append(f"{name},{_digest(members[name])},{len(members[name])}" if digest else line)
    return "".join(f"{line}\n" for line in lines).encode()


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
