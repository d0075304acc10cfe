"""How large is each form of the package, how does the bundled interpreter run, and how long does an upgrade take?

`python tools/bench/packages.py` builds the packages, boots nodes (root), writes the section of docs/dev/benchmarks.md.
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
    own = ("tools", "tests", "tests/lab", "daemon")
    forms = ("forms", "deb", "rpm", "sysext", "tree", "interpreter", "libnmstate")
    sys.path[:0] = [str(ROOT / place) for place in (*own, *(f"packaging/{name}" for name in forms))]

from bench import packages_running  # noqa: E402 -- found there
from bench.figures import PACKAGES, Figure, table, with_section  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
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


def section(forms: Mapping[str, int], parts: Sequence[tuple[str, int, int]], running: Sequence[Figure]) -> str:
    """Return the section of the page, from bytes: of each form, and of each part unpacked and packed.

    The first part is the interpreter, which has aims. *running* are the figures of booted nodes.
    """
    files = table(("form", "size"), [(name, _mb(size)) for name, size in forms.items()])
    met = "met" if parts[0][1] <= AIM_UNPACKED and parts[0][2] <= AIM_PACKED else "missed"
    aims = [f"≤ {_mb(AIM_UNPACKED)}, {_mb(AIM_PACKED)}: {met}", *("" for _ in parts[1:])]
    rows = [(name, _mb(large), _mb(small), aim) for (name, large, small), aim in zip(parts, aims, strict=True)]
    misses = [f"- {figure.name}, missed: {figure.why_missed}" for figure in running if figure.met is False]
    return "\n".join(
        (
            f"{PACKAGES}\nWritten by `python tools/bench/packages.py`; MB are 10⁶ bytes.\n",
            files,
            table(("part", "on the node", "compressed alone", "aim"), rows),
            table(("figure", "measured", "aim", ""), [figure.cells for figure in running]),
            *misses,
        )
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
            "everything, with the Python packages": tree,
        }
        sizes = [(name, unpacked(place), packed(place)) for name, place in places.items()]
    return section(forms, sizes, packages_running.figures())


if __name__ == "__main__":
    text = measured()
    PAGE.write_text(with_section(PAGE.read_text(), text))
    print(text)
