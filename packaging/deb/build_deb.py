"""How does the tree become a Debian package? deb(5) has the format, the Debian Policy Manual the rest."""

from __future__ import annotations

import gzip
import hashlib
import platform
from email.utils import formatdate
from pathlib import Path

import deb_archive
import staging
from tree_files import LIBRARY

HERE = Path(__file__).resolve().parent
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
OVERRIDES = "usr/share/lintian/overrides/nodenet"
CONTROL = """\
Package: nodenet
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: systemd (>= 252), default-dbus-system-bus | dbus-system-bus, network-manager (>= 1.46), iproute2
Suggests: openvswitch-switch, network-manager-ovs, dnsmasq-base, keepalived, haproxy
Section: net
Priority: optional
Description: host network of a Kubernetes node, before kubelet starts
 nodenetd applies the node's NMState file, puts the node's DNS resolver first,
 selects and publishes the node IPs and makes br-ex. kubelet starts after that.
 .
 The package has its own Python: the node needs none.
"""
CHANGELOG = """\
nodenet ({version}) unstable; urgency=medium

  * The changes are in {documents}/CHANGELOG.md.gz.

 -- {maintainer}  {date}
"""


def architecture() -> str:
    """Return Debian's name of this machine's architecture."""
    return ARCHITECTURES[platform.machine()]


def file_name(build: staging.Build) -> str:
    """Return the package's file name."""
    return f"nodenet_{build.version}_{architecture()}.deb"


def pack(build: staging.Build, tree: Path, out: Path) -> Path:
    """Write the package with the files of *tree* into *out* and return its path. Documents are added to *tree*."""
    staging.complete(build, tree, _own_files(build))
    first = f"{LIBRARY}/{build.name}"
    file = out / file_name(build)
    file.write_bytes(deb_archive.package(_control(build, tree), tree, first, compressed=build.compressed))
    return file


def _own_files(build: staging.Build) -> dict[str, bytes]:
    entry = CHANGELOG.format(
        version=build.version,
        documents=f"/{staging.DOCUMENTS}",
        maintainer=build.maintainer,
        date=formatdate(staging.EPOCH),
    )
    return {
        f"{staging.DOCUMENTS}/changelog.gz": gzip.compress(entry.encode(), mtime=0),
        OVERRIDES: (HERE / "lintian-overrides").read_bytes(),
    }


def _control(build: staging.Build, tree: Path) -> dict[str, tuple[str, int]]:
    files = sorted(path for path in tree.rglob("*") if path.is_file())
    size = sum(-(-path.stat().st_size // 1024) for path in files)
    text = CONTROL.format(version=build.version, architecture=architecture(), maintainer=build.maintainer, size=size)
    sums = "".join(f"{_md5(path)}  {path.relative_to(tree)}\n" for path in files)
    control = {"control": (text, 0o644), "md5sums": (sums, 0o644)}
    for name in SCRIPTS:
        control[name] = (staging.script((HERE / name).read_text(encoding="utf-8"), build.name), 0o755)
    return control


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
