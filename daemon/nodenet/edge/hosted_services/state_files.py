"""Where does this node keep what it knows about its cluster, and its VRRP weights?"""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePosixPath

from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services import api_int
from nodenet.core.hosted_services.cluster import MOST_BYTES
from nodenet.core.hosted_services.model import API_INT
from nodenet.core.hosted_services.resource import FILE_BYTES, QUICK_BYTES, document_of
from nodenet.edge.files import disk

CACHE = PurePosixPath("/var/lib/nodenet/hosted")
RESOURCE = PurePosixPath("/etc/nodenet/hostednetservices.yaml")
_WEIGHT_BYTES = 16


class CacheFiles:
    """The caches, and the administrator's file."""

    def __init__(self, directory: PurePosixPath = CACHE, resource: PurePosixPath = RESOURCE) -> None:
        """Keep caches in *directory*."""
        self._directory = directory
        self._resource = resource
        self._parsed: tuple[bytes | None, object] = (None, None)

    def read(self, name: str) -> bytes | None:
        """Return a cache's bytes, None without one. Raises PublishFailed."""
        return disk.read(self._directory / f"{name}.json", MOST_BYTES)

    def write(self, name: str, content: bytes) -> None:
        """Replace a cache. Raises PublishFailed."""
        disk.write(self._directory / f"{name}.json", content, 0o600)

    async def resource(self) -> object | None:
        """Return the object of the administrator's file, None without one. Raises ValueError, PublishFailed."""
        content = disk.read(self._resource, FILE_BYTES)
        if content is None:
            return None
        if content != self._parsed[0]:  # it is looked at with each look at DNS
            work = str(self._resource), content
            slow = len(content) > QUICK_BYTES
            self._parsed = content, await asyncio.to_thread(_document, *work) if slow else _document(*work)
        if isinstance(self._parsed[1], ValueError):
            raise self._parsed[1].with_traceback(None)
        return self._parsed[1]


def _document(name: str, content: bytes) -> object:
    """Return the document, or the ValueError that it is refused with."""
    try:
        return document_of(name, content)
    except ValueError as error:
        return error


class ApiIntFile:
    """Where ``api-int`` leads in this boot."""

    def __init__(self, path: PurePosixPath = API_INT) -> None:
        """Keep it in *path*."""
        self._path = path

    def read(self) -> bytes | None:
        """Return its content, None without one or where it cannot be read."""
        try:
            return disk.read(self._path, api_int.MOST_BYTES)
        except PublishFailed:
            return None

    def write(self, content: bytes) -> None:
        """Replace it. Raises PublishFailed."""
        disk.write(self._path, content)


class Weights:
    """The tracked files of keepalived; it reads them as a user of its own."""

    def read(self, path: str) -> int | None:
        """Return the number of a file, None without a valid one."""
        try:
            return int(Path(path).read_bytes()[:_WEIGHT_BYTES])
        except (OSError, ValueError):
            return None

    def write(self, path: str, number: int) -> bool:
        """Replace the number; return whether it differed. Raises PublishFailed."""
        return disk.write(PurePosixPath(path), f"{number}\n".encode())
