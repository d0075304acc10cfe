"""How are files written so that no reader sees half a file, and read so that no other user can put a file there?

A write goes to a temporary file in the same directory, is synced, and takes the old file's place by rename(2);
after a power cut there is the old file or the new one. Equal content is not written, so that an unchanged file
keeps its modification time and no watcher of the file wakes up.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath

from nodenet.core.errors import NotAFile, PublishFailed
from nodenet.edge.files.node_file import MAX_BYTES, listing, read_node_file

__all__ = [
    "clear_stray",
    "leads_to",
    "link",
    "listing",
    "make_directory",
    "read",
    "read_node_file",
    "remove",
    "rename",
    "sync",
    "write",
]

STRAY = ".nodenet-"
"""How our temporary files begin. No reader takes files with this name."""
DIRECTORIES = tuple(
    PurePosixPath(path)
    for path in (
        "/run",
        "/run/nodenet",
        "/run/nodenet/hosted",
        "/run/NetworkManager/conf.d",
        "/run/nodeip-configuration",
        "/var/lib/nodenet",
        "/var/lib/nodenet/history",
        "/var/lib/ovnk",
        "/etc",
        "/etc/nmstate/openshift",
        "/etc/NetworkManager/system-connections",
        "/etc/systemd/resolved.conf.d",
        "/etc/systemd/system/kubelet.service.d",
        "/etc/systemd/system/crio.service.d",
    )
)
"""Where the daemon writes."""
REPLACED = frozenset({"nodenet", "nodeip-configuration"})
"""Names of directories that no other program writes: a file with such a name is removed."""
MOST_BYTES = 4 * MAX_BYTES
"""Of one file that is read. A record may have a whole node file, and JSON makes up to three bytes of one."""
_LABEL = "security.selinux"
_REMEDIES = {
    errno.ENOSPC: "Free space on its file system (`df -h`, `df -i`)",
    errno.EDQUOT: "Free space on its file system (`df -h`, `df -i`)",
    # systemd keeps a file system read-only for a service that was started while it was so.
    errno.EROFS: (
        "Its file system is read-only: look at `journalctl -k`, then `mount -o remount,rw` and "
        "`systemctl restart nodenetd`"
    ),
    errno.EACCES: "Look at `ausearch -m avc -ts recent`, and at ReadWritePaths= of nodenetd.service",
    errno.EPERM: "Look at `ausearch -m avc -ts recent`, and at `lsattr`",
    errno.EBUSY: "It is a mount point, which cannot be replaced: look at `findmnt`, and unmount it",
    errno.ENOTDIR: "Remove the file that has the place of its directory",
    errno.EISDIR: "Remove this directory (a file belongs in its place)",
    errno.EIO: "The disk fails: look at `journalctl -k`",
}


def write(path: PurePath, content: bytes, mode: int = 0o644) -> bool:
    """Write a file whole, durably; return whether it differed. Raises PublishFailed, and then nothing changed."""
    with _explained(path, "written"):
        if _is(path, content, mode):
            return False
        with _in_place_of(path) as temporary:
            _fill(temporary, content, mode, like=path)
        return True


def link(path: PurePath, target: PurePath) -> None:
    """Let *path* be a symbolic link to *target*, durably; a file in its place is replaced. Raises PublishFailed."""
    with _explained(path, "written"):
        if Path(path).is_symlink() and Path(path).readlink() == target:
            return
        with _in_place_of(path) as temporary:
            temporary.symlink_to(target)


@contextmanager
def _in_place_of(path: PurePath) -> Iterator[Path]:
    """Give the path of a new file, which takes the place of *path* durably; after an error nothing has changed."""
    make_directory(path.parent)
    temporary = Path(path.parent, STRAY + os.urandom(8).hex())
    try:
        yield temporary
        temporary.rename(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync(path.parent)


def remove(path: PurePath) -> bool:
    """Remove a file, durably; return whether it was there. Raises PublishFailed."""
    with _explained(path, "removed"):
        if not os.path.lexists(path):  # on a read-only file system, unlink(2) of no file is an error too
            return False
        Path(path).unlink(missing_ok=True)
        _sync(path.parent)
        return True


def rename(path: PurePath, target: PurePath) -> None:
    """Let a file take the place of another one in its directory, durably; a full disk has room for that.

    Raises PublishFailed, and then nothing changed.
    """
    with _explained(target, "replaced"):
        Path(path).rename(target)
        _sync(target.parent)


def sync(directory: PurePath) -> None:
    """Let what other programs wrote into *directory* survive a power cut (fsync(2)); no directory is no error.

    Raises PublishFailed.
    """
    with _explained(directory, "synced"):
        try:
            with os.scandir(directory) as entries:
                files = [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
        except FileNotFoundError:
            return
        for path in files:
            with suppress(FileNotFoundError):  # removed meanwhile
                _sync(PurePath(path), os.O_NOFOLLOW | os.O_NONBLOCK)
        _sync(directory)


def read(path: PurePath, limit: int = MOST_BYTES) -> bytes | None:
    """Return a file's bytes, None when it does not exist. Raises PublishFailed when it cannot be read whole.

    A directory in its place is NotAFile. A pipe or a device, such as /dev/null, is empty: nothing is waited for.
    """
    with _explained(path, "read"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            content = os.pread(descriptor, limit + 1, 0) if stat.S_ISREG(mode) else b""
        finally:
            os.close(descriptor)
    if len(content) > limit:
        raise PublishFailed(f"{path} is larger than {limit} bytes", remedy="Look at its content, then remove it")
    return content


def leads_to(path: PurePath) -> PurePosixPath | None:
    """Return the file that a symbolic link ends at, whether it exists or not; None for what is no link."""
    return PurePosixPath(os.path.realpath(path)) if Path(path).is_symlink() else None


def clear_stray(directories: Iterable[PurePath] = (), *, ours: Iterable[PurePath] = DIRECTORIES) -> None:
    """Remove temporary files that an interrupted write left behind; what cannot be removed does no harm."""
    for directory in dict.fromkeys((*ours, *directories)):
        with suppress(OSError):
            for stray in Path(directory).glob(f"{STRAY}*"):
                stray.unlink()


def make_directory(directory: PurePath) -> None:
    """Make *directory* and what is missing above it, readable by all users whatever the umask is.

    A file in its place goes where the daemon alone decides what is there. Raises OSError.
    """
    if Path(directory).is_dir():
        return
    make_directory(directory.parent)
    if directory.name in REPLACED and Path(directory).exists():
        try:
            Path(directory).unlink()
        except OSError as error:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
    with suppress(FileExistsError):
        Path(directory).mkdir()
        Path(directory).chmod(0o755)
        _sync(directory.parent)


def _is(path: PurePath, content: bytes, mode: int) -> bool:
    """Return whether *path* is a regular file with this content and mode already."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) != mode or status.st_uid != os.geteuid():
            return False
        return status.st_size == len(content) and os.pread(descriptor, len(content) + 1, 0) == content
    finally:
        os.close(descriptor)


def _fill(temporary: Path, content: bytes, mode: int, like: PurePath) -> None:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(descriptor, mode)
        _keep_label(descriptor, like)
        os.fsync(descriptor)


def _keep_label(descriptor: int, like: PurePath) -> None:
    """Give the new file the SELinux label of the one it replaces.

    If there was no file, or no label, or it may not be given, the kernel's rule for new files of that directory applies
    (selinux(8)): the content is worth more than the label.
    """
    with suppress(OSError):
        label = os.getxattr(like, _LABEL, follow_symlinks=False)
        os.setxattr(descriptor, _LABEL, label)


def _sync(path: PurePath, flags: int = os.O_DIRECTORY) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: PurePath, what: str) -> Iterator[None]:
    """Turn the kernel's refusal into an error that an administrator can act on."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Look at `journalctl -k`")
        kind = NotAFile if isinstance(error, IsADirectoryError) else PublishFailed
        raise kind(f"{path} cannot be {what}: {error.strerror}", remedy=remedy) from error
