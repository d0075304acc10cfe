"""Is the tree with its own Python complete, reproducible, and described file by file?"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bill_of_materials
import build_interpreter
import debian_packages
from nodenet import __version__

ROOT = Path(__file__).parents[2]
INSTALL = [sys.executable, str(ROOT / "packaging/install.py"), "--destdir"]
LIBRARY = "usr/lib/nodenet"
PYTHON = f"/{LIBRARY}/python/bin/python3"
IMPORT_STANDARD = """
import importlib, pathlib, sys
top = pathlib.Path(sys.prefix, "lib", "python%d.%d" % sys.version_info[:2])
for path in sorted([*top.rglob("*.pyc"), *top.glob("lib-dynload/*.so")]):
    parts = path.relative_to(top).parts
    name = ".".join([*parts[:-1], path.name.partition(".")[0]]).removesuffix(".__init__").removeprefix("lib-dynload.")
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error)
"""
IMPORT_ALL = f"""
import importlib, pkgutil, sys
sys.path[:0] = ["/{LIBRARY}", "/{LIBRARY}/bundled"]
import nodenet, libnmstate
for found in pkgutil.walk_packages(nodenet.__path__, "nodenet."):
    importlib.import_module(found.name)
assert libnmstate.PrettyState({{"interfaces": []}}).yaml
print(sorted(path for path in sys.path if not path.startswith("/{LIBRARY}")))
"""

pytestmark = pytest.mark.skipif(shutil.which("patchelf") is None, reason="patchelf is not installed")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make tree DESTDIR=…` makes."""
    destdir = tmp_path_factory.mktemp("tree")
    subprocess.run([*INSTALL, destdir, "--bundled"], check=True)
    return destdir


@pytest.fixture(scope="module")
def bill(tree: Path) -> dict[str, Any]:
    """The tree's bill of materials."""
    document: dict[str, Any] = json.loads((tree / LIBRARY / bill_of_materials.NAME).read_text())
    return document


def content(tree: Path) -> dict[str, tuple[int, str]]:
    """Every file with its mode and the digest of its content."""
    files = (path for path in tree.rglob("*") if path.is_file())
    return {
        str(path.relative_to(tree)): (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    }


def test_two_builds_are_the_same(tree: Path, tmp_path: Path) -> None:
    """The interpreter is put together a second time too."""
    cached = build_interpreter.cached()
    machine = os.uname().machine
    shelf = cached.home.parent / f"packages-{debian_packages.SUITE}-{machine}"
    build_interpreter.assemble(debian_packages.packages(shelf), tmp_path / "interpreter")
    assert content(tmp_path / "interpreter") == content(cached.home)
    subprocess.run([*INSTALL, tmp_path / "tree", "--bundled"], check=True)
    assert content(tmp_path / "tree") == content(tree)


def test_no_file_names_the_directories_of_the_build(tree: Path) -> None:
    """Another machine would build other bytes."""
    names = [str(ROOT), "/.cargo/registry", os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")]
    files = [path for path in tree.rglob("*") if path.is_file()]
    assert len(files) > 1000
    named = [(path.name, name) for path in files for name in names if name.encode() in path.read_bytes()]
    assert named == []


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_the_tree_needs_nothing_else(tree: Path) -> None:
    """As the only files of a root file system: no C library, no Python, no /proc."""
    alone = ["chroot", str(tree)]
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [*alone, PYTHON, "-I", "-W", "ignore", "-c", IMPORT_ALL],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
    version = subprocess.run([*alone, "/usr/bin/nodenetctl", "version"], capture_output=True, text=True, check=False)
    assert version.stdout == f"nodenet {__version__}\n", version.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_what_is_left_of_the_standard_library_needs_nothing_that_is_left_out(tree: Path) -> None:
    """Each of its modules is imported."""
    command = ["chroot", str(tree), PYTHON, "-IXutf8", "-W", "ignore", "-c", IMPORT_STANDARD]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_an_incomplete_tree_is_named(tree: Path, tmp_path: Path) -> None:
    """Copied in part, it says so instead of a traceback, and systemd does not start it again and again."""
    part = tmp_path / "part"
    shutil.copytree(tree / LIBRARY / "nodenet", part / "nodenet")
    (part / "nodenet/core/errors.py").unlink()
    shutil.rmtree(part / "nodenet/core/__pycache__")
    programs = (
        "usr/bin/nodenetctl",
        *(f"usr/libexec/{name}" for name in ("nodenetd", "nodenet-hosted", "nodenet-ipam")),
    )
    for name in programs:
        program = tmp_path / Path(name).name
        program.write_text((tree / name).read_text().replace(f'"/{LIBRARY}"', repr(str(part))))
        done = subprocess.run([sys.executable, program, "version"], capture_output=True, text=True, check=False)
        assert done.returncode == 78, name
        assert done.stderr == (
            f"nodenet: the installation below /{LIBRARY} is incomplete: No module named 'nodenet.core.errors'. "
            "Install it again.\n"
        )


def test_every_program_runs_under_the_bundled_interpreter(tree: Path) -> None:
    programs = [path for place in ("usr/bin", "usr/libexec") for path in (tree / place).rglob("*") if path.is_file()]
    first = {str(path.relative_to(tree)): path.read_bytes().partition(b"\n")[0] for path in programs}
    assert first.pop("usr/libexec/nodenet/cni/nodenet-ipam").startswith(b"\x7fELF")
    assert len(first) > 0
    assert {name for name, line in first.items() if line != f"#!{PYTHON} -IXutf8".encode()} == set()


def test_the_bill_lists_every_file_once(tree: Path, bill: dict[str, Any]) -> None:
    own = bill["metadata"]["component"]
    listed = [file for part in [own, *bill["components"]] for file in part.get("components", [])]
    digests = {file["name"]: file["hashes"][0]["content"] for file in listed}
    assert len(digests) == len(listed)
    there = {name: digest for name, (_, digest) in content(tree).items()}
    del there[f"{LIBRARY}/{bill_of_materials.NAME}"]
    assert digests == there


def test_each_file_has_its_origin(bill: dict[str, Any]) -> None:
    """What is nodenet's own is nodenet's; the interpreter, its libraries and the packages are of others."""
    own = bill["metadata"]["component"]
    assert own["version"] == __version__
    names = [file["name"].removeprefix(f"{LIBRARY}/") for file in own["components"]]
    assert {name.partition("/")[0] for name in names} - {"usr"} == {"nodenet", "licences"}
    parts = {part["name"]: part for part in bill["components"]}
    assert {*debian_packages.PACKAGES, "libnmstate", "structlog", "pyroute2", "nmstate"} <= set(parts)
    assert [name for name, part in parts.items() if not part["version"] or not part["licenses"]] == []
    assert [name for name in debian_packages.PACKAGES if not parts[name]["components"]] == []


def test_bytecode_comes_from_where_its_module_comes_from() -> None:
    assert bill_of_materials.source_of("a/__pycache__/b.cpython-313.pyc") == "a/b.py"
    assert bill_of_materials.source_of("a/b.so") == "a/b.so"


def test_licences(tree: Path) -> None:
    """Of each package, and each text that one of these refers to."""
    licences = tree / LIBRARY / "licences"
    names = {path.name for path in licences.iterdir()}
    assert names == {*debian_packages.PACKAGES, "nodenet", "common", "crates"}
    assert {path.name for path in (licences / "common").iterdir()} >= {"LGPL-2.1", "GPL-3", "Apache-2.0"}
    assert [path for path in licences.rglob("*") if path.is_file() and path.stat().st_size < 100] == []


@pytest.mark.parametrize("words", [["--build", "nodenet"], ["--build", "../1"], ["--build", ""]])
def test_a_name_that_is_no_build_is_refused(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run([*INSTALL, tmp_path, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is no name of a build" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [[], ["--bundled"], ["--uninstall"]])
def test_a_package_is_left_alone(tmp_path: Path, words: list[str]) -> None:
    """Two forms at once: which files are whose would be known to neither."""
    module = tmp_path / LIBRARY / "1.2.3-abcd/nodenet/__init__.py"
    module.parent.mkdir(parents=True)
    module.touch()
    done = subprocess.run([*INSTALL, tmp_path, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "nodenet: a package of nodenet is installed here (/usr/lib/nodenet/1.2.3-abcd). Remove it with "
        "the package manager first; settings and state stay\n"
    )
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [module]


@pytest.mark.parametrize("words", [[], ["--bundled"], ["--uninstall"]])
def test_a_system_extension_is_left_alone(tmp_path: Path, words: list[str]) -> None:
    release = tmp_path / "usr/lib/extension-release.d/extension-release.nodenet"
    release.parent.mkdir(parents=True)
    release.touch()
    done = subprocess.run([*INSTALL, tmp_path, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "nodenet: nodenet is a system extension here (/usr/lib/extension-release.d/extension-release.nodenet). Remove "
        "it with `nodenet-sysext remove` first; settings and state stay\n"
    )
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [release]


def test_parts_of_the_standard_library_that_are_left_out() -> None:
    out = ("test/support/smtpd.py", "lib-dynload/_testcapi.cpython-313-x86_64-linux-gnu.so", "sitecustomize.py")
    assert all(build_interpreter.omitted(Path(name)) for name in out)
    kept = ("asyncio/events.py", "testing.py", "lib-dynload/_ssl.cpython-313-x86_64-linux-gnu.so", "site.py")
    assert not any(build_interpreter.omitted(Path(name)) for name in kept)


def imported(path: Path) -> set[str]:
    """Return what a module imports from outside its package, at whatever time, `a.b` for `from a import b` too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def is_left_out(name: str) -> bool:
    """Return whether a module of the standard library is one of those that are left out."""
    file = Path(f"{name.replace('.', '/')}.py")
    return any(build_interpreter.omitted(path) for path in (file, Path("lib-dynload") / f"{name}.so"))


def test_nothing_imports_what_is_left_out(tree: Path) -> None:
    """Also within functions: the interpreter has each module of the standard library that something imports."""
    library = tree / LIBRARY
    modules = [path for path in library.rglob("*.py") if not path.is_relative_to(library / "python")]
    names = {name for path in modules for name in imported(path)}
    assert {"multiprocessing", "sqlite3"} <= names
    wanted = {name for name in names if name.partition(".")[0] in sys.stdlib_module_names}
    assert {name for name in wanted if is_left_out(name)} == set()
