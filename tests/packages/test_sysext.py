"""Is the system extension what systemd-sysext expects, and the same at each build?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import build_sysext
from package_tree import BUILD, FILES, small_tree

LOOP = pytest.mark.skipif(
    os.geteuid() != 0
    or not Path("/dev/loop-control").exists()
    or " /dev devtmpfs " not in Path("/proc/self/mounts").read_text()
    or shutil.which("systemd-sysext") is None,
    reason="systemd-sysext mounts a loop device, as root; a container's /dev does not get the new ones of the kernel",
)
MERGE = """
mount --make-rprivate /
mount --make-rshared /
mount -t tmpfs tmpfs /run
systemd-sysext --root="$1" merge
cat "$1/usr/libexec/nodenetd"
"""
"""In a mount namespace of its own; nothing of this machine is merged."""

pytestmark = pytest.mark.skipif(shutil.which("mksquashfs") is None, reason="squashfs-tools is not installed")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An image of a small tree."""
    return build_sysext.pack(BUILD, small_tree(tmp_path / "tree"), tmp_path)


@pytest.fixture
def files(image: Path, tmp_path: Path) -> Path:
    """The files in the image."""
    place = tmp_path / "files"
    subprocess.run(["unsquashfs", "-quiet", "-no-progress", "-d", place, image], check=True)
    return place


def test_the_image_has_the_tree(image: Path, files: Path) -> None:
    """All of it is below /usr, as systemd-sysext demands, and root's."""
    assert [path.name for path in files.iterdir()] == ["usr"]
    names = {str(path.relative_to(files)): path.stat().st_mode & 0o777 for path in files.rglob("*") if path.is_file()}
    assert {f"{name}.gz" if "/man/" in name else name: mode for name, mode in FILES.items()}.items() <= names.items()
    assert names[build_sysext.SCRIPT] == 0o755
    listed = subprocess.run(["unsquashfs", "-lln", image], check=True, capture_output=True, text=True).stdout
    assert {line.split()[1] for line in listed.splitlines() if line[:1] in "-d"} == {"0/0"}


def test_it_is_for_every_system_of_the_architecture(files: Path) -> None:
    assert (files / build_sysext.RELEASE).read_text() == f"ID=_any\nARCHITECTURE={build_sysext.architecture()}\n"


def test_the_sums_are_right(files: Path) -> None:
    """Of every file but the list itself."""
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", build_sysext.SUMS], cwd=files, check=True)
    listed = {line.split("  ", 1)[1] for line in (files / build_sysext.SUMS).read_text().splitlines()}
    there = {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()}
    assert there - listed == {build_sysext.SUMS}


def test_the_same_tree_gives_the_same_image(image: Path, tmp_path: Path) -> None:
    """Whatever the times of its files are."""
    place = tmp_path / "again"
    place.mkdir()
    assert build_sysext.pack(BUILD, small_tree(place / "tree"), place).read_bytes() == image.read_bytes()


def test_the_installer_is_for_any_shell() -> None:
    text = build_sysext.script().decode()
    assert "@" not in text.replace('"$@"', "")
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)


@LOOP
def test_systemd_merges_the_image(image: Path, tmp_path: Path) -> None:
    """systemd-sysext of this machine, 252 or newer: on any system, whatever version that has."""
    done = merge(image, tmp_path / "root")
    assert (done.stdout, done.returncode) == ("usr/libexec/nodenetd" * 200, 0), done.stderr


@LOOP
def test_systemd_merges_no_image_of_another_version(tmp_path: Path) -> None:
    """One that was bound to a version of a system when it was built."""
    code = f"import build_sysext, package_tree, pathlib; place = pathlib.Path({str(tmp_path)!r}); "
    code += "build_sysext.pack(package_tree.BUILD, package_tree.small_tree(place / 'tree'), place)"
    bound = {"NODENET_SYSEXT_ID": "flatcar", "NODENET_SYSEXT_VERSION_ID": "2", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | bound)
    done = merge(tmp_path / build_sysext.file_name(BUILD), tmp_path / "root")
    assert "1 ignored due to incompatible" in done.stderr
    assert done.returncode != 0


def merge(image: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Let systemd-sysext merge the image into a root file system that has nothing but its version."""
    place = root / "var/lib/extensions"
    place.mkdir(parents=True)
    shutil.copy2(image, place / "nodenet.raw")
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/os-release").write_text("ID=flatcar\nVERSION_ID=1\n")
    command = ["unshare", "--mount", "sh", "-euc", MERGE, "sh", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@LOOP
def test_an_image_that_was_copied_in_part_is_refused(image: Path, tmp_path: Path) -> None:
    """By the kernel: the file is shorter than the file system in it. The whole image passes these checks."""
    installer = tmp_path / "nodenet-sysext"
    checks = build_sysext.script().decode().replace("\tplace=nodenet\n", "\techo fits; exit\n")
    installer.write_text(checks)
    half = tmp_path / "half.raw"
    half.write_bytes(image.read_bytes()[: image.stat().st_size // 2])
    done = install(installer, half)
    assert done.returncode == 1
    assert f"nodenet: {half} cannot be mounted: the file is incomplete or no image of nodenet." in done.stderr
    done = install(installer, image)
    assert (done.stdout, done.returncode) == ("fits\n", 0), done.stderr


def install(installer: Path, image: Path) -> subprocess.CompletedProcess[str]:
    """Run the installer up to its checks, with the mounts in a namespace of their own."""
    command = ["unshare", "--mount", "sh", str(installer), "install", str(image)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_copy_is_for_all_users_and_no_link(files: Path, tmp_path: Path) -> None:
    """Whatever its modes are: the merged /usr/lib has the mode of the image's. What a link leads to may go away."""
    extensions = tmp_path / "extensions"
    installer = placed_in(tmp_path, extensions, tmp_path)
    end = '\tmv "$EXTENSIONS/.nodenet.new" "$EXTENSIONS/nodenet"; exit\n'
    installer.write_text(installer.read_text().replace('\tput_in_place "$1"\n', end))
    (tmp_path / "link").symlink_to(files)
    for path in (files, *files.rglob("*")):
        path.chmod(path.stat().st_mode & 0o700)
    subprocess.run(["sh", installer, "install", tmp_path / "link"], check=True)
    assert not (extensions / "nodenet").is_symlink()
    modes = {path.stat().st_mode & 0o777 for path in (extensions / "nodenet").rglob("*")}
    assert modes == {0o755, 0o644}


@pytest.mark.skipif(os.geteuid() != 0, reason="a directory is mounted read-only")
def test_nothing_is_changed_where_the_units_cannot_be_copied(files: Path, tmp_path: Path) -> None:
    """As below a read-only /etc: kubelet would require units that systemd does not find at the next boot."""
    extensions, units = tmp_path / "extensions", tmp_path / "units"
    units.mkdir()
    installer = placed_in(tmp_path, extensions, units)
    command = ["unshare", "--mount", "sh", "-euc", READ_ONLY, "sh", str(units), str(installer), str(files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    remedy = "Make it writable. Nothing was changed."
    assert done.stderr == f"nodenet: {units} cannot be written, and systemd needs copies of units there. {remedy}\n"
    assert done.returncode == 1
    assert not extensions.exists()


READ_ONLY = """
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
exec sh "$2" install "$3"
"""


def placed_in(tmp_path: Path, extensions: Path, units: Path) -> Path:
    """Return the installer with its directories below *tmp_path*."""
    text = build_sysext.script().decode().replace("EXTENSIONS=/var/lib/extensions\n", f"EXTENSIONS={extensions}\n")
    installer = tmp_path / "nodenet-sysext"
    installer.write_text(text.replace("UNITS=/etc/systemd/system\n", f"UNITS={units}\n"))
    return installer


def test_an_installation_that_is_interrupted_leaves_no_copy(files: Path, tmp_path: Path) -> None:
    """Nor the mount of a file: the shell cleans up at a signal as well."""
    extensions, units = tmp_path / "extensions", tmp_path / "units"
    units.mkdir()
    installer = placed_in(tmp_path, extensions, units)
    (tmp_path / "cp").write_text('#!/bin/sh\nmkdir "$3"\nkill -TERM $PPID\n')
    (tmp_path / "cp").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", installer, "install", files], check=False, capture_output=True, env=environment)
    assert done.returncode == 143, done.stderr
    assert list(extensions.iterdir()) == []
