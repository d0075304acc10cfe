"""Is the install tree complete, the same twice, and runnable offline under every Python that a node may have?"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from nodenet import __version__
from tree_files import UNUSED

ROOT = Path(__file__).parents[1]
INSTALL = [sys.executable, str(ROOT / "packaging/install.py"), "--destdir"]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
OURS = {
    "usr/bin/nodenetctl",
    "usr/libexec/nodenetd",
    "usr/libexec/nodenet-hosted",
    "usr/libexec/nodenet-ipam",
    "usr/libexec/nodenet/cni/install-plugin",
    "usr/libexec/nodenet/cni/nodenet-ipam",
    "usr/libexec/nodenet/former-chain",
    "usr/libexec/nodenet/undo-keyfiles",
    "usr/lib/systemd/system/nodenetd.service",
    "usr/lib/systemd/system/nodenet-ready.service",
    "usr/lib/systemd/system/nodenet-undo.service",
    "usr/lib/systemd/system/nodenet-wait@.service",
    *(
        f"usr/lib/systemd/system/nodenet-{name}.service"
        for name in ("hosted", "dnsmasq", "keepalived", "haproxy", "ipam")
    ),
    "usr/lib/sysusers.d/nodenet.conf",
    "usr/share/dbus-1/system.d/org.nodenet1.Hosted.conf",
    "usr/share/dbus-1/system.d/org.nodenet1.Ipam.conf",
    *(
        f"usr/share/nodenet/cluster/{path.relative_to(ROOT / 'packaging/cluster')}"
        for path in (ROOT / "packaging/cluster").rglob("*.yaml")
    ),
    *(f"usr/lib/systemd/system/{unit.name}" for unit in (ROOT / "units/compat").iterdir()),
    "usr/lib/systemd/system-preset/80-nodenet.preset",
    "usr/lib/systemd/catalog/nodenet.catalog",
    "usr/lib/tmpfiles.d/nodenet.conf",
    "usr/share/bash-completion/completions/nodenetctl",
    "usr/share/dbus-1/interfaces/org.nodenet1.Manager.xml",
    "usr/share/dbus-1/interfaces/org.nodenet1.Stage.xml",
    "usr/share/dbus-1/interfaces/org.nodenet1.Hosted.xml",
    "usr/share/dbus-1/interfaces/org.nodenet1.Ipam.xml",
    "usr/share/dbus-1/system.d/org.nodenet1.conf",
    "usr/share/fish/vendor_completions.d/nodenetctl.fish",
    "usr/share/man/man1/nodenetctl.1",
    "usr/share/man/man5/nodenet.toml.5",
    "usr/share/man/man8/nodenetd.8",
    "usr/share/man/man8/nodenet-ipam.8",
    "usr/share/nodenet/nodenet.toml",
    "usr/share/zsh/site-functions/_nodenetctl",
}
"""Everything outside /usr/lib/nodenet."""
LOCKS = ("requirements.txt", "requirements-dev.txt", "libnmstate/requirements-build.txt")
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
from pyroute2 import IPRSocket
from pyroute2.netlink import rtnl
assert IPRSocket and rtnl
assert libnmstate.PrettyState({"interfaces": []}).yaml
print(len(names))
"""


@pytest.fixture(scope="module")
def installer() -> ModuleType:
    """packaging/install.py as a module."""
    spec = importlib.util.spec_from_file_location("install", ROOT / "packaging/install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(version: str) -> str | None:
    """Return a Python of this minor version, from a package or from pyenv."""
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


OTHER_SYSTEMS = {
    # imported where Python runs on another system than Linux
    ("pyroute2/iproute/__init__.py", f"pyroute2/iproute/{name}.py")
    for name in ("bsd", "darwin", "windows")
}


def test_no_list_of_files_depends_on_the_python_of_the_build(tree: Path) -> None:
    """The first line of a command line tool is the path of that Python, and its digest would be listed."""
    records = list((tree / "usr/lib/nodenet").glob("*.dist-info/RECORD"))
    assert len(records) > 3
    assert not [record for record in records if "../bin/" in record.read_text()]


def test_nothing_imports_a_part_of_a_package_that_is_left_out(tree: Path) -> None:
    """At whatever time; what is left out is there in the packages, so an upgrade that renames it is noticed."""
    library = tree / LIBRARY
    assert [name for name in UNUSED if (library / name).exists()] == []
    shelf = max((Path(install_cache()) / "packages").iterdir(), key=lambda path: path.stat().st_mtime)
    assert [name for name in UNUSED if not (shelf / name).exists()] == []
    found = {
        (str(path.relative_to(library)), part)
        for path in library.rglob("*.py")
        for name in imported(path, library)
        for part in UNUSED
        if f"{name.replace('.', '/')}/".startswith(f"{part.removesuffix('.py')}/")
    }
    assert found == OTHER_SYSTEMS


def install_cache() -> str:
    """Return where the packages are kept."""
    return f"{os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'}/nodenet"


def imported(path: Path, library: Path) -> Iterator[str]:
    """Yield the absolute name of everything that a module imports, `a.b` for `from a import b` too."""
    package = path.parent.relative_to(library).parts
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def unsafe(tree: Path) -> list[str]:
    """Return what others than root can write, and what they cannot read."""
    wrong = []
    for path in [path for path in tree.rglob("*") if not path.is_symlink()]:
        mode = path.stat().st_mode & 0o777
        if mode & 0o022 or not mode & 0o004 or (path.is_dir() and not mode & 0o001):
            wrong.append(f"{path} {mode:o}")
    return wrong


def test_only_root_can_write_and_everybody_can_read(tree: Path) -> None:
    assert unsafe(tree) == []


def test_the_umask_of_the_installer_does_not_show(tmp_path: Path) -> None:
    """Nor do the modes of the sources: a checkout under the same umask has 0600 (R65)."""
    destdir = tmp_path / "tree"
    subprocess.run(["/bin/sh", "-c", 'umask 077; exec "$@"', "sh", *INSTALL, destdir], check=True)
    destdir.chmod(0o755)
    assert unsafe(destdir) == []


def test_modes_of_the_sources_do_not_show(installer: ModuleType, tmp_path: Path) -> None:
    """(R65)."""
    for name, mode in {"package/module.py": 0o600, "package/program": 0o700, "package/open.py": 0o666}.items():
        path = tmp_path / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch()
        path.chmod(mode)
    installer.readable(tmp_path)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"package": 0o755, "module.py": 0o644, "program": 0o755, "open.py": 0o644}


def test_an_empty_destdir_is_this_machine(installer: ModuleType) -> None:
    """As in other Makefiles; it was the current directory (R65)."""
    assert installer.destination("") == Path("/")
    assert installer.destination("/tmp/tree") == Path("/tmp/tree")  # noqa: S108 - only a name


def test_bytecode_is_there_for_the_python_that_installed(tree: Path) -> None:
    cached = tree / LIBRARY / f"nodenet/core/boot/__pycache__/stages.{sys.implementation.cache_tag}.pyc"
    assert cached.is_file()
    assert str(tree).encode() not in cached.read_bytes()


def test_installing_again_replaces_everything(tree: Path, tmp_path: Path) -> None:
    """And writes no file in place: a power cut leaves each as it was or as it will be, as its second name shows."""
    before = content(tree)
    stale = tree / LIBRARY / "nodenet/core/gone.py"
    stale.write_text("raise SystemExit")
    names = {tmp_path / str(number): name for number, name in enumerate(sorted(OURS))}
    for link, name in names.items():
        (tree / name).write_text(f"old {name}")
        link.hardlink_to(tree / name)
    trace = tmp_path / "trace"
    subprocess.run([*traced(trace), *INSTALL, tree], check=True)
    assert content(tree) == before
    assert {link: link.read_text() for link in names} == {link: f"old {name}" for link, name in names.items()}
    assert [path.name for path in (tree / LIBRARY).parent.iterdir() if path.name.startswith(".nodenet")] == []
    if trace.exists():
        calls = re.findall(r"\b(syncfs|renameat2)\(", trace.read_text())
        assert calls == ["syncfs", "renameat2"], "on the disk before it is in its place"


def traced(trace: Path) -> list[str]:
    """Return the words that let strace write what a program syncs and exchanges, where there is strace."""
    words = ["strace", "--follow-forks", "--trace=syncfs,renameat2", f"--output={trace}"]
    return words if shutil.which("strace") else []


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted")
def test_a_full_disk_leaves_the_older_tree(tree: Path, tmp_path: Path) -> None:
    """The cause is printed, and nothing is replaced: neither the library nor a file beside it."""
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
    root = tmp_path / "small"
    root.mkdir()
    script = f"""
mount -t tmpfs -o size={size * 3 // 2} tmpfs {root}
cp -a {tree}/usr {root}/
echo older >{root}/{LIBRARY}/nodenet/older.py
echo older >{root}/usr/share/nodenet/nodenet.toml
"$@" {root} >&2 && exit 1
cat {root}/{LIBRARY}/nodenet/older.py {root}/usr/share/nodenet/nodenet.toml
find {root} -name '.nodenet*'
"""
    command = ["unshare", "--mount", "sh", "-euc", script, "sh", *INSTALL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("What was installed before goes on\n")
    assert (done.stdout, done.returncode) == ("older\nolder\n", 0)


def two_trees(directory: Path) -> tuple[Path, Path]:
    """Make a new tree and an installed one; return both."""
    fresh, library = directory / "new", directory / "library"
    for tree in (fresh, library):
        tree.mkdir()
        (tree / "version").write_text(tree.name)
    return fresh, library


def test_an_upgrade_never_leaves_the_node_without_a_tree(installer: ModuleType, tmp_path: Path) -> None:
    """Whenever it is interrupted: a reader sees one tree or the other at every moment (R64)."""
    fresh, library = two_trees(tmp_path)
    stop, missing = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            try:
                (library / "version").read_text()
            except FileNotFoundError as error:
                missing.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(2000):
        installer.swap(fresh, library)
    stop.set()
    reader.join()
    assert missing == []
    assert ((library / "version").read_text(), (fresh / "version").read_text()) == ("library", "new")


def test_a_failed_upgrade_restores_the_old_tree(installer: ModuleType, tmp_path: Path) -> None:
    """Where the file system cannot exchange two directories, and the second rename fails (R64)."""
    fresh, library = two_trees(tmp_path)
    shutil.rmtree(fresh)
    with pytest.raises(FileNotFoundError):
        installer.swap(fresh, library, atomic=False)
    assert (library / "version").read_text() == "library"
    assert [path.name for path in tmp_path.iterdir()] == ["library"]


def test_an_upgrade_without_exchange(installer: ModuleType, tmp_path: Path) -> None:
    """(R64)."""
    fresh, library = two_trees(tmp_path)
    installer.swap(fresh, library, atomic=False)
    assert (library / "version").read_text() == "new"


def test_an_installation_that_was_killed_leaves_nothing_behind(tree: Path) -> None:
    """The next one removes its scratch directory (R64)."""
    leftover = tree / "usr/lib/.nodenet-abc/new"
    leftover.mkdir(parents=True)
    subprocess.run([*INSTALL, tree], check=True)
    assert [path.name for path in (tree / "usr/lib").glob(".*")] == []


SPELLINGS: dict[str, Callable[[Path, Path], str]] = {
    "/usr/lib": lambda target, _: str(target),
    "/lib": lambda target, _: str(target).removeprefix("/usr"),  # systemd 252 of Debian
    "relative": os.path.relpath,
}


def test_an_adopted_node_keeps_nodenet_until_it_is_handed_back(tmp_path: Path) -> None:
    """Neither nodenet nor the former chain would configure it at its next boot."""
    marker, unit = tmp_path / "etc/nodenet/adopted", tmp_path / "usr/lib/systemd/system/nodenetd.service"
    for path in (marker, unit):
        path.parent.mkdir(parents=True)
    marker.symlink_to("/usr/libexec/nodenetd")
    unit.touch()
    done = subprocess.run([*INSTALL, tmp_path, "--uninstall"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("at its next boot. Run `nodenetctl hand-back --uninstall` first\n")
    assert unit.exists()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_uninstalling_leaves_nothing_of_ours(tree: Path, tmp_path: Path, spelling: str) -> None:
    """Whichever way the links of `systemctl enable` name their target (R63), nor of an installation that was killed."""
    shutil.copytree(tree, tmp_path, symlinks=True, dirs_exist_ok=True)
    (tmp_path / "usr/lib/.nodenet-abcd/new").mkdir(parents=True)
    (tmp_path / "usr/bin/.nodenet-nodenetctl").write_text("")
    kept = tmp_path / "etc/nodenet/nodenet.toml"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    enable = ["systemctl", f"--root={tmp_path}", "--quiet", "enable", "nodenetd.service", "nodenet-compat.target"]
    subprocess.run(enable, check=True)
    links = [path for path in (tmp_path / "etc/systemd/system").rglob("*") if path.is_symlink()]
    assert len(links) == 21
    for link in links:
        target = Path("/usr") / str(link.readlink()).removeprefix("/usr").lstrip("/")
        link.unlink()
        link.symlink_to(SPELLINGS[spelling](target, Path("/") / link.parent.relative_to(tmp_path)))
    others = tmp_path / "etc/systemd/system/multi-user.target.wants/chronyd.service"
    others.symlink_to("/usr/lib/systemd/system/chronyd.service")
    subprocess.run([*INSTALL, tmp_path, "--uninstall"], check=True)
    assert list(content(tmp_path)) == ["etc/nodenet/nodenet.toml"]
    assert [path for path in tmp_path.rglob("*") if path.is_symlink()] == [others]
    assert [path.name for path in (tmp_path / "etc/systemd/system").iterdir()] == ["multi-user.target.wants"]
    assert not (tmp_path / LIBRARY).exists()
    assert not (tmp_path / "usr/lib/.nodenet-abcd").exists()


@pytest.mark.parametrize("place", ["/usr/lib", "/etc"])
def test_a_removal_that_is_cut_off_leaves_no_link_to_a_unit(tmp_path: Path, place: str) -> None:
    """Else kubelet would require a unit that does not exist, and would not start at the next boot.

    The links of an adopted node lead to a copy in /etc, which `nodenetctl hand-back` has removed.
    """
    target = tmp_path / "usr/lib/systemd/system/nodenet-ready.service"
    link = tmp_path / "etc/systemd/system/kubelet.service.requires/nodenet-ready.service"
    for path in (target, link):
        path.parent.mkdir(parents=True)
    target.touch()
    link.symlink_to(f"{place}/systemd/system/nodenet-ready.service")
    (tmp_path / "usr/libexec/nodenetd").mkdir(parents=True)  # cannot be removed as a file
    done = subprocess.run([*INSTALL, tmp_path, "--uninstall"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    remedy = "Correct that and remove it again"
    assert done.stderr == f"nodenet: {tmp_path}/usr/libexec/nodenetd: Is a directory. {remedy}\n"
    assert target.exists()
    assert not link.is_symlink()


def test_the_gate_of_an_adopted_node_is_on_the_disk_before_it_replaces_the_older_one(tmp_path: Path) -> None:
    """A unit file that is empty after a power cut is a masked unit for systemd, and kubelet requires this one."""
    gate, fresh = (tmp_path / place / "systemd/system/nodenet-ready.service" for place in ("etc", "usr/lib"))
    first = "# Made by `nodenetctl adopt`, removed by `nodenetctl hand-back`.\n"
    for path, text in ((gate, f"{first}old\n"), (fresh, "new\n")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    sync, synced = tmp_path / "sync", tmp_path / "synced"
    sync.write_text(f'#!/bin/sh\ncat "$1" {gate} >{synced}\n')
    sync.chmod(0o755)
    program = f"import pathlib, install; install.renew_gate(pathlib.Path({str(tmp_path)!r}))"
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT / "packaging", env=environment, check=True)
    assert synced.read_text() == f"{first}new\n{first}old\n"
    assert gate.read_text() == f"{first}new\n"


STOPPED = [
    "daemon-reload",
    "stop --job-mode=ignore-dependencies nodenetd.service",
    "stop --job-mode=ignore-dependencies nodenet-ready.service",
    *(f"stop nodenet-{name}.service" for name in ("ipam", "hosted", "keepalived", "haproxy", "dnsmasq")),
]
"""A unit that requires nodenetd or its gate is not stopped with them: kubelet goes on."""


@pytest.mark.parametrize(("code", "asked"), [(0, STOPPED), (1, STOPPED[:1])])
def test_nothing_is_stopped_where_systemd_does_not_read_its_units_again(
    tmp_path: Path, code: int, asked: list[str]
) -> None:
    """Until then kubelet requires the gate, and would be stopped with it."""
    systemctl, said = tmp_path / "systemctl", tmp_path / "said"
    systemctl.write_text(f"#!/bin/sh\necho $* >>{said}\n[ $1 = stop ] || exit {code}\n")
    systemctl.chmod(0o755)
    program = f"import pathlib, install; install.stop_programs(pathlib.Path({str(tmp_path)!r}))"
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT / "packaging", env=environment, check=True)
    assert said.read_text().splitlines() == asked


def test_uninstalling_leaves_no_metrics(tmp_path: Path) -> None:
    """Neither in /run nor in the directory of `metrics_dir`; files of other programs stay."""
    copies = {"": "nodenetd", "hosted/": "nodenet-hosted"}
    for place, program in copies.items():
        memory = tmp_path / f"var/lib/nodenet/{place}metrics-{program}"
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_text(f"/var/textfile/{program}.prom\n")
    paths = ("var/textfile/nodenetd.prom", "var/textfile/nodenet-hosted.prom", "var/textfile/node.prom")
    for path in (*paths, "run/nodenet/nodenetd.prom"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    subprocess.run([*INSTALL, tmp_path, "--uninstall"], check=True)
    assert list(content(tmp_path)) == ["var/textfile/node.prom"]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_that_runs_as_root_has_its_hashes(lock: str) -> None:
    """(R66)."""
    text = (ROOT / "packaging" / lock).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) > 0
    assert [line for line in lines if not re.match(r"[\w.-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+$", line)] == []


@pytest.mark.parametrize("known", [True, False])
def test_pip_refuses_an_archive_with_another_hash(installer: ModuleType, tmp_path: Path, known: bool) -> None:  # noqa: FBT001
    """The options that the installer gives pip are enough for that (R66)."""
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("demo.py", "")
        archive.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        archive.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("demo-1.0.dist-info/RECORD", "demo.py,,\n")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if known else "0" * 64
    lock = tmp_path / "requirements.txt"
    lock.write_text(f"demo==1.0 --hash=sha256:{digest}\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *installer.PIP_OPTIONS]
    source = ["--no-index", "--find-links", str(tmp_path), "--target", str(tmp_path / "packages"), "-r", str(lock)]
    done = subprocess.run([*pip, *source], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == known, done.stderr
    assert ("DO NOT MATCH THE HASHES" in done.stderr) != known
    assert (tmp_path / "packages/demo.py").exists() == known


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


def test_the_operators_manifest_names_the_image_of_this_version() -> None:
    """`latest` with IfNotPresent would keep the image of before on a node that has one."""
    manifest = (ROOT / "packaging/cluster/operator.yaml").read_text()
    assert re.findall(r"image: (.*)", manifest) == [f"nodenet-operator:{__version__}"]
    assert "imagePullPolicy: IfNotPresent" in manifest


def test_launchers_are_for_the_nodes_own_python(tree: Path) -> None:
    """-I: neither the environment nor the current directory decides what root runs."""
    for name in ("usr/bin/nodenetctl", "usr/libexec/nodenetd"):
        text = (tree / name).read_text()
        ast.parse(text)
        assert text.startswith("#!/usr/bin/python3 -I\n")
        assert os.access(tree / name, os.X_OK)
