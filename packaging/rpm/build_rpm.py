"""How does the tree become an RPM package? rpmbuild makes it from the finished files; it compiles nothing."""

from __future__ import annotations

import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from build_terminal import run

import staging
from tree_files import LIBRARY

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
OWN = (LIBRARY, "usr/libexec/nodenet", "usr/share/nodenet", staging.DOCUMENTS)
"""Directories that are nodenet's alone; the others are of the system."""
COMPRESSED, QUICK = "w9.xzdio", "w.ufdio"
"""rpm's names of the compression; zstd saves less."""
COMMAND, PROGRAM = "usr/bin/nodenetctl", "usr/libexec/nodenet/nodenetctl"
REMEDY = "install rpm, and see the messages above"


def file_name(build: staging.Build, machine: str = platform.machine()) -> str:
    """Return the package's file name."""
    return f"nodenet-{build.version}-1.{machine}.rpm"


def pack(build: staging.Build, tree: Path, out: Path, machine: str = platform.machine()) -> Path:
    """Write the package with the files of *tree* into *out* and return its path. Documents are added to *tree*.

    *machine* is the architecture for which the files are, as rpm names it.

    Raises BuildError when rpmbuild fails. The same files give the same bytes: time and host of the build are fixed.
    """
    staging.complete(build, tree, {})
    _link_command(tree)
    file = out / file_name(build, machine)
    with tempfile.TemporaryDirectory(prefix="rpm-", dir=out) as scratch:
        top = Path(scratch)
        files = top / "files"
        files.write_text("".join(f"{line}\n" for line in _files(tree)), encoding="utf-8")
        spec = top / "nodenet.spec"
        spec.write_text(_spec(build, tree, files), encoding="utf-8")
        macros = {
            "_topdir": str(top),
            "_rpmdir": str(out),
            "_rpmfilename": file.name,
            "_binary_payload": COMPRESSED if build.compressed else QUICK,
            "_buildhost": "nodenet.invalid",
            "use_source_date_epoch_as_buildtime": "1",
            "clamp_mtime_to_source_date_epoch": "1",
            "source_date_epoch_from_changelog": "0",
        }
        defined = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(staging.EPOCH), "LC_ALL": "C.UTF-8"}
        command = ["rpmbuild", "-bb", "--quiet", "--target", f"{machine}-linux", *defined, str(spec)]
        run(command, remedy=REMEDY, environment=environment)
    return file


def _link_command(tree: Path) -> None:
    """Let the program in /usr/bin be a link, the same in each version.

    rpm puts files in place in the order of their names: the launcher would come before the build that it starts.
    """
    (tree / PROGRAM).parent.mkdir(parents=True, exist_ok=True)
    (tree / COMMAND).rename(tree / PROGRAM)
    (tree / COMMAND).symlink_to(os.path.relpath(PROGRAM, Path(COMMAND).parent))


def _spec(build: staging.Build, tree: Path, files: Path) -> str:
    values = {
        "VERSION": build.version,
        "MAINTAINER": build.maintainer,
        "DATE": datetime.fromtimestamp(staging.EPOCH, UTC).strftime("%a %b %d %Y"),
        "DOCUMENTS": f"/{staging.DOCUMENTS}",
        "TREE": str(tree),
        "FILES": str(files),
        "OWN": " ".join(f"/{name}" for name in OWN),
        "TEMPORARY": " \\\n\t".join(f'"/{name};"????????' for name in _outside(tree)),
    }
    text = staging.script((HERE / "nodenet.spec").read_text(encoding="utf-8"), build.name)
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _outside(tree: Path) -> Iterator[Path]:
    """Yield the files outside the directory of the builds: an rpm that is interrupted leaves others beside them."""
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree)
        if not path.is_dir() and not name.is_relative_to(LIBRARY):
            yield name


def _files(tree: Path) -> Iterator[str]:
    """Yield a line of the spec's list for each file, and for each directory that is nodenet's alone."""
    for path in sorted(tree.rglob("*")):
        os.utime(path, (staging.EPOCH, staging.EPOCH), follow_symlinks=False)
        name = path.relative_to(tree)
        if path.is_symlink():
            yield f'%attr(-, root, root) "/{name}"'
        elif path.is_file():
            yield f'%attr({path.stat().st_mode & 0o777:04o}, root, root) "/{name}"'
        elif any(name.is_relative_to(own) for own in OWN):
            yield f'%dir %attr(0755, root, root) "/{name}"'
