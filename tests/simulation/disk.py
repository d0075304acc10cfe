"""The disk: what is written whole and synced, what is not synced yet, and what a disk refuses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from random import Random

from nodenet.core.errors import PublishFailed

NODE_FILES = "/etc/nmstate/openshift"
REPLACED = ("/etc/hostname",)
"""Written by other programs as a whole, though not synced: old or new after a power cut, never a part."""
ERRORS = {
    "enospc": "No space left on device",
    "erofs": "Read-only file system",
    "eio": "Input/output error",
}
NO_DESCRIPTORS = "Too many open files"


class Disk:
    """Files by path. /run is a tmpfs; what other programs write is synced some seconds later only."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.links: dict[str, PurePosixPath] = {}
        self.unsynced: dict[str, bytes | None] = {}
        """Path → what is on the platter, of writes that were not synced (None: nothing)."""
        self.refusals: dict[str, str] = {}
        """Beginning of a path → errno of what is written below it."""
        self.unreadable: set[str] = set()
        self.closed = False
        """Whether nothing can be opened: all descriptors are in use (EMFILE)."""
        self.torn: set[str] = set()
        """Node files and records that a power cut has left in part: they are bad inputs from then on."""
        self.writes: list[str] = []
        """Of nodenet, in order."""
        self.kept_back: set[str] = set()
        """What nodenet could not write, and has not written since."""

    def listing(self, directory: str) -> tuple[str, ...]:
        begin = directory.rstrip("/") + "/"
        length = len(begin)
        names = {path[length:].split("/")[0] for path in self.content if path.startswith(begin)}
        return tuple(sorted(names))

    def read(self, path: str) -> bytes | None:
        return self.content.get(str(self.links[path]) if path in self.links else path)

    @property
    def node_files(self) -> list[bytes]:
        """What the node files contain."""
        return [self.content[f"{NODE_FILES}/{name}"] for name in self.listing(NODE_FILES)]

    def why_not(self, path: str, *, removes: bool = False) -> str | None:
        """Return the text of the error that writing *path* meets, or removing it: that needs no space."""
        if self.closed and not removes:
            return NO_DESCRIPTORS
        for begin, errno in self.refusals.items():
            if errno and path.startswith(begin) and not (removes and errno == "enospc"):
                return ERRORS[errno]
        return None

    def write_synced(self, path: str, content: bytes | None) -> None:
        """Write (None: remove) as nodenet does: old or new after a power cut, never anything else."""
        self.unsynced.pop(path, None)
        self.kept_back.discard(path)
        self._set(path, content)

    def write_unsynced(self, path: str, content: bytes | None) -> None:
        """Write as other programs do."""
        self.unsynced.setdefault(path, self.content.get(path))
        self._set(path, content)

    def write_by_manager(self, path: str, content: bytes) -> None:
        """Write a keyfile as NetworkManager does: what replaces a file is synced, what is new is not."""
        if self.content.get(path):
            self.write_synced(path, content)
        else:
            self.write_unsynced(path, content)

    def _set(self, path: str, content: bytes | None) -> None:
        if content is None:
            self.content.pop(path, None)
        else:
            self.content[path] = content

    def sync(self, begin: str = "/") -> None:
        """Let what was written below *begin* survive a power cut."""
        self.unsynced = {path: old for path, old in self.unsynced.items() if not path.startswith(begin)}

    def power_cut(self, random: Random) -> None:
        """Lose /run, and of each write that was not synced all, a part, or nothing."""
        for path, old in sorted(self.unsynced.items(), key=lambda item: item[0]):
            fate = random.randrange(4)
            new = self.content.get(path)
            if fate == 0:
                self._set(path, old)
            elif fate == 1 and new and path not in REPLACED:
                self._set(path, new[: random.randrange(len(new))])
                if path.startswith(NODE_FILES):
                    self.torn.add(path)
        self.unsynced.clear()
        self.content = {path: content for path, content in self.content.items() if not path.startswith("/run/")}
        self.links = {path: link for path, link in self.links.items() if not path.startswith("/run/")}


@dataclass(frozen=True, slots=True)
class DiskOfBoot:
    """The disk as a program finds it that runs before anything else does."""

    disk: Disk

    def listing(self, directory: PurePath) -> tuple[str, ...]:
        return self.disk.listing(str(directory))

    def read(self, path: PurePath) -> bytes | None:
        if str(path) in self.disk.unreadable:
            raise PublishFailed(f"{path} cannot be read: Input/output error")
        return self.disk.read(str(path))

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:  # noqa: ARG002
        self._change(str(path), content, removes=False)
        return True

    def remove(self, path: PurePath) -> bool:
        self._change(str(path), None, removes=True)
        return True

    def sync(self, directory: PurePath) -> None:
        self.disk.sync(f"{directory}/")

    def _change(self, path: str, content: bytes | None, *, removes: bool) -> None:
        if why := self.disk.why_not(path, removes=removes):
            raise PublishFailed(f"{path} cannot be written: {why}")
        self.disk.write_synced(path, content)


def is_below(path: PurePath, directory: str) -> bool:
    return str(path).startswith(directory.rstrip("/") + "/")
