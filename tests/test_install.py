"""The install tree: complete, the same twice, and runnable offline under every Python that a node may have."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodenet import __version__

ROOT = Path(__file__).parents[1]
INSTALL = [sys.executable, str(ROOT / "packaging/install.py"), "--destdir"]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
OURS = {
    "usr/bin/nodenetctl",
    "usr/libexec/nodenetd",
    "usr/lib/systemd/system/nodenetd.service",
    "usr/lib/systemd/system/nodenet-ready.service",
    "usr/lib/systemd/system/nodenet-wait@.service",
    *(f"usr/lib/systemd/system/{unit.name}" for unit in (ROOT / "units/compat").iterdir()),
    "usr/lib/systemd/system-preset/80-nodenet.preset",
    "usr/lib/systemd/catalog/nodenet.catalog",
    "usr/lib/tmpfiles.d/nodenet.conf",
    "usr/share/bash-completion/completions/nodenetctl",
    "usr/share/dbus-1/interfaces/org.nodenet1.Manager.xml",
    "usr/share/dbus-1/interfaces/org.nodenet1.Stage.xml",
    "usr/share/dbus-1/system.d/org.nodenet1.conf",
    "usr/share/fish/vendor_completions.d/nodenetctl.fish",
    "usr/share/man/man1/nodenetctl.1",
    "usr/share/man/man5/nodenet.toml.5",
    "usr/share/man/man8/nodenetd.8",
    "usr/share/nodenet/nodenet.toml",
    "usr/share/zsh/site-functions/_nodenetctl",
}
"""Everything outside /usr/lib/nodenet."""
LIBRARY = "usr/lib/nodenet"
IMPORT_ALL = """
import importlib, pkgutil, sys
library = sys.argv[1]
sys.path.insert(0, library)
sys.path.append(library + "/bundled")
import nodenet
names = [found.name for found in pkgutil.walk_packages(nodenet.__path__, "nodenet.")]
for name in names:
    importlib.import_module(name)
for name in ("dbus_next.aio", "pyroute2", "structlog", "ruamel.yaml", "libnmstate"):
    assert importlib.import_module(name).__file__.startswith(library), name
import libnmstate
assert libnmstate.PrettyState({"interfaces": []}).yaml
print(len(names))
"""


def python(version: str) -> str | None:
    """A Python of this minor version, whoever installed it."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    return str(found[-1]) if found else shutil.which(f"python{version}", path="/usr/bin:/usr/local/bin")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make install DESTDIR=…` makes."""
    destdir = tmp_path_factory.mktemp("tree")
    subprocess.run([*INSTALL, destdir], check=True)
    return destdir


def content(tree: Path) -> dict[str, str]:
    """Every file but bytecode, with the digest of its content."""
    files = (path for path in tree.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(tree)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_tree_is_complete(tree: Path) -> None:
    assert {path for path in content(tree) if not path.startswith(LIBRARY)} == OURS
    sources = {str(path.relative_to(ROOT / "daemon")) for path in (ROOT / "daemon/nodenet").rglob("*.py")}
    assert {str(path.relative_to(tree / LIBRARY)) for path in (tree / LIBRARY / "nodenet").rglob("*.py")} == sources


def test_only_libnmstate_is_machine_code_and_that_is_abi3(tree: Path) -> None:
    assert [path.name for path in tree.rglob("*.so*")] == ["_native.abi3.so"]


def test_nobody_but_root_can_write_and_everybody_can_read(tree: Path) -> None:
    wrong = []
    for path in tree.rglob("*"):
        mode = path.stat().st_mode & 0o777
        if mode & 0o022 or not mode & 0o004 or (path.is_dir() and not mode & 0o001):
            wrong.append(f"{path} {mode:o}")
    assert wrong == []


def test_bytecode_is_there_for_the_python_that_installed(tree: Path) -> None:
    cached = tree / LIBRARY / f"nodenet/core/boot/__pycache__/stages.{sys.implementation.cache_tag}.pyc"
    assert cached.is_file()
    assert str(tree).encode() not in cached.read_bytes()


def test_installing_again_replaces_everything(tree: Path) -> None:
    before = content(tree)
    stale = tree / LIBRARY / "nodenet/core/gone.py"
    stale.write_text("raise SystemExit")
    subprocess.run([*INSTALL, tree], check=True)
    assert content(tree) == before
    assert [path.name for path in (tree / LIBRARY).parent.iterdir() if path.name.startswith(".nodenet")] == []


def test_uninstalling_leaves_nothing_of_ours(tmp_path: Path) -> None:
    subprocess.run([*INSTALL, tmp_path], check=True)
    kept = tmp_path / "etc/nodenet/nodenet.toml"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    enable = ["systemctl", f"--root={tmp_path}", "--quiet", "enable", "nodenetd.service", "nodenet-compat.target"]
    subprocess.run(enable, check=True)
    subprocess.run([*INSTALL, tmp_path, "--uninstall"], check=True)
    assert list(content(tmp_path)) == ["etc/nodenet/nodenet.toml"]
    assert [path for path in tmp_path.rglob("*") if path.is_symlink()] == []
    assert not (tmp_path / LIBRARY).exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_tree_runs_offline(tree: Path, version: str) -> None:
    """Every module is imported and nodenetctl answers, without the site-packages of whoever installed."""
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"no Python {version} here" + ("; the lab's node boots with it" if version == "3.14" else ""))
    offline = ["unshare", "--net"] if os.geteuid() == 0 else []
    library = str(tree / LIBRARY)
    command = [*offline, interpreter, "-IS", "-W", "ignore", "-c", IMPORT_ALL, library]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40
    launcher = (tree / "usr/bin/nodenetctl").read_text().replace(f'"/{LIBRARY}"', repr(library))
    command = [*offline, interpreter, "-IS", "-c", launcher, "version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"nodenet {__version__}\n"


def test_launchers_are_for_the_nodes_own_python(tree: Path) -> None:
    """-I: neither the environment nor the current directory decides what root runs."""
    for name in ("usr/bin/nodenetctl", "usr/libexec/nodenetd"):
        text = (tree / name).read_text()
        ast.parse(text)
        assert text.startswith("#!/usr/bin/python3 -I\n")
        assert os.access(tree / name, os.X_OK)
