"""How does nodenet get onto a node? `make install DESTDIR=DIR` runs this.

It installs one tree, the same for every node: packages below /usr/lib/nodenet, launchers, units, bus policy,
journal catalog, manual pages, completions. The tree runs offline under the node's own /usr/bin/python3, 3.11 to 3.14,
or with --bundled under an interpreter that it contains, on nodes that have none.
Downloads are kept in `${XDG_CACHE_HOME:-~/.cache}/nodenet/`: only the first installation needs a package index.
"""

from __future__ import annotations

import argparse
import compileall
import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / name) for name in ("tree", "interpreter", "libnmstate")]

from build_terminal import BuildError  # noqa: E402  (beside the wheel)

import bill_of_materials  # noqa: E402  (in its own directory)
import build_interpreter  # noqa: E402  (in its own directory)
from tree_files import (  # noqa: E402  (in its own directory)
    CLUSTER,
    CNI_PLUGIN,
    LAUNCHERS,
    LIBRARY,
    MANUAL,
    OWN_DIRECTORIES,
    ROOT,
    UNITS,
    UNUSED,
    Layout,
    version,
)

ADOPTED = b"# Made by `nodenetctl adopt`, removed by `nodenetctl hand-back`.\n"
"""The first line of the copy of the gate that an adoption has made."""
NOT_LOADED = 5
"""The exit code of systemctl for a unit that systemd has not loaded; it does not run."""
PIP_OPTIONS = ("--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:")
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
TOOLS = "../../bin/"
"""Where pip puts the command line tools of a package, seen from the directory that it installs to."""
PROGRAMS = tuple(
    f"nodenet{name}.service" for name in ("d", "-ready", "-ipam", "-hosted", "-keepalived", "-haproxy", "-dnsmasq")
)
"""The units that run."""
LAUNCHER = """#!{python} {options}
import gc
import sys

gc.disable()  # what is imported stays; collecting while importing only costs time

sys.path.insert(0, "/{library}")
{before}
try:
    from {module} import main
except ImportError as error:
    print(f"nodenet: the installation below /{library} is incomplete: {{error}}. Install it again.", file=sys.stderr)
    sys.exit(78)  # EX_CONFIG of sysexits.h: another start does not help

sys.exit(main())
"""
WITHOUT_OPENSSL = """
from importlib.util import find_spec

# OpenSSL costs 5 MB, and nodenetd needs none of it: it speaks no TLS, and most builds of Python have their own digests.
sys.modules["ssl"] = None
if any(module in sys.builtin_module_names or find_spec(module) for module in ("_sha2", "_sha256")):
    sys.modules["_hashlib"] = None
"""


def main() -> int:
    """Install, or remove with --uninstall."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--destdir", type=destination, default=Path("/"), help="root of the file system to install into"
    )
    parser.add_argument("--uninstall", action="store_true", help="remove what was installed; settings and state stay")
    parser.add_argument("--bundled", action="store_true", help="with an interpreter, for nodes without Python")
    parser.add_argument("--build", type=build_name, metavar="NAME", help=f"install to /{LIBRARY}/NAME, for a package")
    arguments = parser.parse_args()
    os.umask(0o022)  # all users can read what is installed, whatever umask the caller has
    try:
        refuse_package(arguments.destdir)
        if arguments.uninstall:
            refuse_adopted(arguments.destdir)
            uninstall(arguments.destdir)
        else:
            interpreter = build_interpreter.cached() if arguments.bundled else None
            library = f"{LIBRARY}/{arguments.build}" if arguments.build else LIBRARY
            install(arguments.destdir, Layout(library, interpreter))
    except BuildError as error:
        print(f"nodenet: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        rest = "Correct that and remove it again" if arguments.uninstall else "What was installed before goes on"
        print(f"nodenet: {first_cause(error)}. {rest}", file=sys.stderr)
        return 1
    return 0


def first_cause(error: OSError) -> str:
    """Return what went wrong first: an error of `shutil.copytree` has a list of (from, to, reason)."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        _, place, reason = error.args[0][0]
        return f"{place}: {reason}"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def destination(text: str) -> Path:
    """Return the root directory that *text* names; as in other Makefiles, an empty DESTDIR is this machine."""
    return Path(text or "/")


def build_name(text: str) -> str:
    """Return the name of a build's directory. Raises ArgumentTypeError for a name that another directory may have."""
    if not re.fullmatch(r"\d[\w.+~-]*", text, re.ASCII):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name of a build: it begins with the version, as in 1.2.3-abcd"
        )
    return text


def refuse_package(destdir: Path) -> None:
    """Raise BuildError where nodenet has another form: only that one's program knows all its files."""
    if (release := destdir / "usr/lib/extension-release.d/extension-release.nodenet").exists():
        raise BuildError(
            f"nodenet is a system extension here (/{release.relative_to(destdir)}). Remove it with `nodenet-sysext "
            "remove` first; settings and state stay"
        )
    for found in sorted((destdir / LIBRARY).glob("[0-9]*/nodenet")):
        build = found.parent.relative_to(destdir)
        raise BuildError(
            f"a package of nodenet is installed here (/{build}). Remove it with the package manager first; settings "
            "and state stay"
        )


def refuse_adopted(destdir: Path) -> None:
    """Raise BuildError where nodenet configures the node alone: the former chain would not start either."""
    if os.path.lexists(marker := destdir / "etc/nodenet/adopted"):
        raise BuildError(
            f"this node is adopted ({marker}): without nodenet it would have no network configuration at its next "
            "boot. Run `nodenetctl hand-back --uninstall` first"
        )


def install(destdir: Path, layout: Layout) -> None:
    """Install the whole tree below *destdir*; an older one is replaced at once."""
    library = destdir / layout.library
    library.parent.mkdir(parents=True, exist_ok=True)
    remove_scratch(library.parent)
    with tempfile.TemporaryDirectory(prefix=".nodenet-", dir=library.parent) as scratch:
        fresh = Path(scratch) / "new"
        packages = dependencies()
        shutil.copytree(packages, fresh, ignore=lambda place, names: unused(Path(place).relative_to(packages), names))
        forget_programs(fresh)
        shutil.copytree(ROOT / "daemon" / "nodenet", fresh / "nodenet", ignore=shutil.ignore_patterns("__pycache__"))
        with zipfile.ZipFile(wheel()) as archive:
            archive.extractall(fresh / "bundled")
        shutil.copytree(crate_licences(), fresh / "licences" / "crates")
        others = files_beside(layout)
        if layout.interpreter:
            add_interpreter(fresh, layout, layout.interpreter, {path: content for path, (content, _) in others.items()})
        readable(fresh)
        with prepared({destdir / path: file for path, file in others.items()}) as put_in_place:
            # After a power cut, what is not on the disk yet would be empty files.
            subprocess.run(["sync", "--file-system", str(library.parent)], check=True)
            swap(fresh, library)
            put_in_place()
            renew_gate(destdir)
    if not layout.interpreter:
        compile_bytecode(destdir)
    if destdir.resolve() == Path("/"):
        notify_system()


def renew_gate(destdir: Path) -> None:
    """Let the copy that `nodenetctl adopt` has made of the gate be that of this version, where there is one."""
    copy = destdir / "etc/systemd/system/nodenet-ready.service"
    if copy.is_file() and (first := copy.read_bytes().splitlines(keepends=True)[:1]) == [ADOPTED]:
        fresh = beside(copy)
        fresh.write_bytes(first[0] + (destdir / UNITS["nodenet-ready.service"]).read_bytes())
        # systemd takes a unit that is empty after a power cut for a masked one, and kubelet requires it.
        subprocess.run(["sync", str(fresh)], check=True)
        fresh.replace(copy)


def remove_scratch(directory: Path) -> None:
    """Remove the trees that installations which were killed have left in *directory*."""
    for leftover in directory.glob(".nodenet-*"):
        shutil.rmtree(leftover)


def unused(place: Path, names: list[str]) -> set[str]:
    """Return those of *names*, in the directory *place* of the packages, that no node needs."""
    return {name for name in names if (place / name).as_posix() in UNUSED}


def forget_programs(library: Path) -> None:
    """Remove pip's command line tools from the lists of files: they are not there, and name the Python of the build."""
    for record in library.glob("*.dist-info/RECORD"):
        rows = record.read_text(encoding="utf-8").splitlines(keepends=True)
        record.write_text("".join(row for row in rows if not row.startswith(TOOLS)), encoding="utf-8")


def files_beside(layout: Layout) -> dict[str, tuple[bytes, int]]:
    """Return content and mode of each file outside the library, by its path below the root."""
    files: dict[str, tuple[bytes, int]] = {}
    for path, module in LAUNCHERS.items():
        before = WITHOUT_OPENSSL if module == "nodenet.daemon" else ""
        names = {"python": layout.python, "options": layout.options, "library": layout.library}
        text = LAUNCHER.format(**names, module=module, before=before)
        files[path] = text.encode(), 0o755
    for place, table in ((ROOT / "units", UNITS), (ROOT / "docs" / "man", MANUAL), (HERE / "cluster", CLUSTER)):
        files |= {target: ((place / source).read_bytes(), 0o644) for source, target in table.items()}
    files[CNI_PLUGIN] = plugin().read_bytes(), 0o755
    return files


def add_interpreter(
    fresh: Path, layout: Layout, interpreter: build_interpreter.Interpreter, others: dict[str, bytes]
) -> None:
    """Compile for the bundled interpreter, then add it with licences and bill of materials. Raises BuildError."""
    build_interpreter.compile_tree(interpreter, fresh, f"/{layout.library}")
    for name in ("python", "licences"):
        shutil.copytree(interpreter.home / name, fresh / name, dirs_exist_ok=True)
    shutil.copyfile(ROOT / "LICENSE", fresh / "licences" / "nodenet")
    interpreter.bind(fresh / "python", f"/{layout.library}/python")
    record = json.loads((interpreter.home / "record.json").read_text(encoding="utf-8"))
    text = bill_of_materials.bill(version(), fresh, layout.library, record, others)
    (fresh / bill_of_materials.NAME).write_text(text, encoding="utf-8")


def readable(tree: Path) -> None:
    """Let all users read the tree and only root write it, whatever modes its sources have."""
    tree.chmod(0o755)
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def swap(fresh: Path, library: Path, *, atomic: bool = True) -> None:
    """Put *fresh* in the place of *library*; the older tree, if there is one, ends up where *fresh* was.

    The two are exchanged in one step (renameat2(2), RENAME_EXCHANGE), because an installation that is killed between
    two renames would leave a node without nodenet. A file system that cannot exchange gets two renames, and the older
    tree back when the second one fails.
    """
    if not library.exists():
        fresh.rename(library)
        return
    if atomic and exchange(fresh, library):
        return
    old = fresh.with_name("old")
    library.rename(old)
    try:
        fresh.rename(library)
    except BaseException:
        old.rename(library)
        raise


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths atomically; False where the C library, kernel or file system cannot do that."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EXDEV):
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def notify_system() -> None:
    """Let the running system read the changed files; in a container or a chroot no system runs."""
    tmpfiles, users = (Path("/", UNITS[name]) for name in ("nodenet.tmpfiles.conf", "nodenet.sysusers.conf"))
    if not Path("/run/systemd/system").is_dir():
        return
    if users.exists():  # the next boot makes them, but nodenetd may start dnsmasq before
        subprocess.run(["systemd-sysusers", str(users)], check=False)
    if tmpfiles.exists():  # the next boot makes its directories, but nodenetd may be started before
        subprocess.run(["systemd-tmpfiles", "--create", str(tmpfiles)], check=False)
    bus = ["busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig"]
    for command in (["journalctl", "--update-catalog"], ["systemctl", "daemon-reload"], bus):
        subprocess.run(command, check=False)


def uninstall(destdir: Path) -> None:
    """Remove what `install` made, and the links of `systemctl enable`.

    A link that stays would make kubelet unstartable: it would require a unit that does not exist. So the links go
    first, whatever ends the removal before the rest is gone.
    """
    units = destdir / "etc/systemd/system"
    for link in list(units.rglob("*")):
        if link.is_symlink() and is_ours(link, destdir):
            link.unlink()
            if link.parent != units and not any(link.parent.iterdir()):
                link.parent.rmdir()
    shutil.rmtree(destdir / LIBRARY, ignore_errors=True)
    remove_scratch((destdir / LIBRARY).parent)
    for path in (*LAUNCHERS, CNI_PLUGIN, *UNITS.values(), *MANUAL.values(), *CLUSTER.values()):
        (destdir / path).unlink(missing_ok=True)
        beside(destdir / path).unlink(missing_ok=True)
    for directory in OWN_DIRECTORIES:
        with suppress(OSError):
            (destdir / directory).rmdir()
    if destdir.resolve() == Path("/"):
        notify_system()
        stop_programs()
    forget_metrics(destdir)


def stop_programs(system: Path = Path("/run/systemd/system")) -> None:
    """Stop what runs of nodenet. No unit requires the gate any more, so kubelet goes on.

    A systemd that has not read that, as where /run is full, would stop kubelet with the gate: then all goes on.
    *system* is a directory where systemd runs.
    """
    if not system.is_dir():
        return
    if subprocess.run(["systemctl", "daemon-reload"], check=False).returncode:
        print("nodenet: systemd does not read its units again, so what runs was not stopped", file=sys.stderr)
        return
    # What an administrator lets require nodenetd or its gate, such as kubelet, is not stopped with them. One by one:
    # newer versions of systemd stop none of several units where one is not loaded, as one that does not run.
    for unit in PROGRAMS:
        options = ["--job-mode=ignore-dependencies"] if unit in PROGRAMS[:2] else []
        done = subprocess.run(["systemctl", "stop", *options, unit], check=False, capture_output=True, text=True)
        if done.returncode not in (0, NOT_LOADED):
            print(f"nodenet: {unit} was not stopped: {done.stderr.strip()}", file=sys.stderr)


def forget_metrics(destdir: Path) -> None:
    """Remove the metrics: a monitoring system would show the last values for ever, and warn of programs that are gone.

    Each program has written where the copy is that it keeps in the directory of the settings (`metrics_dir`).
    """
    state = destdir / "var/lib/nodenet"
    for memory in (*state.glob("metrics-*"), *state.glob("hosted/metrics-*")):
        copy = memory.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
        if copy.startswith("/"):
            (destdir / copy.removeprefix("/")).unlink(missing_ok=True)
        memory.unlink()
    for figures in (destdir / "run/nodenet").glob("*.prom"):
        figures.unlink()


def is_ours(link: Path, destdir: Path) -> bool:
    """Return whether a link leads to a unit of nodenet.

    systemd writes `/usr/lib/…`, systemd 252 of Debian `/lib/…`, an administrator perhaps a relative path. Where
    there was a copy of the unit in /etc, as on an adopted node, systemd writes the path of that.
    """
    directory = Path("/") / link.parent.relative_to(destdir)
    target = Path(os.path.normpath(directory / link.readlink()))
    if target.parts[1:2] == ("lib",):
        target = Path("/usr", *target.parts[1:])
    if target.parent == Path("/etc/systemd/system"):
        target = Path("/usr/lib/systemd/system", target.name)
    return str(target.relative_to("/")) in UNITS.values()


@contextmanager
def prepared(files: Mapping[Path, tuple[bytes, int]]) -> Iterator[Callable[[], None]]:
    """Write files with their modes beside their places; what is yielded puts each of them in its place in one step.

    A disk that is full is noticed before the first of them, and of the library, is in its place.
    """
    made: dict[Path, Path] = {}

    def put_in_place() -> None:
        for fresh, path in made.items():
            fresh.replace(path)

    try:
        for path, (content, mode) in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = beside(path)
            made[fresh] = path
            fresh.write_bytes(content)
            fresh.chmod(mode)
        yield put_in_place
    finally:
        for fresh in made:
            fresh.unlink(missing_ok=True)


def beside(path: Path) -> Path:
    """Return where a file is written before it replaces the one at *path*."""
    return path.with_name(f".nodenet-{path.name}")


def cache() -> Path:
    """Return the cache directory; it is outside the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet"


def dependencies() -> Path:
    """Return the directory of the pinned packages, downloaded once for each lock file.

    pip refuses what has another hash than the lock file says.
    """
    lock = HERE / "requirements.txt"
    shelf = cache() / "packages" / hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    if not shelf.is_dir():
        shelf.parent.mkdir(parents=True, exist_ok=True)
        print("nodenet: fetching the Python packages that run on the node (once)", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=shelf.parent) as scratch:
            fresh = Path(scratch) / "packages"
            pip("install", "--target", str(fresh), *PIP_OPTIONS, "-r", str(lock))
            shutil.rmtree(fresh / "bin", ignore_errors=True)  # command line tools
            try:
                fresh.rename(shelf)
            except OSError:
                if not shelf.is_dir():  # else another installation was faster, with the same packages
                    raise
    return shelf


def pip(*arguments: str) -> None:
    """Run pip; where this Python has none, from a virtual environment."""
    python = sys.executable
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        tools = cache() / "pip"
        subprocess.run([python, "-m", "venv", str(tools)], check=True)
        python = str(tools / "bin" / "python")
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}  # it warns of changes to the system; here are none
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, env=environment)


def wheel() -> Path:
    """Return libnmstate's wheel, built once for each state of its sources."""
    build = [sys.executable, str(HERE / "libnmstate" / "build_wheel.py")]
    return Path(subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def crate_licences() -> Path:
    """Return the directory with the licences of the crates in libnmstate's module."""
    collect = [sys.executable, str(HERE / "libnmstate" / "crate_licences.py")]
    return Path(subprocess.run(collect, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def plugin() -> Path:
    """Return the CNI plugin, built once for each state of its sources."""
    build = [sys.executable, str(HERE / "cni" / "build_plugin.py")]
    return Path(subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def compile_bytecode(destdir: Path) -> None:
    """Compile for the node's Python, so that no boot has to.

    That is this machine's own, or the one inside *destdir* if *destdir* has a whole root file system.
    """
    library = destdir / LIBRARY
    if destdir.resolve() == Path("/"):
        subprocess.run(["/usr/bin/python3", "-m", "compileall", "-q", str(library)], check=True)
    elif (destdir / "usr/bin/python3").exists() and os.geteuid() == 0:
        subprocess.run(
            ["chroot", str(destdir), "/usr/bin/python3", "-m", "compileall", "-q", f"/{LIBRARY}"], check=True
        )
    else:
        compileall.compile_dir(str(library), quiet=1, stripdir=str(destdir), prependdir="/")


if __name__ == "__main__":
    sys.exit(main())
