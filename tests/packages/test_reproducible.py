"""Do two builds of libnmstate's wheel, in other directories and at other times, give the same bytes?"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
import zipfile
from pathlib import Path

import pytest
import reproducible

BOM = "libnmstate-1.dist-info/sboms/nodenet-libnmstate.cyclonedx.json"
RECORD = "libnmstate-1.dist-info/RECORD"


def wheel(place: Path) -> Path:
    """Write a wheel as maturin makes it from the sources in *place*."""
    own = f"path+file://{place}#nodenet-libnmstate@1"
    bill = {
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "metadata": {"timestamp": f"of {place.name}", "component": {"bom-ref": own}},
        "components": [{"name": "log", "bom-ref": "registry+https://example.com#log@1"}],
        "dependencies": [{"ref": own, "dependsOn": ["registry+https://example.com#log@1"]}],
    }
    place.mkdir()
    members = {"libnmstate/_native.abi3.so": b"\x7fELF", BOM: json.dumps(bill).encode()}
    lines = [f"{name},sha256={digest(content)},{len(content)}" for name, content in members.items()]
    made = place / "libnmstate-1.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**members, RECORD: "\n".join([*lines, f"{RECORD},,"]).encode()}.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return made


def digest(content: bytes) -> str:
    """Return a digest as RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def test_two_wheels_become_the_same(tmp_path: Path) -> None:
    made = [wheel(tmp_path / name) for name in ("here", "there")]
    assert made[0].read_bytes() != made[1].read_bytes()
    for each in made:
        reproducible.normalize(each)
    assert made[0].read_bytes() == made[1].read_bytes()


def test_the_wheel_stays_whole(tmp_path: Path) -> None:
    """RECORD has the digest of each file, modes stay, and the bill of materials says all that it said."""
    made = wheel(tmp_path / "here")
    reproducible.normalize(made)
    with zipfile.ZipFile(made) as archive:
        rows = [line.rsplit(",", 2) for line in archive.read(RECORD).decode().splitlines()]
        for name, listed, size in rows[:-1]:
            content = archive.read(name)
            assert (listed, int(size)) == (f"sha256={digest(content)}", len(content)), name
        assert rows[-1] == [RECORD, "", ""]
        assert archive.getinfo("libnmstate/_native.abi3.so").external_attr >> 16 == 0o755
        bill = json.loads(archive.read(BOM))
    own = "path+file:///libnmstate#nodenet-libnmstate@1"
    assert bill["dependencies"] == [{"ref": own, "dependsOn": ["registry+https://example.com#log@1"]}]
    assert bill["metadata"] == {"component": {"bom-ref": own}}
    assert "serialNumber" not in bill


@pytest.mark.parametrize(
    ("given", "before"),
    [
        ({}, []),
        ({"RUSTFLAGS": "-Copt-level=2 -g"}, ["-Copt-level=2", "-g"]),
        ({"CARGO_ENCODED_RUSTFLAGS": "-Ca\x1f-Cb=c d", "RUSTFLAGS": "-g"}, ["-Ca", "-Cb=c d"]),
    ],
)
def test_the_compiler_writes_other_paths(given: dict[str, str], before: list[str]) -> None:
    """Those of cargo's directory and of the sources, beside the user's own options."""
    found = reproducible.environment({**given, "CARGO_HOME": "/a b/crates", "PATH": "/bin"}, Path("/sources"))
    options = found.pop("CARGO_ENCODED_RUSTFLAGS").split("\x1f")
    paths = ["--remap-path-prefix=/a b/crates=/cargo", "--remap-path-prefix=/sources=/libnmstate"]
    assert options == [*before, *paths]
    assert found == {
        **{key: value for key, value in given.items() if "ENCODED" not in key},
        "CARGO_HOME": "/a b/crates",
        "PATH": "/bin",
    }
