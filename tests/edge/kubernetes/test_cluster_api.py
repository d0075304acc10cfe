"""Objects of any kind are read and written, and every refusal is an error of one of three kinds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from edge.kubernetes.api_server import ApiServer, Reply, Request, api_server, status
from nodenet.core.errors import Forbidden, Postponed, Unavailable
from nodenet.core.persistent_ips.model import Conflict
from nodenet.edge.kubernetes.cluster_api import ClusterApi

PATH = "/apis/g/v1/things"


@asynccontextmanager
async def api(directory: Path, answer: Callable[[Request], Reply]) -> AsyncIterator[tuple[ClusterApi, ApiServer]]:
    async with api_server(directory, answer) as server:
        made = ClusterApi(str(server.kubeconfig), lambda _: None)
        yield made, server
        await made.close()


async def test_an_object_is_found_created_and_changed(tmp_path: Path) -> None:
    async with api(tmp_path, lambda request: Reply(document={"did": request.method})) as (cluster, server):
        assert await cluster.find(f"{PATH}/a") == {"did": "GET"}
        assert await cluster.create(PATH, {"x": 1}) == {"did": "POST"}
        assert await cluster.merge(f"{PATH}/a", {"x": 2}) == {"did": "PATCH"}
        last = server.requests[-1]
    assert (last.body, last.headers["content-type"]) == ({"x": 2}, "application/merge-patch+json")
    assert last.headers["user-agent"].startswith("nodenet-operator/")


async def test_pages_are_one_list(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if "continue" in request.query:
            return Reply(document={"metadata": {}, "items": [{"n": 2}]})
        return Reply(document={"metadata": {"continue": "more"}, "items": [{"n": 1}, 7]})

    async with api(tmp_path, answer) as (cluster, _):
        assert await cluster.items(PATH) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("code", "kind"), [(403, Forbidden), (404, Forbidden), (409, Conflict), (422, Unavailable), (500, Unavailable)]
)
async def test_a_refusal_is_an_error(tmp_path: Path, code: int, kind: type[Exception]) -> None:
    async with api(tmp_path, lambda _: status(code)) as (cluster, _):
        with pytest.raises(kind):
            await cluster.merge(PATH, {})
        if code == 404:
            assert await cluster.find(PATH) is None


async def test_the_pause_that_the_api_asks_for_is_reported(tmp_path: Path) -> None:
    async with api(tmp_path, lambda _: replace(status(503), headers={"Retry-After": "17"})) as (cluster, _):
        with pytest.raises(Postponed) as caught:
            await cluster.get(PATH)
    assert caught.value.seconds == 17


async def test_a_list_of_another_shape_is_an_error(tmp_path: Path) -> None:
    async with api(tmp_path, lambda _: Reply(document={"items": 5})) as (cluster, _):
        with pytest.raises(Unavailable):
            await cluster.items(PATH)


async def test_a_watch_yields_events_and_a_refusal_of_it_is_an_error(tmp_path: Path) -> None:
    async with api(tmp_path, lambda _: Reply(lines=({"type": "ADDED"},), seconds=0.01)) as (cluster, _):
        assert [event async for event in cluster.watch(PATH, {})] == [{"type": "ADDED"}]
    async with api(tmp_path, lambda _: status(403)) as (cluster, _):
        with pytest.raises(Forbidden):
            [event async for event in cluster.watch(PATH, {})]
