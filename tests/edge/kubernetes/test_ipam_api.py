"""Requests of persistent IPs, against a server that answers over TLS: what is sent, and what each answer means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from edge.kubernetes.api_server import ApiServer, Reply, Request, api_server, status
from nodenet.core.errors import NodenetError
from nodenet.core.persistent_ips.model import ApiAway, Conflict, Expired, Forbidden, NotFound
from nodenet.edge.kubernetes.ipam_api import KubernetesIpam
from nodenet.ports.kubernetes import IpamApi

CLAIM = {"metadata": {"name": "vm.net", "namespace": "team", "resourceVersion": "7"}}
NO_SUCH_KIND = Reply(404, b"404 page not found\n")
Call = Callable[[KubernetesIpam], Awaitable[Any]]


async def asked(directory: Path, reply: Reply, call: Call) -> tuple[Any, ApiServer]:
    """Return what a call returns, or its error, and the server."""
    async with api_server(directory, lambda _: reply) as server:
        api = KubernetesIpam(str(server.kubeconfig), "kube-system", lambda _: None)
        try:
            return await call(api), server
        except NodenetError as error:
            return error, server
        finally:
            await api.close()


async def events(api: KubernetesIpam) -> list[Any]:
    return [event async for event in api.watch_claims("7")]


CALLS: dict[str, tuple[Call, str, str]] = {
    # name → the call, its method and path
    "pod": (lambda api: api.pod("team", "p"), "GET", "/api/v1/namespaces/team/pods/p"),
    "claim": (
        lambda api: api.claim("team", "vm.net"),
        "GET",
        "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/team/ipamclaims/vm.net",
    ),
    "patch": (
        lambda api: api.patch_claim_status("team", "vm.net", {"status": {"ips": []}}),
        "PATCH",
        "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/team/ipamclaims/vm.net/status",
    ),
    "create lease": (
        lambda api: api.create_lease({"metadata": {"name": "a"}}),
        "POST",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
    ),
    "lease": (lambda api: api.lease("a"), "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a"),
    "patch lease": (
        lambda api: api.patch_lease("a", [{"op": "test", "path": "/metadata/uid", "value": "u"}]),
        "PATCH",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a",
    ),
    "delete lease": (
        lambda api: api.delete_lease("a", "u", "7"),
        "DELETE",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a",
    ),
    "event": (lambda api: api.create_event("team", {"reason": "x"}), "POST", "/api/v1/namespaces/team/events"),
    "claims": (lambda api: api.list_claims(), "GET", "/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims"),
    "leases": (
        lambda api: api.list_leases("a=b"),
        "GET",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
    ),
    "watch": (events, "GET", "/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims"),
}


@pytest.mark.parametrize("name", CALLS)
async def test_each_call_is_one_request(tmp_path: Path, name: str) -> None:
    call, method, path = CALLS[name]
    _, server = await asked(tmp_path, Reply(document={"items": [], "metadata": {}}), call)
    (request,) = server.requests
    assert (request.method, request.path) == (method, path)
    assert request.headers["authorization"] == "Bearer first"


def test_it_is_what_the_service_needs(tmp_path: Path) -> None:
    api: IpamApi = KubernetesIpam(str(tmp_path / "kubeconfig"), "kube-system", lambda _: None)
    assert api is not None


async def test_bodies_and_queries(tmp_path: Path) -> None:
    sent: list[Request] = []
    for name in ("patch", "patch lease", "delete lease", "leases", "watch"):
        _, server = await asked(tmp_path, Reply(document={"items": [], "metadata": {}}), CALLS[name][0])
        sent += server.requests
    patch, lease, delete, leases, watch = sent
    assert (patch.headers["content-type"], patch.body) == ("application/merge-patch+json", {"status": {"ips": []}})
    assert lease.headers["content-type"] == "application/json-patch+json"
    assert lease.body == [{"op": "test", "path": "/metadata/uid", "value": "u"}]
    assert delete.body["preconditions"] == {"uid": "u", "resourceVersion": "7"}
    assert leases.query == {"labelSelector": "a=b", "limit": "1000"}
    assert watch.query == {
        "resourceVersion": "7",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }


@pytest.mark.parametrize(
    ("name", "reply", "kind"),
    [
        ("pod", status(404), NotFound),
        ("claim", status(404), NotFound),
        ("claim", NO_SUCH_KIND, Forbidden),
        ("claims", NO_SUCH_KIND, Forbidden),
        ("claims", status(410), Expired),
        ("leases", status(410), Expired),
        ("watch", status(410), Expired),
        ("watch", NO_SUCH_KIND, Forbidden),
        ("watch", status(403), Forbidden),
        ("patch", status(409), Conflict),
        ("patch", status(404), NotFound),
        ("patch", status(422), Forbidden),
        ("create lease", status(409), Conflict),
        ("create lease", status(404), Forbidden),
        ("create lease", status(422), Forbidden),
        ("patch lease", status(409), Conflict),
        ("patch lease", status(422), Conflict),
        ("delete lease", status(409), Conflict),
        ("delete lease", status(404), NotFound),
        ("event", status(404), Forbidden),
        ("pod", status(401), Forbidden),
        ("pod", status(403), Forbidden),
        ("pod", status(500), ApiAway),
        ("pod", status(503), ApiAway),
        ("pod", status(301), ApiAway),
        ("pod", Reply(silent=True), ApiAway),
        ("pod", Reply(document=b"{"), ApiAway),
        ("pod", Reply(document=[]), ApiAway),
        ("claims", Reply(document={"items": 1, "metadata": {}}), ApiAway),
        ("watch", Reply(silent=True), ApiAway),
    ],
)
async def test_what_each_answer_means(tmp_path: Path, name: str, reply: Reply, kind: type[NodenetError]) -> None:
    error, _ = await asked(tmp_path, reply, CALLS[name][0])
    assert type(error) is kind, error


async def test_a_refusal_is_worded_with_the_apis_reason(tmp_path: Path) -> None:
    error, _ = await asked(tmp_path, status(403, 'pods "p" is forbidden: no role'), CALLS["pod"][0])
    assert str(error) == (
        'The API refuses /api/v1/namespaces/team/pods/p: pods "p" is forbidden: no role (status 403). '
        "Apply the manifests of /usr/share/nodenet/cluster, and look at the token"
    )


async def test_an_event_that_is_there_already_is_enough(tmp_path: Path) -> None:
    assert (await asked(tmp_path, status(409), CALLS["event"][0]))[0] is None


@pytest.mark.parametrize("name", ["", ".", ".."])
async def test_a_name_that_would_be_another_path_is_not_sent(tmp_path: Path, name: str) -> None:
    error, server = await asked(tmp_path, Reply(), lambda api: api.pod("team", name))
    assert (type(error), server.requests) == (NotFound, [])


async def test_names_are_one_segment_each(tmp_path: Path) -> None:
    _, server = await asked(tmp_path, Reply(), lambda api: api.pod("team/../kube-system", "a?b#c"))
    assert [request.path for request in server.requests] == [
        "/api/v1/namespaces/team%2F..%2Fkube-system/pods/a%3Fb%23c"
    ]


async def test_the_events_of_a_watch_come_one_by_one(tmp_path: Path) -> None:
    lines = ({"type": "ADDED", "object": CLAIM}, {"type": "BOOKMARK", "object": {}})
    found, _ = await asked(tmp_path, Reply(lines=lines), events)
    assert found == list(lines)


@pytest.mark.parametrize(("code", "kind"), [(410, Expired), (500, ApiAway), ("?", ApiAway)])
async def test_a_watch_that_reports_an_error(tmp_path: Path, code: object, kind: type[NodenetError]) -> None:
    line = {"type": "ERROR", "object": {"kind": "Status", "code": code, "message": "too old resource version"}}
    error, _ = await asked(tmp_path, Reply(lines=(line,)), events)
    assert type(error) is kind
    assert "too old resource version" in str(error)


async def test_pages_follow_each_other(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if "continue" in request.query:
            return Reply(document={"items": [CLAIM], "metadata": {"resourceVersion": "9"}})
        return Reply(document={"items": [CLAIM], "metadata": {"resourceVersion": "9", "continue": "more"}})

    async with api_server(tmp_path, answer) as server:
        api = KubernetesIpam(str(server.kubeconfig), "kube-system", lambda _: None)
        first = await api.list_claims()
        second = await api.list_claims(first.following)
        await api.close()
    assert (first.following, second.following, second.resource_version) == ("more", "", "9")
    assert [request.query.get("continue") for request in server.requests] == [None, "more"]


async def test_many_calls_share_few_connections(tmp_path: Path) -> None:
    async with api_server(tmp_path, lambda _: Reply(document=CLAIM)) as server:
        api = KubernetesIpam(str(server.kubeconfig), "kube-system", lambda _: None)
        await asyncio.gather(*(api.claim("team", "vm.net") for _ in range(200)))
        await api.close()
    assert len(server.requests) == api.session.requests == 200
    assert server.connections <= 12


async def test_a_page_of_huge_objects_is_asked_for_in_small_pages(tmp_path: Path) -> None:
    """Every user who may create claims decides how long they are: the others are read all the same."""
    claim = {"metadata": {"name": "vm"}, "spec": {"network": "x" * 1_400_000}}

    def answer(request: Request) -> Reply:
        first = int(request.query.get("continue", "0"))
        last = min(first + int(request.query["limit"]), 20)
        following = {"continue": str(last)} if last < 20 else {}
        return Reply(document={"items": [claim] * (last - first), "metadata": {"resourceVersion": "7", **following}})

    async with api_server(tmp_path, answer) as server:
        api = KubernetesIpam(str(server.kubeconfig), "kube-system", lambda _: None)
        found, following = 0, ""
        while True:
            page = await api.list_claims(following)
            found, following = found + len(page.items), page.following
            if not following:
                break
        await api.close()
    assert (found, page.resource_version) == (20, "7")
