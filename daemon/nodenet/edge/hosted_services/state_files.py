"""Where does this node keep what it knows of its cluster, and its weights?"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from nodenet.core.hosted_services.cache import MOST_BYTES
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

    def read(self, name: str) -> bytes | None:
        """Return a cache's bytes, None without one. Raises PublishFailed."""
        return disk.read(self._directory / f"{name}.json", MOST_BYTES)

    def write(self, name: str, content: bytes) -> None:
        """Replace a cache. Raises PublishFailed."""
        disk.write(self._directory / f"{name}.json", content, 0o600)

    def remove(self, name: str) -> None:
        """Remove a cache. Raises PublishFailed."""
        disk.remove(self._directory / f"{name}.json")

    def resource(self) -> object | None:
        """Return the object of the administrator's file, None without one. Raises ValueError, PublishFailed."""
        content = disk.read(self._resource)
        if content is None:
            return None
        from ruamel.yaml import YAML  # noqa: PLC0415 - few nodes have the file: the others do not pay for the parser
        from ruamel.yaml.error import YAMLError  # noqa: PLC0415

        try:
            return YAML(typ="safe", pure=True).load(content.decode())  # type: ignore[no-any-return]
        except (YAMLError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"{self._resource} is not YAML: {' '.join(str(error).split())[:200]}") from None


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
