"""How is the tree packed as a system extension for systemd-sysext(8)? mksquashfs writes the image."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

from build_terminal import run

import staging

HERE = Path(__file__).resolve().parent
ARCHITECTURES = {"x86_64": "x86-64", "aarch64": "arm64"}
RELEASE = "usr/lib/extension-release.d/extension-release.nodenet"
"""Its name is that of the installed image: nodenet.raw."""
SCRIPT = "usr/libexec/nodenet/nodenet-sysext"
SUMS = "usr/share/nodenet/SHA256SUMS"
COMPRESSION = ("-comp", "zstd", "-Xcompression-level", "19", "-b", "256K")
"""zstd: nodenetd is read in every boot, and xz takes several times as long."""
QUICK = ("-comp", "zstd", "-Xcompression-level", "1")


def architecture() -> str:
    """Return systemd's name of this machine's architecture (os-release(5), ConditionArchitecture=)."""
    return ARCHITECTURES[platform.machine()]


def file_name(build: staging.Build) -> str:
    """Return the image's file name."""
    return f"nodenet_{build.version}_{architecture()}.raw"


def pack(build: staging.Build, tree: Path, out: Path) -> Path:
    """Write the image with the files of *tree* into *out* and return its path; files are added to *tree*.

    Raises BuildError when mksquashfs fails. The same files give the same bytes.
    """
    staging.complete(build, tree, _own_files())
    (tree / SUMS).write_text(sums(tree), encoding="utf-8")
    file = out / file_name(build)
    file.unlink(missing_ok=True)  # mksquashfs would add to it
    times = ["-mkfs-time", str(staging.EPOCH), "-all-time", str(staging.EPOCH)]
    options = ["-noappend", "-all-root", "-no-xattrs", "-no-exports", "-quiet", "-no-progress", *times]
    compression = COMPRESSION if build.compressed else QUICK
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = ["mksquashfs", str(tree), str(file), *options, *compression]
    run(command, remedy="install squashfs-tools, and see the messages above", environment=environment)
    return file


def script() -> bytes:
    """Return the program that installs the image on a node."""
    return staging.script((HERE / "nodenet-sysext").read_text(encoding="utf-8")).encode()


def sums(tree: Path) -> str:
    """Return the SHA-256 of each file but this list, as sha256sum(1) checks them."""
    files = sorted(path for path in tree.rglob("*") if path.is_file() and path != tree / SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files)


def release() -> str:
    """Return for which systems the image is: for any of this architecture, because it has its own Python and libraries.

    `NODENET_SYSEXT_ID` and `NODENET_SYSEXT_VERSION_ID` bind it to one version of one system.
    """
    fields = {"ID": os.environ.get("NODENET_SYSEXT_ID") or "_any"}
    if version := os.environ.get("NODENET_SYSEXT_VERSION_ID"):
        fields["VERSION_ID"] = version
    return "".join(f"{name}={value}\n" for name, value in {**fields, "ARCHITECTURE": architecture()}.items())


def _own_files() -> dict[str, bytes]:
    return {
        RELEASE: release().encode(),
        SCRIPT: script(),
        "usr/share/nodenet/sysext.conf": (HERE / "sysext.conf").read_bytes(),
    }
