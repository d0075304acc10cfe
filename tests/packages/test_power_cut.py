"""Is one version whole at each moment of an upgrade, and does the same upgrade complete what was cut?

The packages are small. Each change of a directory that the package manager makes is read from a trace; the launchers
name the build that they start.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import build_deb
import build_rpm
import build_sysext
from package_tree import BUILD, FILES, small_tree
from tree_files import LIBRARY

VERSIONS = ("1.0.0", "1.0.1")
CHANGES = "rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir"
CALL = re.compile(r"\b(rename|unlink|rmdir)(?:at2?)?\((.*)\) = 0$")
PLACE = re.compile(r'(?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"')
LAUNCHERS = ("usr/bin/nodenetctl", "usr/libexec/nodenetd")
TOOLS = (
    *("mv", "cp", "ln", "rm", "chmod", "mkdir", "sync"),
    *("systemctl", "systemd-sysext", "journalctl", "busctl"),
)
WATCHING = """#!/bin/sh
# One of the programs that the installer runs: what there is before and after it is what a power cut may leave.
look() {{
	seen=
	for file in var/lib/extensions/nodenet.raw {files} etc/systemd/system/nodenetd.service; do
		content=
		if [ -e "{place}/$file" ]; then read -r content <"{place}/$file"; seen="$seen $file=$content"; fi
	done
	echo "$seen" >>"{place}/seen"
}}
look
{does}
code=$?
look
[ ! -e "{place}/cut" ] || [ "$(wc -l <"{place}/seen")" -lt "$(cat "{place}/cut")" ] || kill -9 $PPID
exit $code
"""


@dataclass(frozen=True, slots=True)
class Manager:
    """A package manager: how a package is made, and how it is installed below a root directory."""

    pack: Callable[..., Path]
    command: Callable[[Path], list[str]]


def dpkg(root: Path) -> list[str]:
    """Return dpkg's command; its database is made where there is none."""
    place = root / "var/lib/dpkg"
    for name in ("updates", "info"):
        (place / name).mkdir(parents=True, exist_ok=True)
    for name in ("status", "available"):
        (place / name).touch()
    return ["dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends", "--unpack"]


def rpm(root: Path) -> list[str]:
    """Return rpm's command."""
    return ["rpm", "--root", str(root), "--nodeps", "--noscripts", "--upgrade", "--replacepkgs"]


MANAGERS = {"dpkg": Manager(build_deb.pack, dpkg), "rpm": Manager(build_rpm.pack, rpm)}


@dataclass(frozen=True, slots=True)
class Node:
    """A root directory with the older version, and the command that upgrades it."""

    root: Path
    upgrade: list[str]


@pytest.fixture(params=sorted(MANAGERS))
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Node:
    """A node with the older version."""
    if os.geteuid() != 0 or not all(shutil.which(name) for name in ("strace", "rpmbuild", request.param)):
        pytest.skip("root, strace, dpkg and rpm are needed")
    manager = MANAGERS[request.param]
    packages = []
    for number in VERSIONS:
        build = replace(BUILD, version=number, name=f"{number}-test", compressed=False)
        tree = small_tree(tmp_path / number)
        (tree / LIBRARY / BUILD.name).rename(tree / LIBRARY / build.name)
        for launcher in LAUNCHERS:
            (tree / launcher).write_text(build.name)
        packages.append(str(manager.pack(build, tree, tmp_path)))
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run([*manager.command(root), packages[0]], check=True, capture_output=True)
    return Node(root, [*manager.command(root), packages[1]])


def files(root: Path) -> set[str]:
    """Return every file below *root* that belongs to nodenet's tree."""
    found = {str(path.relative_to(root)) for path in (root / "usr").rglob("*") if path.is_file()}
    return {name for name in found if ";" not in name}  # temporary files of rpm, which it does not remove


def wanted(build: str) -> set[str]:
    """Return the files that a launcher of *build* needs."""
    return {name.replace(BUILD.name, build) for name in FILES if name.startswith(f"{LIBRARY}/")}


def changes(trace: str, root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each change below *root*: "rename" with both paths, else with one, the way the trace has them."""
    for line in trace.splitlines():
        if found := CALL.search(line):
            paths = [os.path.join(directory, name) for directory, name in PLACE.findall(found[2])]  # noqa: PTH118
            inside = [os.path.relpath(path, root) for path in paths]
            if not inside[-1].startswith(".."):
                yield found[1], inside[0], inside[-1]


def test_at_each_moment_one_version_is_whole(node: Node, tmp_path: Path) -> None:
    """Every prefix of the changes is what a power cut may leave: a launcher's build is complete in each of them."""
    trace = tmp_path / "trace"
    present, starts = files(node.root), dict.fromkeys(LAUNCHERS, f"{VERSIONS[0]}-test")
    real = {str((node.root / name).resolve().relative_to(node.root)): name for name in LAUNCHERS}
    command = [
        "strace",
        "--follow-forks",
        "--decode-fds=path",
        f"--trace={CHANGES}",
        f"--output={trace}",
        *node.upgrade,
    ]
    subprocess.run(command, check=True, capture_output=True)
    moments = 0
    for call, source, target in changes(trace.read_text(), node.root):
        moments += 1
        if call == "rename":
            present = {name for name in present if name != source} | {target}
            if target in real:
                starts[real[target]] = f"{VERSIONS[1]}-test"
        else:
            present.discard(target)
        for launcher, build in starts.items():
            assert wanted(build) <= present, f"{launcher} starts {build} after {call} {source} {target}"
    assert moments > len(wanted(VERSIONS[0]))
    assert set(starts.values()) == {f"{VERSIONS[1]}-test"}


@pytest.mark.parametrize("which", [2, 5])
def test_the_same_upgrade_completes_what_was_cut(node: Node, which: int) -> None:
    """The package manager is killed at one of its renames."""
    inject = f"--inject=rename,renameat:signal=KILL:when={which}"
    command = ["strace", "--follow-forks", "--trace=rename,renameat", inject, *node.upgrade]
    cut = subprocess.run(command, check=False, capture_output=True)
    assert cut.returncode != 0
    for launcher in LAUNCHERS:
        assert wanted((node.root / launcher).read_text()) <= files(node.root)
    time.sleep(1.1)  # rpm names its temporary files by the second, and one of that name must not be there
    again = subprocess.run(node.upgrade, check=False, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    new = f"{VERSIONS[1]}-test"
    assert [(node.root / launcher).read_text() for launcher in LAUNCHERS] == [new, new]
    assert {name for name in files(node.root) if name.startswith(f"{LIBRARY}/")} == wanted(new)


UNIT, SETTINGS = "usr/lib/systemd/system/nodenetd.service", "usr/share/nodenet/sysext.conf"
IN_DIRECTORY = tuple(f"var/lib/extensions/nodenet/{name}" for name in (UNIT, SETTINGS, build_sysext.RELEASE))


def image(place: Path, build: str) -> Path:
    """Return an image of *build* as a directory; beside it is a file that stands for the same image."""
    tree = place / build
    for name in (UNIT, SETTINGS, build_sysext.RELEASE):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{build}\n")
    (tree / build_sysext.SUMS).write_text("")
    (place / f"{build}.raw").write_text(f"{build}\n")
    return tree


def installer(place: Path) -> Path:
    """Return the installer with every path below *place*, and programs that watch; only its checks are left out."""
    text = build_sysext.script().decode()
    prefix = r'(?:"\$root"|\$root|(?<![\w.$}/]))'
    text = re.sub(rf"{prefix}/(var|etc|usr|run)/", rf"{place}/\1/", text)
    text = re.sub(r"(?m)^\t(open_image|fits|prepare) .*$|^\tprepare$", "\t:", text)
    text = re.sub(r"(?m)^ENABLED_UNITS=.*$", 'ENABLED_UNITS="nodenetd.service"', text)
    program = place / "nodenet-sysext"
    program.write_text(text)
    merges = f"{shutil.which('mkdir')} -p {place}/usr/lib/extension-release.d && : >{place}/{build_sysext.RELEASE}"
    does = {**dict.fromkeys(("sync", "systemctl", "busctl", "journalctl"), ":"), "systemd-sysext": merges}
    for tool in TOOLS:
        path = place / "bin" / tool
        path.parent.mkdir(exist_ok=True)
        runs = does.get(tool) or f'{shutil.which(tool)} "$@"'
        path.write_text(WATCHING.format(place=place, files=" ".join(IN_DIRECTORY), does=runs))
        path.chmod(0o755)
    return program


@pytest.mark.parametrize("before", ["raw", "directory"])
def test_whenever_the_installer_of_the_extension_is_cut_one_image_is_whole(tmp_path: Path, before: str) -> None:
    """And no unit is half written. The same installation completes one that was killed, with a private umask too."""
    program, new = installer(tmp_path), image(tmp_path, "new").with_suffix(".raw")
    old = image(tmp_path, "old")
    shutil.copytree(new.with_suffix("") / "usr", tmp_path / "usr")
    extensions, units = tmp_path / "var/lib/extensions", tmp_path / "etc/systemd/system"
    for place in (units, extensions, tmp_path / "var/lib/nodenet"):
        place.mkdir(parents=True)
    (units / "nodenetd.service").write_text("old\n")
    (tmp_path / "same-file").hardlink_to(units / "nodenetd.service")
    if before == "raw":
        shutil.copy(old.with_suffix(".raw"), extensions / "nodenet.raw")
    else:
        shutil.copytree(old, extensions / "nodenet")
    environment = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    (tmp_path / "cut").write_text("20")
    for killed in (True, False):
        command = ["sh", "-c", 'umask 077; exec sh "$0" install "$1"', str(program), str(new)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        assert (done.returncode == -9) == killed, done.stderr
        (tmp_path / "cut").unlink(missing_ok=True)
    moments = [dict(word.split("=") for word in line.split()) for line in (tmp_path / "seen").read_text().splitlines()]
    assert len(moments) > 50
    for seen in moments:
        assert seen.pop("etc/systemd/system/nodenetd.service") in ("old", "new")
        assert set(seen) >= {"var/lib/extensions/nodenet.raw"} or set(seen) == set(IN_DIRECTORY)
        assert all(seen.values())
        assert len({seen[name] for name in IN_DIRECTORY if name in seen}) <= 1
    assert (tmp_path / "same-file").read_text() == "old\n", "replaced, not written in place"
    assert [path.name for path in extensions.iterdir()] == ["nodenet.raw"]
    assert new.read_text() == (extensions / "nodenet.raw").read_text() == (units / "nodenetd.service").read_text()
    made = (units / "nodenetd.service", units / "nodenetd.service.d", units / "nodenetd.service.d/10-sysext.conf")
    assert [path.stat().st_mode & 0o777 for path in made] == [0o644, 0o755, 0o644]


def test_a_removal_of_the_extension_that_was_cut_can_be_repeated(tmp_path: Path) -> None:
    """Also when its image is gone by then: nothing of it is left, and the former chain starts at the next boot."""
    program, units = installer(tmp_path), tmp_path / "etc/systemd/system"
    (tmp_path / "bin/systemctl").write_text('#!/bin/sh\n[ "$1" != stop ] || exit 5\n')  # no unit is loaded
    left = {
        units / "nodenetd.service",
        units / "nodenetd.service.d/10-sysext.conf",
        units / "nodenetd.service.d/90-nodenet-adopt.conf",
        units / "ovs-configuration.service.d/90-nodenet-adopt.conf",
        tmp_path / "etc/nodenet/adopted",
        tmp_path / "run/nodenet/nodenetd.prom",
        tmp_path / "var/lib/extensions/.nodenet.old",
        units / "nodenetd.service.nodenet-new",
        units / "nodenetd.service.d/10-sysext.conf.nodenet-new",
    }
    kept = {units / "ovs-configuration.service.d/10-other.conf", tmp_path / "etc/nodenet/nodenet.toml"}
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    for path in left | kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    environment = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    remove = ["sh", str(program), "remove"]
    done = subprocess.run(remove, check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "no image of it can be used" in done.stderr
    assert {path for path in left | kept if path.exists()} == kept
    assert not (units / "nodenetd.service.d").exists()
    again = subprocess.run(remove, check=False, capture_output=True, text=True, env=environment)
    assert (again.returncode, again.stderr) == (1, "nodenet: this node has no nodenet as a system extension\n")
