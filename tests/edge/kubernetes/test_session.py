"""Connections that are kept: credentials that are renewed, an API that asks for patience, one that does not answer."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from edge.kubernetes.api_server import Reply, Request, api_server, status
from nodenet.core.persistent_ips.model import ApiAway, Expired
from nodenet.edge.kubernetes.session import LONGEST_REASON, MOST_BYTES, PAUSES, Answer, Session, event_error


@pytest.mark.parametrize(
    ("pause", "seconds"), [("", 1.0), ("0", 0.0), ("1", 1.0), ("9999", 2.0), ("-1", 1.0), ("soon", 1.0), ("²", 1.0)]
)
def test_the_pause_that_the_api_asks_for_is_bounded(pause: str, seconds: float) -> None:
    assert Answer(429, b"", pause).retry_after(2.0) == seconds


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no reason is given"),
        (b"404 page not found\n", "404 page not found"),
        (b'{"message":"two\\nlines"}', "two lines"),
        (b'{"message":7}', "no reason is given"),
        (b"[]", "[]"),
        (b"[" * 100000, "[" * LONGEST_REASON),
        (b"\xff", "\ufffd"),
    ],
)
def test_every_content_gives_a_reason(content: bytes, reason: str) -> None:
    assert Answer(503, content).error("x").cause == f"x: {reason} (status 503)"


def test_events_that_report_an_error() -> None:
    assert event_error({"type": "ADDED"}) is None
    assert isinstance(event_error({"type": "ERROR", "object": {"code": 410}}), Expired)
    anything: tuple[object, ...] = ({}, [], None, {"code": "410"})
    for broken in anything:
        assert isinstance(event_error({"type": "ERROR", "object": broken}), ApiAway)


async def test_a_renewed_token_is_used_by_the_next_request(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply()) as server:
        session = Session(str(server.kubeconfig), lambda _: None)
        await session.request("GET", "/a")
        server.write_kubeconfig("second")
        await session.request("GET", "/b")
        await session.request("GET", "/c")
        await session.close()
    tokens = [request.headers["authorization"] for request in server.requests]
    assert tokens == ["Bearer first", "Bearer second", "Bearer second"]
    assert server.connections == 2


async def test_requests_under_way_end_on_the_old_credentials(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda request: Reply(seconds=0.3 if request.path == "/slow" else 0)) as server:
        session = Session(str(server.kubeconfig), lambda _: None)
        slow = asyncio.create_task(session.request("GET", "/slow"))
        while not server.requests:
            await asyncio.sleep(0.01)
        server.write_kubeconfig("second")
        assert (await session.request("GET", "/b")).status == 200
        assert (await slow).status == 200
        await session.close()


async def test_a_refused_token_is_read_again(tmp_path: Path) -> None:
    """The file may be replaced in the moment between; nothing but the next request needs it."""
    read: list[tuple[str, ...]] = []
    async with api_server(tmp_path, lambda _: status(401)) as server:
        session = Session(str(server.kubeconfig), read.append)
        await session.request("GET", "/a")
        await session.request("GET", "/a")
        await session.close()
    assert len(read) == 2


async def test_without_credentials_it_is_away_and_later_it_is_not(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply()) as server:
        content = server.kubeconfig.read_bytes()
        server.kubeconfig.unlink()
        session = Session(str(server.kubeconfig), lambda _: None)
        with pytest.raises(ApiAway, match="kubeconfig cannot be read: No such file or directory"):
            await session.request("GET", "/a")
        server.kubeconfig.write_bytes(content)
        with pytest.raises(ApiAway, match="its mode is 644, and other users can read the credentials"):
            await session.request("GET", "/a")
        server.kubeconfig.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(server.kubeconfig, 65534, 0)
            with pytest.raises(ApiAway, match="it belongs to uid 65534"):
                await session.request("GET", "/a")
            os.chown(server.kubeconfig, 0, 0)
        assert (await session.request("GET", "/a")).status == 200
        await session.close()


async def test_an_api_that_asks_for_patience_gets_it(tmp_path: Path) -> None:
    def answer(_: Request) -> Reply:
        return Reply(429, headers={"Retry-After": "0"}) if len(server.requests) < 3 else Reply()

    async with api_server(tmp_path, answer) as server:
        session = Session(str(server.kubeconfig), lambda _: None)
        assert (await session.request("GET", "/a")).status == 200
        await session.close()
    assert len(server.requests) == 3


async def test_patience_ends(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply(429, headers={"Retry-After": "0"})) as server:
        session = Session(str(server.kubeconfig), lambda _: None)
        assert (await session.request("GET", "/a")).status == 429
        await session.close()
    assert len(server.requests) == 1 + PAUSES


async def test_a_server_that_is_gone_is_away_and_is_found_again(tmp_path: Path) -> None:
    """Whether it did what it was asked for is not known, so only a question is sent again."""
    replies = [Reply(), Reply(silent=True), Reply(), Reply(silent=True), Reply(silent=True), Reply()]
    async with api_server(tmp_path, lambda _: replies.pop(0)) as server:
        session = Session(str(server.kubeconfig), lambda _: None)
        assert (await session.request("GET", "/a")).status == 200
        with pytest.raises(ApiAway, match="does not answer POST /a: "):
            await session.request("POST", "/a", body={})
        assert (await session.request("GET", "/a")).status == 200
        with pytest.raises(ApiAway, match="does not answer GET /a: "):
            await session.request("GET", "/a")
        assert (await session.request("GET", "/a")).status == 200
        await session.close()
    assert [request.method for request in server.requests] == ["GET", "POST", *["GET"] * 4]


async def test_an_answer_without_an_end_is_not_kept(tmp_path: Path) -> None:
    huge = b"x" * (MOST_BYTES + 1)
    async with api_server(tmp_path, lambda _: Reply(document=huge)) as server:
        session = Session(str(server.kubeconfig), lambda _: None)
        with pytest.raises(ApiAway, match="longer than"):
            await session.request("GET", "/a")
        await session.close()


async def test_an_api_that_closes_the_connection_is_said_in_words(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply(silent=True)) as server:
        session = Session(str(server.kubeconfig), lambda _: None)
        with pytest.raises(ApiAway, match=r"^The API does not answer GET /a: the connection was closed$"):
            await session.request("GET", "/a")
        with pytest.raises(ApiAway, match=r"^The API does not answer the watch of /a: the connection was closed$"):
            await anext(session.watch("/a", {}))
        await session.close()


async def test_a_watch_asks_whether_its_server_is_still_there(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply(lines=({"type": "BOOKMARK"},), seconds=10)) as server:
        session = Session(str(server.kubeconfig), lambda _: None)

        async def watch() -> None:
            async for event in session.watch("/api/v1/nodes", {}):
                assert event == {"type": "BOOKMARK"}

        task = asyncio.create_task(watch())
        assert await server.is_probed()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await session.close()


async def test_another_ca_is_no_api(tmp_path: Path) -> None:
    """The token is not sent to a server whose certificate this CA did not sign."""
    other = tmp_path / "other"
    other.mkdir()
    async with api_server(tmp_path, lambda _: Reply()) as server, api_server(other, lambda _: Reply()) as second:
        server.port = second.port
        server.write_kubeconfig()
        session = Session(str(server.kubeconfig), lambda _: None)
        with pytest.raises(ApiAway, match="certificate verify failed"):
            await session.request("GET", "/a")
        await session.close()
    assert second.requests == []
