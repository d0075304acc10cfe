"""How do metrics leave a process: as a file of the node exporter, or over HTTP?"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from nodenet.core.messages import Message
from nodenet.core.metrics import Program, ProgramMetrics
from nodenet.edge.metrics import MOST_BYTES, MOST_CONNECTIONS, MOST_OPEN, PAUSE_SECONDS, Endpoint, Metrics, MetricsFile
from virtual_time import VirtualLoop

Shown = Metrics[list[str]]


def figures(run: Path, directory: str = "") -> tuple[Shown, ProgramMetrics]:
    program = ProgramMetrics(Program.HOSTED, "1", 1.5)
    return Metrics(MetricsFile(Program.HOSTED, run, directory, run / "state"), program, lambda lines: lines), program


def during(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(whole())


def test_many_changes_in_a_second_are_one_write(tmp_path: Path) -> None:
    async def scene() -> None:
        shown, program = figures(tmp_path)
        for number in range(5):
            shown.show([f"a {number}"])
            program.seen(Message.VIP_MOVED)
        assert not (tmp_path / "hosted.prom").exists()
        await asyncio.sleep(2 * PAUSE_SECONDS)
        content = (tmp_path / "hosted.prom").read_text()
        assert content.startswith("a 4\n# HELP nodenet_info ")
        assert 'nodenet_events_total{program="nodenet-hosted",event="vip_moved"} 5\n' in content

    during(scene)


def test_nothing_is_due_while_nothing_changes(tmp_path: Path) -> None:
    """A quiet node has no wake-up for its metrics: the only timer is that of a change."""

    async def scene() -> None:
        shown, _ = figures(tmp_path)
        shown.show(["a 1"])
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert shown._due is None
        shown.show(["a 1"])
        assert shown._due is None  # the daemon looks with each beat of the watchdog where a resolver is awaited
        shown.show(["a 2"])
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert (tmp_path / "hosted.prom").read_text().startswith("a 2\n")

    during(scene)


def test_an_event_that_is_logged_outside_the_loop_breaks_nothing(tmp_path: Path) -> None:
    _, program = figures(tmp_path)
    program.seen(Message.INTERNAL_ERROR)
    assert list(tmp_path.iterdir()) == []


def test_every_user_may_read_the_file_in_both_places(tmp_path: Path) -> None:
    async def scene() -> None:
        shown, _ = figures(tmp_path / "run", str(tmp_path / "textfile"))
        shown.show(["a 1"])
        await asyncio.sleep(2 * PAUSE_SECONDS)
        for path in (tmp_path / "run/hosted.prom", tmp_path / "textfile/nodenet-hosted.prom"):
            assert path.read_text().startswith("a 1\n")
            assert path.stat().st_mode & 0o777 == 0o644

    during(scene)


def test_another_directory_leaves_no_file_behind(tmp_path: Path) -> None:
    """Else a monitoring system would show the values of before for ever."""
    file = MetricsFile(Program.NODENETD, tmp_path, str(tmp_path / "old"), tmp_path / "state")
    assert file.put("a 1\n")
    file.move_to(str(tmp_path / "new"))
    assert file.put("a 2\n")
    assert list((tmp_path / "old").iterdir()) == []
    assert (tmp_path / "new/nodenetd.prom").read_text() == (tmp_path / "nodenetd.prom").read_text() == "a 2\n"
    file.move_to("")
    assert file.paths == (tmp_path / "nodenetd.prom",)
    assert file.put("a 3\n")
    assert [list((tmp_path / name).iterdir()) for name in ("old", "new", "state")] == [[], [], []]


def test_the_copy_stays_until_the_settings_are_read(tmp_path: Path) -> None:
    """Else the alert of a program that has stopped would end when the next run cannot read its settings."""
    state, copy = tmp_path / "state", tmp_path / "textfile/nodenetd.prom"
    assert MetricsFile(Program.NODENETD, tmp_path, str(copy.parent), state).put("a 0\n")
    file = MetricsFile(Program.NODENETD, tmp_path, state=state)
    assert file.put("a 1\n")
    assert copy.read_text() == "a 0\n"
    file.move_to("")
    assert file.put("a 2\n")
    assert not copy.exists()


def test_a_directory_that_changed_while_the_program_did_not_run_has_no_file_either(tmp_path: Path) -> None:
    """The path is remembered through a restart and a boot; a file with another name is not removed."""
    state = tmp_path / "state"
    for directory in ("old", "new"):
        assert MetricsFile(Program.IPAM, tmp_path, str(tmp_path / directory), state).put("a 1\n")
    assert list((tmp_path / "old").iterdir()) == []
    memory = state / "metrics-nodenet-ipam"
    assert memory.read_text() == f"{tmp_path}/new/nodenet-ipam.prom\n"
    memory.write_bytes(b"\xff/ipam.prom\n")
    assert MetricsFile(Program.IPAM, tmp_path, str(tmp_path / "new"), state).put("a 1\n")
    memory.write_text(f"{tmp_path}/ipam.prom\n")
    assert MetricsFile(Program.IPAM, tmp_path, "", state).put("a 1\n")
    assert (tmp_path / "ipam.prom").read_text() == "a 1\n"
    assert (tmp_path / "new/nodenet-ipam.prom").exists(), "the memory did not name it"


def test_a_directory_that_cannot_be_written_is_logged_once_and_tried_again(tmp_path: Path) -> None:
    (tmp_path / "textfile").write_text("a file in its place")

    async def scene() -> None:
        shown, _ = figures(tmp_path, str(tmp_path / "textfile"))
        shown.show(["a 1"])
        await asyncio.sleep(10.0)
        assert (tmp_path / "hosted.prom").read_text().startswith("a 1\n")
        (tmp_path / "textfile").unlink()
        await asyncio.sleep(20.0)
        assert (tmp_path / "textfile/nodenet-hosted.prom").read_text().startswith("a 1\n")

    structlog.reset_defaults()
    with capture_logs() as logs:
        during(scene)
    (only,) = logs
    assert only["message"] is Message.PUBLISH_FAILED
    assert only["remedy"] == (
        "Remove the file that has the place of its directory. A directory outside /run must also be in "
        "ReadWritePaths= of nodenet-hosted.service"
    )


def test_the_end_is_written_at_once_and_nothing_after_it(tmp_path: Path) -> None:
    async def scene() -> None:
        shown, program = figures(tmp_path)
        shown.show(["a 1"])
        shown.end()
        ended = (tmp_path / "hosted.prom").read_text()
        assert 'nodenet_running{program="nodenet-hosted"} 0\n' in ended
        program.seen(Message.VIP_MOVED)
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert (tmp_path / "hosted.prom").read_text() == ended

    during(scene)


GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as line:
        return int(line.getsockname()[1])


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    port = free_port()
    task = asyncio.create_task(Endpoint(port, lambda: "a 1\n").run())
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            break
        assert not task.done(), "the port is taken"
        await asyncio.sleep(0.01)
    yield port
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def asked(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    """Return the answer, empty where the server ends the connection instead."""
    reader, writer = await asyncio.open_connection(host, port)
    with closing(writer):
        writer.write(request)
        try:
            return await reader.read()
        except ConnectionError:  # what the server has not read makes a reset of its end
            return b""


async def test_the_figures_are_at_metrics_in_both_families() -> None:
    async with served() as port:
        for host in ("127.0.0.1", "::1"):
            head, _, body = (await asked(port, GET, host)).partition(b"\r\n\r\n")
            assert head.splitlines() == [
                b"HTTP/1.1 200 OK",
                b"Content-Type: text/plain; version=0.0.4; charset=utf-8",
                b"Content-Length: 4",
                b"Connection: close",
            ]
            assert body == b"a 1\n"
        assert (await asked(port, GET.replace(b"metrics", b"metrics?x=1"))).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (GET.replace(b"metrics", b"secrets"), b"404"),
        (GET.replace(b"GET", b"POST"), b"405"),
        (b"colour\r\n\r\n", b"400"),
        (b"\xff\x00 \xff HTTP/1.1\r\n\r\n", b"405"),
        (b"GET /" + b"x" * 2 * MOST_BYTES + b"\r\n\r\n", b""),
    ],
    ids=["another path", "another method", "no request", "bytes", "too long"],
)
async def test_other_requests_are_refused(request_bytes: bytes, status: bytes) -> None:
    async with served() as port:
        found = await asked(port, request_bytes)
        assert found.split(b" ")[1:2] == ([status] if status else [])
        assert (await asked(port, GET)).endswith(b"a 1\n"), "it serves the next one"


async def test_connections_that_say_nothing_do_not_take_all_places_for_long() -> None:
    async with served() as port:
        silent = []
        while (await asked(port, GET)).split(b" ")[1:2] != [b"503"]:  # a slow machine: they are closed by then
            silent += [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_CONNECTIONS)]
        for reader, _ in silent:
            assert await reader.read() == b"", "closed after some seconds"
        while not (await asked(port, GET)).startswith(b"HTTP/1.1 200 "):
            await asyncio.sleep(0.01)
        for _, writer in silent:
            writer.close()


async def test_a_liveness_probe_is_answered_however_many_connections_say_nothing() -> None:
    """Kubelet restarted a leader to whose port any host had opened seventeen connections."""
    probe = GET.replace(b"metrics", b"healthz")
    async with served() as port:
        lines = []
        for count in range(2 * MOST_OPEN):
            lines.append(await asyncio.open_connection("127.0.0.1", port))
            if count % MOST_CONNECTIONS == 0 or count >= 2 * MOST_OPEN - 3:
                found = await asked(port, probe)
                assert (found.split(b" ")[1], found[-3:]) == (b"200", b"ok\n"), count
        reader, _ = lines[0]
        with suppress(ConnectionError):
            assert await reader.read() == b"", "the oldest one is closed"
        for _, writer in lines:
            writer.close()
        while not (await asked(port, GET)).startswith(b"HTTP/1.1 200 "):
            await asyncio.sleep(0.01)
