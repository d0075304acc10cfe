"""Files: written whole or not at all, read only when nobody but root can have written them."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nodenet.core.errors import NotAFile, PublishFailed
from nodenet.core.node_ip.published_files import CRIO_DROP_IN, KUBELET_DROP_IN
from nodenet.core.node_ip.published_files import PRIMARY as PRIMARY_IP
from nodenet.core.resolver import DONE, DROP_IN, LEFT_ALONE, RESOLV_CONF
from nodenet.edge.files import disk as files
from nodenet.stages.apply.records import INTENT
from nodenet.stages.br_ex.stage import HINT
from unprivileged import unprivileged

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives files away or mounts")


def test_a_write_says_whether_it_differed_and_leaves_an_equal_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "primary-ip"
    assert files.write(path, b"192.0.2.5") is True
    before = path.stat()
    assert files.write(path, b"192.0.2.5") is False
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert files.write(path, b"192.0.2.6") is True
    assert path.read_bytes() == b"192.0.2.6"
    assert files.listing(tmp_path) == ("primary-ip",)


def test_a_file_takes_the_place_of_another_one(tmp_path: Path) -> None:
    """Whole, with its mode; what is not there replaces nothing."""
    old, new = tmp_path / "old", tmp_path / "new"
    files.write(old, b"old", 0o600)
    files.write(new, b"new")
    files.rename(old, new)
    assert (files.listing(tmp_path), new.read_bytes(), stat.S_IMODE(new.stat().st_mode)) == (("new",), b"old", 0o600)
    with pytest.raises(PublishFailed, match=f"{new} cannot be replaced: No such file or directory"):
        files.rename(old, new)
    assert new.read_bytes() == b"old"


def test_the_mode_is_as_asked_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        files.write(tmp_path / "new" / "public", b"x")
        files.write(tmp_path / "new" / "private", b"x", 0o600)
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"new": 0o755, "public": 0o644, "private": 0o600}


def test_equal_content_with_another_mode_is_written(tmp_path: Path) -> None:
    path = tmp_path / "record"
    path.write_bytes(b"x")
    path.chmod(0o666)
    assert files.write(path, b"x", 0o600) is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_takes_the_place_of_a_file_in_one_step(tmp_path: Path) -> None:
    """One that leads there already is left alone."""
    path = tmp_path / "new" / "adopted"
    files.link(path, Path("/nowhere"))
    assert path.readlink() == Path("/nowhere")
    before = path.lstat().st_ino
    files.link(path, Path("/nowhere"))
    assert path.lstat().st_ino == before
    files.link(path, Path("/elsewhere"))
    assert path.readlink() == Path("/elsewhere")
    path.unlink()
    path.write_text("an earlier marker")
    files.link(path, Path("/nowhere"))
    assert path.readlink() == Path("/nowhere")
    assert [each.name for each in path.parent.iterdir()] == ["adopted"]
    (tmp_path / "directory").mkdir()
    with pytest.raises(PublishFailed, match="cannot be written"):
        files.link(tmp_path / "directory", Path("/nowhere"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["directory", "new"]


LABEL = b"system_u:object_r:net_conf_t:s0\0"


@ROOT
def test_a_new_file_has_the_label_of_the_old_one(tmp_path: Path) -> None:
    """Renamed into its place without it, kubelet or dnsmasq may not read it where SELinux is enforced."""
    path = tmp_path / "resolv.conf"
    files.write(path, b"old")
    os.setxattr(path, "security.selinux", LABEL)
    assert files.write(path, b"new") is True
    assert (path.read_bytes(), os.getxattr(path, "security.selinux")) == (b"new", LABEL)


def test_a_planted_link_is_replaced_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "state.json"
    victim.write_bytes(b"precious")
    path.symlink_to(victim)
    assert files.write(path, b"precious") is True
    assert not path.is_symlink()
    files.write(path, b"ours")
    assert victim.read_bytes() == b"precious"


def test_remove_says_whether_it_was_there(tmp_path: Path) -> None:
    path = tmp_path / "remote-worker"
    path.touch()
    assert [files.remove(path), files.remove(path)] == [True, False]


def test_read_gives_bytes_or_none_and_never_half(tmp_path: Path) -> None:
    path = tmp_path / "intent.json"
    assert files.read(path) is None
    path.write_bytes(b"12345")
    assert files.read(path, 5) == b"12345"
    with pytest.raises(PublishFailed, match="larger than 4 bytes"):
        files.read(path, 4)


@ROOT
@pytest.mark.parametrize(
    ("options", "told", "remedy"),
    [
        ("size=64k", os.strerror(errno.ENOSPC), "df -h"),
        ("ro", os.strerror(errno.EROFS), "remount,rw` and `systemctl restart nodenetd`"),
    ],
)
def test_a_broken_file_system_is_told_with_the_remedy_and_changes_nothing(
    tmp_path: Path, options: str, told: str, remedy: str
) -> None:
    program = f"""
import os, sys
from pathlib import Path, PurePath
from nodenet.core.errors import PublishFailed
from nodenet.edge.files import disk as files
path = Path("{tmp_path}/state.json")
if "{options}" != "ro":
    files.write(path, b"old")
before = os.listdir(path.parent)
try:
    files.write(path, b"x" * 200_000)
except PublishFailed as error:
    print(error)
assert os.listdir(path.parent) == before
assert not before or path.read_bytes() == b"old"
"""
    mount = f'mount -t tmpfs -o {options} tmpfs {tmp_path} && exec {sys.executable} -c "$0"'
    isolated = ["unshare", "--mount", "sh", "-c", mount, program]
    done = subprocess.run(isolated, capture_output=True, text=True, check=True, env=_environment())
    assert told in done.stdout
    assert remedy in done.stdout
    assert str(tmp_path / "state.json") in done.stdout


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    """SIGKILL at random: the reader sees one of the contents that were written, and strays are swept up."""
    path = tmp_path / "drop-in.conf"
    program = f"""
from itertools import count
from pathlib import Path, PurePath
from nodenet.edge.files import disk as files
for number in count():
    files.write(Path("{path}"), bytes([number % 256]) * 300_000)
    number or print("going", flush=True)
"""
    for milliseconds in (1, 7, 15, 22, 31):
        writer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=_environment())
        assert writer.stdout is not None
        with writer, writer.stdout:
            writer.stdout.readline()
            time.sleep(milliseconds / 1000)
            writer.send_signal(signal.SIGKILL)
        content = path.read_bytes()
        assert content == content[:1] * 300_000
    (tmp_path / ".nodenet-0123456789abcdef").write_bytes(b"half")
    files.clear_stray([tmp_path, tmp_path / "missing"])
    assert files.listing(tmp_path) == ("drop-in.conf",)


def test_temporaries_are_swept_wherever_the_daemon_writes(tmp_path: Path) -> None:
    """Records, flags and drop-ins are written in more directories than were swept (R53)."""
    written = {RESOLV_CONF, DROP_IN, DONE, LEFT_ALONE, HINT, PRIMARY_IP, KUBELET_DROP_IN, CRIO_DROP_IN, INTENT}
    assert {path.parent for path in written} - set(files.DIRECTORIES) == set()
    elsewhere = tmp_path / "site"  # a node_file_dir of the settings
    elsewhere.mkdir()
    (elsewhere / ".nodenet-0123").write_bytes(b"half")
    files.clear_stray([elsewhere], ours=())
    assert files.listing(elsewhere) == ()


def test_a_file_in_place_of_a_directory_of_ours_is_replaced(tmp_path: Path) -> None:
    """Somebody wrote /run/nodeip-configuration as a file: nothing was ever published (R53)."""
    place = tmp_path / "nodeip-configuration"
    place.write_bytes(b"a mistake")
    assert files.read(place / "primary-ip") is None
    assert files.remove(place / "primary-ip") is False
    assert files.write(place / "primary-ip", b"192.0.2.5") is True
    assert (place / "primary-ip").read_bytes() == b"192.0.2.5"
    assert stat.S_IMODE(place.stat().st_mode) == 0o755


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def test_a_directory_in_the_place_of_a_file_is_told_from_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """It says nothing, and no disk has to be mended."""
    with pytest.raises(NotAFile) as caught:
        files.read(tmp_path)
    assert caught.value.cause == f"{tmp_path} cannot be read: Is a directory"
    assert caught.value.remedy == "Remove this directory (a file belongs in its place)"


def test_what_others_wrote_is_synced(tmp_path: Path) -> None:
    """NetworkManager does not sync a new keyfile; what is no file, or none at all, is no reason to fail."""
    assert files.sync(tmp_path / "none") is None  # type: ignore[func-returns-value]
    (tmp_path / "uplink.nmconnection").write_bytes(b"[connection]\n")
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    files.sync(tmp_path)
    with pytest.raises(PublishFailed, match=r"uplink\.nmconnection cannot be synced: Not a directory"):
        files.sync(tmp_path / "uplink.nmconnection")


def test_a_file_in_the_place_of_a_directory_that_cannot_be_replaced_is_named(public_directory: Path) -> None:
    """As where it is a mount of the unit: the disk is not read-only, and only the file is in the way (R53)."""
    place = public_directory / "nodenet"
    place.write_bytes(b"a mistake")
    with unprivileged(), pytest.raises(PublishFailed) as caught:
        files.write(place / "intent.json", b"{}")
    assert caught.value.cause == f"{place}/intent.json cannot be written: Not a directory"
    assert caught.value.remedy == "Remove the file that has the place of its directory"


@pytest.mark.parametrize("written", [b"", b"NODEIP_HINT=192.0.2.5"])
def test_a_pipe_and_a_device_are_empty(tmp_path: Path, written: bytes) -> None:
    """A read that waits for a writer would stop the loop, and systemd would end the daemon again and again (R43)."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "masked").symlink_to("/dev/null")
    results: list[bytes | None] = []
    reader = threading.Thread(target=lambda: results.append(files.read(tmp_path / "pipe")), daemon=True)
    writer = os.open(tmp_path / "pipe", os.O_RDWR) if written else None
    if writer is not None:
        os.write(writer, written)
    reader.start()
    reader.join(5)
    if writer is not None:
        os.close(writer)
    assert results == [b""]
    assert files.read(tmp_path / "masked") == b""


@ROOT
def test_a_file_that_is_a_mount_is_left_and_named(tmp_path: Path) -> None:
    """As resolv.conf in a container: it can be opened, and not be replaced."""
    path, other = tmp_path / "resolv.conf", tmp_path / "other"
    path.write_bytes(b"nameserver 192.0.2.1\n")
    other.write_bytes(b"nameserver 192.0.2.2\n")
    program = (
        "from pathlib import Path\n"
        "from nodenet.core.errors import PublishFailed\n"
        "from nodenet.edge.files import disk\n"
        f"path = Path({str(path)!r})\n"
        "try:\n    disk.write(path, b'nameserver 192.0.2.3')\n"
        "except PublishFailed as error:\n    print(error.cause, error.remedy, path.read_text(), sep='|', end='')\n"
    )
    mount = f'mount --bind {other} {path} && exec {sys.executable} -c "$0"'
    isolated = ["unshare", "--mount", "sh", "-c", mount, program]
    said = subprocess.run(isolated, env=_environment(), capture_output=True, text=True, check=True).stdout
    assert said.split("|") == [
        f"{path} cannot be written: {os.strerror(errno.EBUSY)}",
        "It is a mount point, which cannot be replaced: look at `findmnt`, and unmount it",
        "nameserver 192.0.2.2\n",
    ]
    assert files.listing(tmp_path) == ("other", "resolv.conf")
    assert path.read_bytes() == b"nameserver 192.0.2.1\n"


@ROOT
def test_what_is_not_there_is_removed_from_a_read_only_file_system_too(tmp_path: Path) -> None:
    """unlink(2) reports EROFS there before it looks for the file."""
    program = f"""
from pathlib import PurePath
from nodenet.edge.files import disk as files
assert files.remove(PurePath("{tmp_path}/never/was")) is False
assert files.remove(PurePath("{tmp_path}/never")) is False
"""
    mount = f'mount -t tmpfs -o ro tmpfs {tmp_path} && exec {sys.executable} -c "$0"'
    isolated = ["unshare", "--mount", "sh", "-c", mount, program]
    subprocess.run(isolated, check=True, env=_environment())
