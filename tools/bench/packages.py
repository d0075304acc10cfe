"""How large is each form of the package, and what is in it?

`python tools/bench/packages.py` builds the packages, and writes the section of docs/benchmarks.md.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "packaging" / "interpreter")]

from bench.figures import PACKAGES, table, with_section  # noqa: E402 -- found there

PAGE = ROOT / "docs" / "benchmarks.md"
KINDS = {".deb": "Debian package (xz)", ".rpm": "RPM package (xz)", ".raw": "system extension (zstd)"}
AIM_UNPACKED, AIM_PACKED = 30e6, 10e6
"""Bytes, of the bundled interpreter."""


def unpacked(place: Path) -> int:
    """Return the bytes of all files below *place*."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def packed(place: Path) -> int:
    """Return the bytes of a compressed archive of *place*, with the compression of the Debian package."""
    with tempfile.TemporaryFile() as file:
        with (
            lzma.open(file, "w", preset=9 | lzma.PRESET_EXTREME) as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            archive.add(place, arcname=".")
        return file.tell()


def section(forms: Mapping[str, int], parts: Sequence[tuple[str, int, int]]) -> str:
    """Return the section of the page, from bytes: of each form, and of each part unpacked and packed.

    The first part is the interpreter, which has aims.
    """
    files = table(("form", "size"), [(name, _mb(size)) for name, size in forms.items()])
    met = "met" if parts[0][1] <= AIM_UNPACKED and parts[0][2] <= AIM_PACKED else "missed"
    aims = [f"≤ {_mb(AIM_UNPACKED)}, {_mb(AIM_PACKED)}: {met}", *("" for _ in parts[1:])]
    rows = [(name, _mb(large), _mb(small), aim) for (name, large, small), aim in zip(parts, aims, strict=True)]
    return (
        f"{PACKAGES}\nWritten by `python tools/bench/packages.py`; MB are 10⁶ bytes.\n\n{files}\n"
        f"{table(('part', 'on the node', 'compressed alone', 'aim'), rows)}"
    )


def _mb(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def measured() -> str:
    """Build the packages and return the section."""
    build = [sys.executable, str(ROOT / "packaging/forms/build_packages.py")]
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([*build, "--out", scratch], check=True, stdout=subprocess.DEVNULL)
        found = {path.suffix: path for path in Path(scratch).iterdir() if path.suffix in KINDS}
        forms = {name: found[suffix].stat().st_size for suffix, name in KINDS.items()}
        tree = Path(scratch) / "tree"
        subprocess.run(["dpkg-deb", "--extract", found[".deb"], tree], check=True)
        (library,) = (tree / "usr/lib/nodenet").iterdir()
        places = {
            "interpreter, its libraries and standard library": library / "python",
            "libnmstate": library / "bundled",
            "nodenet itself": library / "nodenet",
            "everything": tree,
        }
        return section(forms, [(name, unpacked(place), packed(place)) for name, place in places.items()])


if __name__ == "__main__":
    text = measured()
    PAGE.write_text(with_section(PAGE.read_text(), text) + "\n")
    print(text)
