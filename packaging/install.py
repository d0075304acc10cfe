"""How does nodenet get onto a node? `make install DESTDIR=DIR` runs this.

One tree for every node: packages below /usr/lib/nodenet, two launchers, units, bus policy, journal catalog, manual
pages, completions. Made on any machine, it runs offline under the node's own /usr/bin/python3, 3.11 to 3.14. Downloads
are kept in `${XDG_CACHE_HOME:-~/.cache}/nodenet/`, so that only the first installation needs a package index.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = "usr/lib/nodenet"
LAUNCHER = """#!/usr/bin/python3 -I
import gc
import sys

gc.disable()  # nothing of what is imported becomes garbage

sys.path.insert(0, "/usr/lib/nodenet")

from {module} import main

sys.exit(main())
"""
LAUNCHERS = {"usr/libexec/nodenetd": "nodenet.daemon", "usr/bin/nodenetctl": "nodenet.cli.main"}
UNITS = {
    # below units/ → below DESTDIR
    "nodenetd.service": "usr/lib/systemd/system/nodenetd.service",
    "nodenet-ready.service": "usr/lib/systemd/system/nodenet-ready.service",
    "nodenet-wait@.service": "usr/lib/systemd/system/nodenet-wait@.service",
    "nodenet.preset": "usr/lib/systemd/system-preset/80-nodenet.preset",
    "nodenet.tmpfiles.conf": "usr/lib/tmpfiles.d/nodenet.conf",
    "nodenet.catalog": "usr/lib/systemd/catalog/nodenet.catalog",
    "dbus/org.nodenet1.conf": "usr/share/dbus-1/system.d/org.nodenet1.conf",
    "dbus/org.nodenet1.xml": "usr/share/dbus-1/interfaces/org.nodenet1.Manager.xml",
    "dbus/org.nodenet1.Stage.xml": "usr/share/dbus-1/interfaces/org.nodenet1.Stage.xml",
    "nodenet.toml": "usr/share/nodenet/nodenet.toml",
    "completions/nodenetctl.bash": "usr/share/bash-completion/completions/nodenetctl",
    "completions/_nodenetctl": "usr/share/zsh/site-functions/_nodenetctl",
    "completions/nodenetctl.fish": "usr/share/fish/vendor_completions.d/nodenetctl.fish",
    **{
        f"compat/{unit.name}": f"usr/lib/systemd/system/{unit.name}"
        for unit in sorted((ROOT / "units" / "compat").iterdir())
    },
}
MANUAL = {
    # below docs/man/ → below DESTDIR
    "nodenetctl.1": "usr/share/man/man1/nodenetctl.1",
    "nodenet.toml.5": "usr/share/man/man5/nodenet.toml.5",
    "nodenetd.8": "usr/share/man/man8/nodenetd.8",
}


def main() -> int:
    """Install, or remove with --uninstall."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--destdir", type=Path, default=Path("/"), help="root of the file system to install into")
    parser.add_argument("--uninstall", action="store_true", help="remove what was installed; settings and state stay")
    arguments = parser.parse_args()
    if arguments.uninstall:
        uninstall(arguments.destdir)
    else:
        install(arguments.destdir)
    return 0


def install(destdir: Path) -> None:
    """Put the whole tree below *destdir*; an older one is replaced in one rename."""
    library = destdir / LIBRARY
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".nodenet-", dir=library.parent) as scratch:
        fresh = Path(scratch) / "new"
        shutil.copytree(dependencies(), fresh)
        shutil.copytree(ROOT / "daemon" / "nodenet", fresh / "nodenet", ignore=shutil.ignore_patterns("__pycache__"))
        with zipfile.ZipFile(wheel()) as archive:
            archive.extractall(fresh / "bundled")
        if library.exists():
            library.rename(Path(scratch) / "old")
        fresh.rename(library)
    library.chmod(0o755)
    for path, module in LAUNCHERS.items():
        write(destdir / path, LAUNCHER.format(module=module), 0o755)
    for source, target in UNITS.items():
        write(destdir / target, (ROOT / "units" / source).read_text(encoding="utf-8"), 0o644)
    for source, target in MANUAL.items():
        write(destdir / target, (ROOT / "docs" / "man" / source).read_text(encoding="utf-8"), 0o644)
    compile_bytecode(destdir)
    if destdir.resolve() == Path("/"):
        tell_the_system()


def tell_the_system() -> None:
    """Let a running system read what is new; without one there is nobody to tell."""
    for command in (["journalctl", "--update-catalog"], ["systemctl", "daemon-reload"]):
        if Path("/run/systemd/system").is_dir():
            subprocess.run(command, check=False)


def uninstall(destdir: Path) -> None:
    """Remove what ``install`` made, and the links of ``systemctl enable``: they would lead nowhere."""
    shutil.rmtree(destdir / LIBRARY, ignore_errors=True)
    for path in (*LAUNCHERS, *UNITS.values(), *MANUAL.values()):
        (destdir / path).unlink(missing_ok=True)
    ours = {f"/{target}" for target in UNITS.values()}
    for link in (destdir / "etc/systemd/system").rglob("*"):
        if link.is_symlink() and str(link.readlink()) in ours:
            link.unlink()


def write(path: Path, text: str, mode: int) -> None:
    """Write a file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".nodenet-{path.name}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(mode)
    fresh.replace(path)


def cache() -> Path:
    """Return the directory that outlives the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet"


def dependencies() -> Path:
    """Return the directory of the pinned packages, downloaded once for each lock file."""
    lock = HERE / "requirements.txt"
    shelf = cache() / "packages" / hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    if not shelf.is_dir():
        shelf.parent.mkdir(parents=True, exist_ok=True)
        print("nodenet: fetching the Python packages that run on the node (once)", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=shelf.parent) as scratch:
            fresh = Path(scratch) / "packages"
            pip("install", "--target", str(fresh), "--no-deps", "--no-compile", "--only-binary=:all:", "-r", str(lock))
            shutil.rmtree(fresh / "bin", ignore_errors=True)  # pyroute2's command line tools
            fresh.rename(shelf)
    return shelf


def pip(*arguments: str) -> None:
    """Run pip, from a virtual environment where this Python has none."""
    python = sys.executable
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        tools = cache() / "pip"
        subprocess.run([python, "-m", "venv", str(tools)], check=True)
        python = str(tools / "bin" / "python")
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def wheel() -> Path:
    """Return libnmstate's wheel, built once for each state of its sources."""
    build = [sys.executable, str(HERE / "libnmstate" / "build_wheel.py")]
    return Path(subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def compile_bytecode(destdir: Path) -> None:
    """Compile for the Python that will run it, so that no boot pays for that.

    That is the node's own: this machine's, or the one inside *destdir* when a whole root file system is there.
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
