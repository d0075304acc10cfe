#!/usr/bin/env python3
"""Where is the interpreter for nodes that have no Python?

Prints the path of a directory with `python/` (CPython, its standard library, the libraries of both and their dynamic
loader), `licences/` and `record.json`, which names the Debian package and version of each file. It is made once for
each recipe and kept in `${XDG_CACHE_HOME:-~/.cache}/nodenet/interpreter/`. The program is not bound to a place yet:
packaging/install.py writes the path of the loader into it.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "libnmstate")]

from build_terminal import BuildError, output, run  # noqa: E402  (beside the wheel)

import debian_packages as debian  # noqa: E402  (beside this file)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}
"""Machine → glibc's dynamic loader."""
PLACE = "/usr/lib/nodenet/python"
"""The place that tracebacks name for the standard library."""
LIBRARY = f"lib/{debian.PYTHON}"
OMITTED = (
    *("test", "curses", "dbm", "pydoc_data", "venv", "wsgiref", "xmlrpc", "_pyrepl", "__phello__", "zoneinfo"),
    *("xml/dom", "xml/sax", "multiprocessing/dummy", "multiprocessing/popen_spawn_win32", "ctypes/macholib"),
    *("asyncio/__main__", "asyncio/windows_events", "asyncio/windows_utils", "asyncio/proactor_events"),
    *("ctypes/wintypes", "email/mime", "html/parser", "http/cookies", "http/server", "json/tool", "logging/config"),
    *("sqlite3/__main__", "sqlite3/dump", "sysconfig/__main__", "unittest/__main__", "urllib/robotparser"),
    *("antigravity", "bdb", "bz2", "cProfile", "cmd", "code", "codeop", "colorsys", "configparser", "doctest"),
    *("fileinput", "ftplib", "graphlib", "imaplib", "lzma", "mailbox", "modulefinder", "nturl2path", "optparse"),
    *("pdb", "pickletools", "plistlib", "poplib", "profile", "pstats", "pty", "pyclbr", "pydoc", "rlcompleter"),
    *("sched", "shelve", "smtplib", "socketserver", "statistics", "symtable", "tabnanny", "this", "timeit", "trace"),
    *("tty", "turtle", "wave", "webbrowser", "zipapp", "_aix_support", "_android_support", "_apple_support"),
    *("_distutils_system_mod", "_ios_support", "_markupbase", "_osx_support"),
    *("_py_abc", "_pydatetime", "_pydecimal", "_pyio"),  # the same modules in C are there
    "EXTERNALLY-MANAGED",
    "sitecustomize",  # Debian's link to a file in /etc of the node
)
"""Parts of the standard library that nothing of nodenet imports: directories, and modules without `.py`."""
ENCODINGS = (
    *("__init__", "aliases", "ascii", "charmap", "cp437", "hex_codec", "idna", "latin_1", "punycode"),
    *("raw_unicode_escape", "unicode_escape", "utf_8", "utf_8_sig"),
    *("utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"),
)
"""The encodings that stay: nodenet runs in Python's UTF-8 mode, whatever locale the node has."""
OMITTED_EXTENSIONS = (
    *("_test", "xx", "_xx", "_curses", "_dbm", "readline", "_codecs_", "_multibytecodec"),
    *("_bz2", "_lzma", "_uuid", "_lsprof", "_zoneinfo"),  # their users do without
    *("_ctypes_test", "_interp"),
)
"""How the names of compiled modules begin that nothing of nodenet imports."""
PROBE = "import _ctypes, _hashlib, _sqlite3, _ssl, asyncio, socket, zlib"
RECIPE = 4
"""To be increased when the same packages are put together in another way."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A directory as this program makes it."""

    home: Path

    @property
    def program(self) -> Path:
        """The interpreter."""
        return self.home / "python/bin/python3"

    def command(self, *words: str) -> list[str]:
        """Return the command that runs it from where it is, with nothing of this machine's libraries."""
        libraries = self.home / "python/lib"
        return [str(libraries / loader()), "--library-path", str(libraries), str(self.program), *words]

    @staticmethod
    def bind(python: Path, place: str) -> None:
        """Let a copy of `python/` run at *place*: with its own loader, and its own libraries before the node's.

        The entry is DT_RPATH: unlike DT_RUNPATH, it also holds for what libraries and modules load (ld.so(8)).
        """
        start = ["--set-interpreter", f"{place}/lib/{loader()}", "--force-rpath", "--set-rpath", f"{place}/lib"]
        run(["patchelf", *start, str(python / "bin/python3")], remedy="install patchelf")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the directory's path; exit 1 with the cause when it cannot be made."""
    parser = argparse.ArgumentParser(description="Make the bundled interpreter once and print its path.")
    parser.add_argument("--refresh", action="store_true", help="fetch the packages again, for their security updates")
    options = parser.parse_args(argv)
    try:
        print(cached(refresh=options.refresh).home)
    except BuildError as error:
        print(f"nodenet: the bundled interpreter cannot be made: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def loader() -> str:
    """Return the name of this architecture's dynamic loader. Raises BuildError for an architecture without an entry."""
    machine = platform.machine()
    if machine not in LOADERS:
        raise BuildError(f"no bundled interpreter for {machine}, only for {' and '.join(LOADERS)}")
    return LOADERS[machine]


def cached(*, refresh: bool = False) -> Interpreter:
    """Return the interpreter of the present recipe and packages, made now unless it has been made before."""
    shelf = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet" / "interpreter"
    shelf.mkdir(parents=True, exist_ok=True)
    with (shelf / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        packages = debian.packages(shelf / f"packages-{debian.SUITE}-{platform.machine()}", refresh=refresh)
        home = shelf / key(packages)
        if not home.is_dir():
            with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
                made = Path(scratch) / "made"
                assemble(packages, made)
                made.rename(home)
    return Interpreter(home)


def key(packages: Sequence[debian.Package]) -> str:
    """Return a name for everything that decides what is in the directory."""
    recipe = (RECIPE, OMITTED, ENCODINGS, OMITTED_EXTENSIONS, platform.machine())
    text = "\n".join([repr(recipe), *(package.sha256 for package in packages)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def assemble(packages: Sequence[debian.Package], home: Path) -> None:
    """Make the directory: the same bytes from the same packages. Raises BuildError."""
    with tempfile.TemporaryDirectory(prefix="unpacked-", dir=home.parent) as scratch:
        unpacked = Path(scratch)
        for package in packages:
            debian.unpack(package, unpacked)
        origins = dict(_files(unpacked, home / "python"))
        for name in _libraries(unpacked, home / "python"):
            origins[f"lib/{name}"] = _copy_library(unpacked, name, home / "python/lib" / name)
        _write_licences(unpacked, home / "licences")
    _compile(Interpreter(home))
    record = {
        "python": debian.PYTHON.removeprefix("python"),
        "packages": [_described(package) for package in packages if package.name in debian.PACKAGES],
        "files": dict(sorted(origins.items())),
    }
    (home / "record.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _described(package: debian.Package) -> dict[str, str]:
    names = ("name", "version", "source", "architecture", "sha256")
    return {name: getattr(package, name) for name in names}


def _files(unpacked: Path, python: Path) -> Iterator[tuple[str, str]]:
    """Copy program and standard library; yield each file with its package."""
    program = python / "bin/python3"
    program.parent.mkdir(parents=True)
    shutil.copyfile(unpacked / f"{debian.PYTHON}-minimal/usr/bin/{debian.PYTHON}", program)
    program.chmod(0o755)
    yield "bin/python3", f"{debian.PYTHON}-minimal"
    for package in (f"lib{debian.PYTHON}-minimal", f"lib{debian.PYTHON}-stdlib", f"{debian.PYTHON}-minimal"):
        top = unpacked / package / "usr" / LIBRARY
        for path in sorted(top.rglob("*")) if top.is_dir() else ():
            name = path.relative_to(top)
            if path.is_file() and not path.is_symlink() and not omitted(name):
                target = python / LIBRARY / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                yield f"{LIBRARY}/{name}", package


def omitted(name: Path) -> bool:
    """Return whether a file of the standard library is left out."""
    if name.parts[0] == "lib-dynload":
        return name.name.startswith(OMITTED_EXTENSIONS)
    if name.parts[0] == "encodings":
        return name.stem not in ENCODINGS
    text = name.as_posix().removesuffix(".py")
    return any(text == entry or text.startswith(f"{entry}/") for entry in OMITTED)


def _libraries(unpacked: Path, python: Path) -> list[str]:
    """Return the names of all libraries that program and modules need, and those that libnmstate's module needs."""
    todo = [python / "bin/python3", *sorted((python / LIBRARY / "lib-dynload").glob("*.so"))]
    found = {"libgcc_s.so.1", "libm.so.6", loader()}
    todo += [_library(unpacked, name) for name in sorted(found)]
    while todo:
        needed = output(["patchelf", "--print-needed", str(todo.pop())], remedy="install patchelf").split()
        fresh = [name for name in needed if name not in found]
        found.update(fresh)
        todo += [_library(unpacked, name) for name in fresh]
    return sorted(found)


def _library(unpacked: Path, name: str) -> Path:
    for path in sorted(unpacked.glob(f"*/usr/lib/*/{name}")) + sorted(unpacked.glob(f"*/lib/*/{name}")):
        return path.resolve()
    raise BuildError(f"no package of the bundled interpreter has {name}: add the package that has it")


def _copy_library(unpacked: Path, name: str, target: Path) -> str:
    source = _library(unpacked, name)
    shutil.copyfile(source, target)
    target.chmod(0o755 if name == loader() else 0o644)
    return source.relative_to(unpacked.resolve()).parts[0]


def _write_licences(unpacked: Path, place: Path) -> None:
    texts = {package: debian.licence(unpacked, package) for package in debian.PACKAGES}
    common = debian.common_licences(unpacked, list(texts.values()))
    for name, text in {**texts, **{f"common/{name}": text for name, text in common.items()}}.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)


def _compile(interpreter: Interpreter) -> None:
    """Compile the standard library with the interpreter itself, and so see that it runs; keep the bytecode alone.

    Its sources would only be shown in tracebacks, and are a fifth of the whole.
    """
    library = interpreter.home / "python" / LIBRARY
    compile_tree(interpreter, library, f"{PLACE}/{LIBRARY}", beside=True)
    for source in sorted(library.rglob("*.py")):
        source.unlink()
    run(interpreter.command("-IS", "-c", PROBE), remedy="a library of its modules is missing: add its package")


def compile_tree(interpreter: Interpreter, tree: Path, place: str, *, beside: bool = False) -> None:
    """Compile a tree that will be at *place* on the node; with *beside*, where Python finds it without a source.

    Raises BuildError.

    Bytecode that names its source by time would be out of date wherever an image sets all times to one value. The
    compiler must not leave bytecode of what it imports itself (-B): that would name the place of the build.
    """
    words = ["-B", "-S", "-P", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    words += ["-b"] if beside else []
    command = interpreter.command(*words, "-s", str(tree), "-p", place, str(tree))
    run(command, remedy="see the compiler's messages above", environment={"PYTHONHASHSEED": "0"})


if __name__ == "__main__":
    sys.exit(main())
