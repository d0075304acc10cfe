"""Is the RPM package what rpm expects, and the same at each build?"""

from __future__ import annotations

import dataclasses
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

import build_rpm
import staging
from package_tree import BUILD, FILES, small_tree
from tree_files import LIBRARY

pytestmark = pytest.mark.skipif(shutil.which("rpmbuild") is None, reason="rpm is not installed")
SCRIPTS = ("PREIN", "POSTIN", "PREUN", "POSTUN", "POSTTRANS")


@pytest.fixture(scope="module")
def rpm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of a small tree."""
    place = tmp_path_factory.mktemp("rpm")
    return build_rpm.pack(BUILD, small_tree(place / "tree"), place)


def query(rpm: Path, text: str) -> str:
    """Return what rpm finds in the package."""
    command = ["rpm", "--query", "--package", "--queryformat", text, str(rpm)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_rpm_reads_the_package(rpm: Path) -> None:
    assert query(rpm, "%{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{BUILDHOST}") == (
        f"nodenet 1.2.3-1 {rpm.name.split('.')[-2]} nodenet.invalid"
    )
    required = {line.split()[0] for line in query(rpm, "[%{REQUIRENAME}\n]").splitlines()}
    assert {name for name in required if "(" not in name} == {
        *("systemd", "NetworkManager", "dbus", "iproute", "/bin/sh"),
    }
    assert query(rpm, "[%{PROVIDENAME}\n]").splitlines()[0] == "nodenet"
    assert "CHANGELOG.md.gz" in query(rpm, "[%{CHANGELOGTEXT}]")


def test_files(rpm: Path) -> None:
    """Of root, with the tree's modes; the package owns the directories that are nodenet's alone."""
    entries = [line.split() for line in query(rpm, "[%{FILEMODES:octal} %{FILEUSERNAME} %{FILENAMES}\n]").splitlines()]
    assert {owner for _, owner, _ in entries} == {"root"}
    files = {name.lstrip("/"): mode for mode, _, name in entries if mode.startswith("10")}
    documents = {f"{staging.DOCUMENTS}/{name}": 0o644 for name in ("CHANGELOG.md.gz", "copyright")}
    wanted = {f"{name}.gz" if "/man/" in name else name: mode for name, mode in FILES.items()} | documents
    wanted[build_rpm.PROGRAM] = wanted.pop(build_rpm.COMMAND)
    assert {name: int(mode[-4:], 8) for name, mode in files.items()} == wanted
    assert [name for mode, _, name in entries if mode.startswith("12")] == [f"/{build_rpm.COMMAND}"]
    directories = {name.lstrip("/") for mode, _, name in entries if mode.startswith("4")}
    assert {LIBRARY, f"{LIBRARY}/{BUILD.name}", staging.DOCUMENTS} <= directories
    assert {"usr", "usr/bin", "usr/lib", "usr/libexec"}.isdisjoint(directories)


def test_the_content_is_the_trees(rpm: Path, tmp_path: Path) -> None:
    copy = shutil.copy2(rpm, tmp_path)
    subprocess.run(["rpm2archive", copy], check=True)
    subprocess.run(["tar", "-xzf", f"{copy}.tgz", "-C", tmp_path], check=True)
    assert (tmp_path / "usr/libexec/nodenetd").read_text() == "usr/libexec/nodenetd" * 200


def test_the_same_tree_gives_the_same_package(rpm: Path, tmp_path: Path) -> None:
    """In another directory, at another time."""
    tree = small_tree(tmp_path / "elsewhere")
    os.utime(tree / "usr/bin/nodenetctl", (0, 0))
    again = build_rpm.pack(BUILD, tree, tmp_path)
    assert again.read_bytes() == rpm.read_bytes()


def test_a_package_of_another_architecture_is_refused(tmp_path: Path) -> None:
    """Nothing is unpacked."""
    other = "aarch64" if platform.machine() == "x86_64" else "x86_64"
    package = build_rpm.pack(BUILD, small_tree(tmp_path / "tree"), tmp_path, other)
    root = tmp_path / "root"
    root.mkdir()
    install = ["rpm", "--root", str(root), "--nodeps", "--noscripts", "--install", str(package)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"package nodenet-1.2.3-1.{other} is intended for a different architecture" in done.stderr
    assert not (root / "usr").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted")
@pytest.mark.parametrize(
    ("option", "said"), [("", "MB more space on the / filesystem"), ("--ignoresize", "install failed")]
)
def test_a_full_disk_leaves_the_older_version(tmp_path: Path, option: str, said: str) -> None:
    """Even where rpm does not ask for the room before it begins."""
    packages = []
    for number, size in (("1.0.0", 1), ("1.0.1", 4_000_000)):
        build = dataclasses.replace(BUILD, version=number, compressed=False)
        tree = small_tree(tmp_path / number)
        (tree / "usr/libexec/zz-large").write_bytes(b"x" * size)
        (tree / "usr/bin/nodenetctl").write_text(number)
        packages.append(build_rpm.pack(build, tree, tmp_path))
    root = tmp_path / "small"
    root.mkdir()
    database = tmp_path / "database"
    rpm = f"rpm --root {root} --define '_dbpath /database' --nodeps --noscripts"
    command = f"""
mount -t tmpfs -o size=2M tmpfs {root}
mkdir {database} {root}/database
mount --bind {database} {root}/database
{rpm} --install {packages[0]} >&2
{rpm} --upgrade {option} {packages[1]} >&2 && exit 1
cat {root}/usr/bin/nodenetctl
"""
    done = subprocess.run(["unshare", "--mount", "sh", "-euc", command], capture_output=True, text=True, check=False)
    assert said in done.stderr
    assert (done.stdout, done.returncode) == ("1.0.0", 0), done.stderr


def test_the_scripts_do_what_those_of_the_debian_package_do(rpm: Path) -> None:
    """The steps are the same text; only the conditions around them are each package manager's own."""
    scripts = {name: query(rpm, f"%{{{name}}}") for name in SCRIPTS}
    for text in scripts.values():
        assert "@" not in text
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    deb = Path(build_rpm.HERE).parent / "deb"
    pairs = {"preinst": ["pre"], "postinst": ["post", "posttrans"], "prerm": ["preun"], "postrm": ["postun"]}
    spec = (build_rpm.HERE / "nodenet.spec").read_text()
    for debian, names in pairs.items():
        sections = "".join(spec.partition(f"\n%{name}\n")[2].partition("\n%")[0] for name in names)
        assert steps_of(sections) == steps_of((deb / debian).read_text()) != []


def steps_of(text: str) -> list[str]:
    """Return the steps that a script names, each once."""
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip().startswith("@")))
