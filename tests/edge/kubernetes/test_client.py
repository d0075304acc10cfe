"""A node whose kubeconfig names a load balancer that the API has left: it asks at the VIP."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from edge.kubernetes.api_server import ApiServer, Reply, api_server, status
from nodenet.core.errors import Forbidden, Unavailable, Unreachable
from nodenet.core.hosted_services.kubeconfig import Access
from nodenet.edge.kubernetes.client import RETURN_SECONDS, KubernetesCluster


def dead_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as line:
        return int(line.getsockname()[1])


def cluster(server: ApiServer, name: str | None = None) -> KubernetesCluster:
    """Return the cluster of a kubeconfig whose server is dead; the real one is its other way."""
    way = f"https://127.0.0.1:{server.port}"
    server.port = dead_port()
    server.write_kubeconfig()

    def elsewhere(access: Access) -> tuple[Access, ...]:
        return (replace(access, server=way, server_name=name),)

    return KubernetesCluster(str(server.kubeconfig), lambda _: None, elsewhere)


async def asked(made: KubernetesCluster) -> object:
    async with made.connect() as api:
        return await api.get("/api")


async def test_the_next_connection_uses_the_other_way_and_the_first_one_after_it_again(tmp_path: Path) -> None:
    """A node that was frozen while the API moved back kept the old load balancer: it asked nothing else."""
    async with api_server(tmp_path, lambda _: Reply(document={"a": 1})) as server:
        made = cluster(server)
        with pytest.raises(Unavailable):
            await asked(made)
        for _ in range(3):
            assert await asked(made) == {"a": 1}, "it stays where it is answered"
        server.answer = lambda _: status(403)
        with pytest.raises(Forbidden):
            await asked(made)
        assert len(server.requests) == 4, "a refusal is an answer"


@pytest.mark.parametrize("code", [401, 429, 500, 503])
async def test_a_server_that_answers_anything_keeps_the_node(tmp_path: Path, code: int) -> None:
    """An API that is overloaded, or that does not accept the credentials, does so at each of its addresses."""
    async with api_server(tmp_path, lambda _: status(code)) as server:
        made = cluster(server)
        with pytest.raises(Unreachable):
            await asked(made)
        for number in range(1, 4):
            with pytest.raises(Unavailable, match=str(code)) as caught:
                await asked(made)
            assert type(caught.value) is Unavailable
            assert len(server.requests) == number


async def test_the_pause_that_a_server_asks_for_is_reported(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: status(429)) as server:
        made = KubernetesCluster(str(server.kubeconfig), lambda _: None)
        for field, seconds in (("17", 17.0), ("Sun, 22 Nov 2026 23:00:00 GMT", None), ("", None)):
            server.answer = lambda _, field=field: replace(status(429), headers={"Retry-After": field})  # type: ignore[misc]
            with pytest.raises(Unavailable) as caught:
                await asked(made)
            assert getattr(caught.value, "seconds", None) == seconds


@pytest.mark.parametrize("ends", [Reply(silent=True), Reply(document=b"{")], ids=["no answer", "half an answer"])
async def test_a_server_that_ends_an_answer_is_there_and_one_without_an_answer_is_not(
    tmp_path: Path, ends: Reply
) -> None:
    async with api_server(tmp_path, lambda _: ends) as server:
        with pytest.raises(Unavailable) as caught:
            await asked(KubernetesCluster(str(server.kubeconfig), lambda _: None))
        assert isinstance(caught.value, Unreachable) is ends.silent


@pytest.mark.parametrize(("code", "back"), [(200, True), (403, True), (503, False), (404, False)])
async def test_the_server_of_the_kubeconfig_is_used_again_when_it_is_ready(
    tmp_path: Path,
    code: int,
    back: bool,  # noqa: FBT001
) -> None:
    """A node depended on the VIP for as long as something answered there."""
    async with api_server(tmp_path, lambda _: Reply(document={"way": "the VIP"})) as server:
        made = cluster(server)
        with pytest.raises(Unreachable):
            await asked(made)
        async with made.connect() as api:
            assert api.provisional
        assert RETURN_SECONDS / 2 <= made._due - asyncio.get_running_loop().time() <= RETURN_SECONDS
        configured = await asyncio.start_server(server.serve, "127.0.0.1", server.port, ssl=server.context)
        assert await asked(made) == {"way": "the VIP"}, "it is not tried at each connection"
        before, server.answer = len(server.requests), lambda _: status(code)
        made._due = 0.0
        async with made.connect() as api:
            assert api.provisional is not back
        assert [request.path for request in server.requests[before:]] == ["/readyz"]
        async with made.connect():
            assert len(server.requests) == before + 1, "and not again before the next time"
        configured.close()


async def test_the_other_way_is_verified_by_the_name_of_the_first_one(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply()) as server:
        made = cluster(server, "api-int.c1.example.com")
        for cause in ("does not answer", "cannot be verified"):
            with pytest.raises(Unavailable, match=cause):
                await asked(made)
        assert server.requests == [], "no host gets the credentials before that"


async def test_a_watch_asks_whether_its_server_is_still_there(tmp_path: Path) -> None:
    """A server whose host has lost its power says nothing: a watch without probes was silent for five minutes."""
    async with api_server(tmp_path, lambda _: Reply(lines=({"type": "BOOKMARK"},), seconds=10)) as server:

        async def watch() -> None:
            async with KubernetesCluster(str(server.kubeconfig), lambda _: None).connect() as api:
                async for event in api.watch("/api/v1/nodes", {}):
                    assert event == {"type": "BOOKMARK"}

        task = asyncio.create_task(watch())
        assert await server.is_probed()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
