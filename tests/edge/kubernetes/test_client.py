"""A node whose kubeconfig names a load balancer that the API has left: it asks at the VIP."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from edge.kubernetes.api_server import ApiServer, Reply, api_server, status
from nodenet.core.errors import Forbidden, Unavailable
from nodenet.core.hosted_services.kubeconfig import Access
from nodenet.edge.kubernetes.client import KubernetesCluster


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
        server.answer = lambda _: status(500)
        with pytest.raises(Unavailable):
            await asked(made)
        with pytest.raises(Unavailable, match="does not answer"):
            await asked(made)
        assert len(server.requests) == 5


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
