"""How do metrics leave a process: as a file of the node exporter, or over HTTP?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import PurePath, PurePosixPath
from typing import Generic, TypeVar

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.metrics import Program, ProgramMetrics, text
from nodenet.core.since import backoff
from nodenet.edge.files import disk

PATH, HEALTH = "/metrics", "/healthz"
KIND = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = 5.0
"""How long one connection may take."""
MOST_BYTES = 8192
"""The longest request."""
MOST_CONNECTIONS = 16
"""While more are open, a question for the figures is answered with 503."""
MOST_OPEN = 128
"""Where another one comes, the oldest is closed: a probe sends its request at once, and is answered."""


class Endpoint:
    """The server of one port, on every address of this host."""

    def __init__(self, port: int, text: Callable[[], str]) -> None:
        """*text* returns the figures as they are at that moment."""
        self._port = port
        self._text = text
        self._open: dict[asyncio.StreamWriter, None] = {}
        """The connections, the oldest first."""

    async def run(self) -> None:
        """Answer until cancelled. Raises OSError where the port is taken."""
        server = await asyncio.start_server(self._serve, port=self._port, limit=MOST_BYTES)
        async with server:
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MOST_OPEN:
            next(iter(self._open)).transport.abort()
        self._open[writer] = None
        try:
            async with asyncio.timeout(SECONDS):
                writer.write(await self._answer(reader))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the asker is gone, is too slow, or sends no request: there is no one to answer
        finally:
            del self._open[writer]
            with contextlib.suppress(OSError):
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        words = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response("400 Bad Request", "this is no request of HTTP/1\n")
        if words[0] != b"GET":
            return _response("405 Method Not Allowed", "only GET\n")
        path = words[1].partition(b"?")[0].decode(errors="replace")
        if path == HEALTH:
            return _response("200 OK", "ok\n")
        if path != PATH:
            return _response("404 Not Found", f"the figures are at {PATH}\n")
        if len(self._open) > MOST_CONNECTIONS:
            return _response("503 Service Unavailable", "too many connections\n")
        return _response("200 OK", self._text(), KIND)


def _response(status: str, text: str, kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


log = structlog.get_logger()

RUN = PurePosixPath("/run/nodenet")
PRIVATE = 0o600
PAUSE_SECONDS = 1.0
"""Changes within this time are written once."""
STATE = PurePosixPath("/var/lib/nodenet")
LONGEST_SECONDS = 600.0
"""Between two tries on a disk that takes nothing."""
T = TypeVar("T")


class MetricsFile:
    """The text of one program: in ``/run/nodenet``, and a copy in the directory of the settings (``metrics_dir``).

    The path of the copy is remembered on the disk: when the setting has changed while the program did not run, and
    when nodenet is removed, no copy stays that a monitoring system would read for ever.
    """

    def __init__(
        self, program: Program, run: PurePath = RUN, directory: str | None = None, state: PurePath = STATE
    ) -> None:
        """*run* has the file for everyone; *directory* is that of the settings, empty for none.

        It is None until the settings are read. The copy of before stays until then: the alert of a program that has
        stopped must not end because the next run cannot read its settings.
        *state* is where the path of the copy is remembered, in ``metrics-PROGRAM``.
        """
        self._program = program
        self._run = run
        self._directory = directory
        self._memory = state / f"metrics-{program}"
        self._remembered: str | None = None
        self._failed = False

    @property
    def paths(self) -> tuple[PurePath, ...]:
        """Where the text is."""
        own = self._run / f"{self._program.removeprefix('nodenet-')}.prom"
        return (own, PurePosixPath(self._directory) / f"{self._program}.prom") if self._directory else (own,)

    def move_to(self, directory: str) -> None:
        """Use another directory of the settings from the next write on; the file in the one of before is removed."""
        self._directory = directory

    def put(self, content: str) -> bool:
        """Write the text; return whether it is everywhere now. Of failures in a row the first is logged."""
        with suppress(PublishFailed):  # on a disk that takes nothing, a later write does it
            if self._directory is not None:
                self._remember(str(self.paths[1]) if self._directory else "")
        failures = [error for path in self.paths if (error := _failure(path, content.encode())) is not None]
        for error in () if self._failed else failures:
            remedy = (
                f"{error.remedy}. A directory outside /run must also be in ReadWritePaths= of {self._program}.service"
            )
            log.warning(error.cause, message=error.message, cause=error.cause, remedy=remedy)
        self._failed = bool(failures)
        return not failures

    def _remember(self, copy: str) -> None:
        """Remove the copy of before where it was elsewhere, and remember this one. Raises PublishFailed."""
        if copy == self._remembered:
            return
        before = (disk.read(self._memory) or b"").decode(errors="replace").rstrip("\n")
        if before != copy and before.endswith(f"/{self._program}.prom"):
            disk.remove(PurePosixPath(before))
        if copy:
            disk.write(self._memory, f"{copy}\n".encode(), PRIVATE)
        else:
            disk.remove(self._memory)
        self._remembered = copy


def _failure(path: PurePath, content: bytes) -> PublishFailed | None:
    try:
        disk.write(path, content)
    except PublishFailed as error:
        return error
    return None


class Metrics(Generic[T]):
    """The metrics of a program that shows what it does as a *T*."""

    def __init__(self, file: MetricsFile, program: ProgramMetrics, lines: Callable[[T], Iterable[str]]) -> None:
        """*lines* makes the lines of the text from what is shown; those of *program* follow."""
        self._file = file
        self._program = program
        self._lines = lines
        self._shown: T | None = None
        self._written: tuple[str, ...] | None = None
        """The lines of what was shown, as they were written last."""
        self._due: asyncio.TimerHandle | None = None
        self._failures = 0
        program.changed = self._changed

    def show(self, found: T) -> None:
        """Write *found* soon, unless its lines are those of before: a look that finds the same is no wake-up later."""
        self._shown = found
        if self._due is None and self._shown_lines() != self._written:
            self._changed()

    def end(self) -> None:
        """Write that the program has stopped, and nothing more."""
        self._program.running = False
        self._program.changed = lambda: None
        if self._due is not None:
            self._due.cancel()
        self._file.put(self._text())

    def _changed(self) -> None:
        if self._due is None:
            self._later(PAUSE_SECONDS)

    def _later(self, seconds: float) -> None:
        with suppress(RuntimeError):  # logged outside the loop, by a thread: the next change writes it
            self._due = asyncio.get_running_loop().call_later(seconds, self._write)

    def _write(self) -> None:
        self._due = None
        self._failures = 0 if self._file.put(self._text()) else self._failures + 1
        if self._failures:
            self._later(backoff(self._failures, PAUSE_SECONDS, LONGEST_SECONDS))

    def _text(self) -> str:
        self._written = lines = self._shown_lines()
        return text([*lines, *self._program.lines()])

    def _shown_lines(self) -> tuple[str, ...]:
        return () if self._shown is None else tuple(self._lines(self._shown))
