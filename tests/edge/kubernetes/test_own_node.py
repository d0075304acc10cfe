"""A node reads and writes one annotation of its own Node object."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge.kubernetes.api_server import Reply, Request, api_server, status
from nodenet.core.errors import Forbidden, Unavailable
from nodenet.edge.kubernetes.client import KubernetesCluster
from nodenet.edge.kubernetes.cluster_api import OwnNode


async def test_an_annotation_is_read_and_written_by_a_merge_patch(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        assert request.path == "/api/v1/nodes/m0"
        return Reply(document={"metadata": {"annotations": {"key": "before"}}})

    async with api_server(tmp_path, answer) as server:
        node = OwnNode(KubernetesCluster(str(server.kubeconfig), lambda _: None), "m0")
        assert await node.annotation("key") == "before"
        assert await node.annotation("other") is None
        await node.annotate("key", "after")
        written = server.requests[-1]
    assert (written.method, written.query) == ("PATCH", {"fieldManager": "nodenet-hosted"})
    assert written.headers["content-type"] == "application/merge-patch+json"
    assert written.body == {"metadata": {"annotations": {"key": "after"}}}


@pytest.mark.parametrize("document", [[], {}, {"metadata": 5}, {"metadata": {"annotations": {"key": 5}}}])
async def test_an_object_of_another_shape_has_no_annotation(tmp_path: Path, document: object) -> None:
    async with api_server(tmp_path, lambda _: Reply(document=document)) as server:
        node = OwnNode(KubernetesCluster(str(server.kubeconfig), lambda _: None), "m0")
        assert await node.annotation("key") is None


@pytest.mark.parametrize(("code", "kind"), [(403, Forbidden), (404, Forbidden), (409, Unavailable), (500, Unavailable)])
async def test_a_refusal_is_an_error(tmp_path: Path, code: int, kind: type[Exception]) -> None:
    async with api_server(tmp_path, lambda _: status(code)) as server:
        node = OwnNode(KubernetesCluster(str(server.kubeconfig), lambda _: None), "m0")
        with pytest.raises(kind):
            await node.annotate("key", "text")


async def test_a_name_is_one_segment_of_the_path(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply()) as server:
        await OwnNode(KubernetesCluster(str(server.kubeconfig), lambda _: None), "../pods").annotation("key")
        assert server.requests[0].path == "/api/v1/nodes/..%2Fpods"
