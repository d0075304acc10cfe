"""The socket that the CNI plugin calls: one JSON request and one answer for each connection, from root only.

SO_PEERCRED (unix(7)) says who connected. Everything is bounded: the length of a request, the time until it is whole,
and how many are served at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from nodenet.core.errors import AlreadyRunning, PublishFailed
from nodenet.core.persistent_ips.cni import MOST_BYTES

REQUEST_SECONDS = 10.0
MOST_CONNECTIONS = 1024
BACKLOG = 1024
ROOT = 0
_CREDENTIALS = struct.Struct("3i")
"""struct ucred: pid, uid, gid."""
Answer = Callable[[object], Awaitable[dict[str, object]]]


class PluginSocket:
    """Serves until it is closed."""

    def __init__(self, path: Path, answer: Answer, *, uid: int = ROOT) -> None:
        """*answer* gets each request as a JSON value, None for what is none; only user *uid* is answered."""
        self._path = path
        self._answer = answer
        self._uid = uid
        self._server: asyncio.Server | None = None
        self._open = 0
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen. Raises AlreadyRunning when another process listens there, PublishFailed."""
        try:
            self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            if self._path.exists() or self._path.is_symlink():
                self._remove_old()
            line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
            with _only_ours():
                line.bind(str(self._path))
            self._path.chmod(0o600)
            self._server = await asyncio.start_unix_server(
                self._serve, sock=line, limit=MOST_BYTES + 1, backlog=BACKLOG
            )
        except OSError as error:
            text = f"The socket {self._path} cannot be made: {error.strerror}"
            raise PublishFailed(
                text, remedy="Look at `ls -ld /run/nodenet` and `ausearch -m avc -ts recent`"
            ) from error

    async def close(self) -> None:
        """Listen no longer; wait for the requests that are being answered."""
        if self._server is None:
            return
        self._server.close()
        with contextlib.suppress(OSError):
            self._path.unlink()
        if self._serving:
            await asyncio.wait(self._serving)

    def _remove_old(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self._path))
            except OSError:
                self._path.unlink()
                return
        raise AlreadyRunning(f"Another service listens on {self._path}", remedy="See `systemctl status nodenet-ipam`")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        self._open += 1
        try:
            if self._is_allowed(writer) and self._open <= MOST_CONNECTIONS:
                await self._exchange(reader, writer)
        except (OSError, TimeoutError):  # the client is gone, or too slow
            pass
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _is_allowed(self, writer: asyncio.StreamWriter) -> bool:
        line = writer.get_extra_info("socket")
        given = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(given)
        return bool(uid == self._uid)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        content = bytearray()
        async with asyncio.timeout(REQUEST_SECONDS):
            while part := await reader.read(MOST_BYTES):
                content += part
                if len(content) > MOST_BYTES:
                    break
        answer = await self._answer(_request(bytes(content)))
        writer.write(json.dumps(answer).encode())
        async with asyncio.timeout(REQUEST_SECONDS):
            await writer.drain()


def _request(content: bytes) -> object:
    if len(content) > MOST_BYTES:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


@contextlib.contextmanager
def _only_ours() -> Iterator[None]:
    """Make the socket with mode 0600 from its first moment."""
    old = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(old)


# Is the network namespace of a sandbox still there?


def is_gone(netns: str) -> bool:
    """Return whether the file of a network namespace is gone; False where it cannot be looked at."""
    if not netns.startswith("/"):
        return False
    try:
        Path(netns).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
