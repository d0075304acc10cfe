"""What is known of the cluster from the API, the caches and the file; and what becomes of each when one fails."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from ipaddress import ip_address
from typing import Any

import pytest
from structlog.testing import capture_logs

from nodenet.core.errors import Forbidden, PublishFailed, Unavailable
from nodenet.core.hosted_services import cluster, resource
from nodenet.core.hosted_services.cluster import known
from nodenet.core.hosted_services.model import Here, Options, Origin
from nodenet.core.hosted_services.nodes import Known
from nodenet.core.hosted_services.plan import plan
from nodenet.hosted.cluster_source import (
    BURST,
    FILE_SECONDS,
    MOST_CAUSES,
    NODES,
    PAUSE_SECONDS,
    RESOURCES,
    ClusterSource,
    Identity,
)
from nodenet.stages.hosted_services.on_disk import OnDisk

DOMAIN = "c1.example.com"
IDENTITY = Identity("m0", DOMAIN, "boot-1")


def node(name: str, address: str = "192.0.2.10") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "resourceVersion": "1", "labels": {}},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }


def object_named(name: str = "cluster", generation: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": f"{resource.GROUP}/{resource.VERSION}",
        "kind": resource.KIND,
        "metadata": {"name": name, "resourceVersion": "5", "generation": generation},
        "spec": {"ingressHa": "Disabled"},
    }


HERE = Here("m0")
OPTIONS = Options("baremetal", DOMAIN, (ip_address("192.0.2.2"),))


class NoTrial:
    """No load balancer has lost the name."""

    def read(self) -> bytes | None:
        return None

    def write(self, content: bytes) -> None:
        raise AssertionError(content)


class FakeFiles:
    def __init__(self, filed: object | None = None) -> None:
        self.caches: dict[str, bytes] = {}
        self.filed = filed
        self.writes = 0

    def read(self, name: str) -> bytes | None:
        return self.caches.get(name)

    def write(self, name: str, content: bytes) -> None:
        self.writes += 1
        self.caches[name] = content

    async def resource(self) -> object | None:
        if isinstance(self.filed, Exception):
            raise self.filed
        return self.filed


class FakeApi:
    """An API that lists what it has, refuses or is silent; a watch lasts for ever."""

    provisional = False

    def __init__(self, lists: Mapping[str, Any]) -> None:
        self.lists = dict(lists)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[FakeApi]:
        yield self

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        found = self.lists[path]
        selected = (parameters or {}).get("fieldSelector", "")
        if path == NODES and isinstance(found, Forbidden) and selected == "metadata.name=m0":
            found = [node("m0")]
        if isinstance(found, Exception):
            raise found
        return {"metadata": {"resourceVersion": "10"}, "items": found}

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:  # noqa: ARG002
        await asyncio.sleep(3600)
        yield {}


def source(lists: Mapping[str, Any], files: FakeFiles | None = None) -> ClusterSource:
    return ClusterSource(FakeApi(lists), files or FakeFiles(), IDENTITY, lambda: None)


async def during(work: Callable[[], Any], seconds: float = 1.0) -> None:
    """Let *work*, a method of a source, and the taking of what it hears go on for a time."""
    tasks = [asyncio.ensure_future(work()), asyncio.ensure_future(work.__self__.take())]  # type: ignore[attr-defined]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_live_nodes_are_kept_on_disk_once() -> None:
    files = FakeFiles()
    made = source({NODES: [node("m0"), node("m1")]}, files)
    await during(made.follow_nodes)
    assert [one["metadata"]["name"] for one in made.cluster.nodes[Origin.LIVE]] == ["m0", "m1"]
    kept = cluster.parse_cached(files.caches["nodes"], DOMAIN)
    assert (kept.document, kept.boot_id) == (made.cluster.nodes[Origin.LIVE], "boot-1")
    again = source({NODES: [node("m0"), node("m1")]}, files)
    await during(again.follow_nodes)
    assert files.writes == 1, "an equal list is not written again"


async def test_credentials_for_the_own_node_only_give_its_role_and_keep_the_cache() -> None:
    files = FakeFiles()
    await during(source({NODES: [node("m0"), node("m1")]}, files).follow_nodes)
    made = source({NODES: Forbidden("403")}, files)
    await made.read_disk()
    await during(made.follow_nodes)
    assert made.cluster.own is not None
    assert (list(made.cluster.nodes), made.problem) == ([Origin.CACHE], None)


async def test_an_api_that_does_not_answer_leaves_what_is_on_disk() -> None:
    files = FakeFiles(filed=object_named())
    await during(source({NODES: [node("m0")]}, files).follow_nodes)
    made = source({NODES: Unavailable("connection refused")}, files)
    await made.read_disk()
    await during(made.follow_nodes, 30)
    assert made.cluster.nodes[Origin.CACHE][0]["metadata"]["name"] == "m0"
    assert made.cluster.resources == {Origin.FILE: object_named()}
    assert made.problem == "connection refused"


async def test_each_cause_of_an_outage_is_logged_once() -> None:
    """Only the first one was: a server whose certificate had expired came back after its restart, and was not named."""
    api = FakeApi({})
    made = ClusterSource(api, FakeFiles(), IDENTITY, lambda: None)
    with capture_logs() as logs:
        task = asyncio.ensure_future(made.follow_nodes())
        for number in range(200):
            api.lists[NODES] = Unavailable("its certificate has expired" if number % 4 else "connection refused")
            await asyncio.sleep(30)
        api.lists[NODES] = [node("m0")]
        await asyncio.sleep(120)
        task.cancel()
    said = [entry["event"] for entry in logs]
    assert said == ["connection refused", "its certificate has expired", "The API answers again (nodes)"]


async def test_causes_that_never_repeat_do_not_fill_the_journal() -> None:
    api = FakeApi({})
    made = ClusterSource(api, FakeFiles(), IDENTITY, lambda: None)
    with capture_logs() as logs:
        task = asyncio.ensure_future(made.follow_nodes())
        for number in range(100):
            api.lists[NODES] = Unavailable(f"answer {number}")
            await asyncio.sleep(60)
        task.cancel()
    assert len(logs) == MOST_CAUSES


async def test_an_empty_list_does_not_replace_the_cache_on_disk() -> None:
    files = FakeFiles()
    await during(source({NODES: [node("m0")]}, files).follow_nodes)
    await during(source({NODES: []}, files).follow_nodes)
    assert cluster.parse_cached(files.caches["nodes"], DOMAIN).document != []


async def test_a_list_of_workers_does_not_replace_a_complete_one_on_disk() -> None:
    """As when the Nodes of the control plane were removed, or lost their labels: the next boot needs them."""
    files = FakeFiles()
    await during(source({NODES: [node("w0")]}, files).follow_nodes)
    assert cluster.parse_cached(files.caches["nodes"], DOMAIN).document
    master = node("m0") | {"metadata": {"name": "m0", "labels": {"node-role.kubernetes.io/master": ""}}}
    await during(source({NODES: [master, node("w0")]}, files).follow_nodes)
    complete = files.caches["nodes"]
    again = source({NODES: [node("w0"), node("w1")]}, files)
    await again.read_disk()
    await during(again.follow_nodes)
    assert files.caches["nodes"] == complete
    assert len(again.cluster.nodes[Origin.LIVE]) == 2


async def test_an_object_that_was_deleted_stays_in_force_also_after_a_boot() -> None:
    """`kubectl delete`, a GitOps prune, `replace --force`: all nodes went to the VIP at once, and none checked it."""
    files = FakeFiles()
    record = {"phase": "External", "from": [], "to": ["192.0.2.9"]}
    there = object_named(generation=3) | {"status": {"migration": record}}
    api = FakeApi({RESOURCES: [there]})
    made = ClusterSource(api, files, IDENTITY, lambda: None)
    await during(made.follow_resource)
    assert made.cluster.resources[Origin.LIVE]["spec"] == {"ingressHa": "Disabled"}
    assert cluster.parse_cached(files.caches["cr"], DOMAIN).generation == 3
    api.lists[RESOURCES] = []
    await during(made.follow_resource)
    booted = ClusterSource(api, files, IDENTITY, lambda: None)
    await booted.read_disk()
    await during(booted.follow_resource)
    for one in (made, booted):
        kept = one.cluster.resources[Origin.CACHE]
        assert (kept["spec"], kept["status"]["migration"]) == ({"ingressHa": "Disabled"}, record)
        assert (Origin.LIVE in one.cluster.resources, one.is_asked_for) == (False, False)
    api.lists[RESOURCES] = [object_named(generation=1) | {"spec": {}}]
    await during(booted.follow_resource)
    assert booted.cluster.resources[Origin.LIVE]["spec"] == {}
    assert booted.cluster.resources[Origin.LIVE]["status"]["migration"] == record, "until nodenet-operator has checked"


async def test_an_api_that_came_back_without_the_kind_is_no_problem() -> None:
    lists: dict[str, Any] = {RESOURCES: Unavailable("connection refused")}
    api = FakeApi(lists)
    made = ClusterSource(api, FakeFiles(), IDENTITY, lambda: None)
    task = asyncio.ensure_future(made.follow_resource())
    await asyncio.sleep(5)
    assert made.problem == "connection refused"
    api.lists[RESOURCES] = Forbidden("404")
    await asyncio.sleep(60)
    assert made.problem is None
    task.cancel()


async def test_a_cluster_without_the_kind_keeps_the_cache() -> None:
    """While an API server starts, it does not know the kinds of its cluster yet."""
    files = FakeFiles()
    await during(source({RESOURCES: [object_named()]}, files).follow_resource)
    made = source({RESOURCES: Forbidden("404")}, files)
    await made.read_disk()
    await during(made.follow_resource)
    assert Origin.CACHE in made.cluster.resources
    assert made.problem is None


@pytest.mark.parametrize("torn", [b"", b"x", b"0\n{}\n"])
async def test_a_torn_cache_and_one_of_another_cluster_are_not_used(torn: bytes) -> None:
    files = FakeFiles()
    files.caches = {
        "nodes": torn,
        "cr": cluster.render_cached(cluster.Cached(object_named(), "other.example.com", "1")),
    }
    made = source({}, files)
    await made.read_disk()
    assert (dict(made.cluster.nodes), dict(made.cluster.resources)) == ({}, {})


@pytest.mark.parametrize("wrong", [ValueError("it is not YAML"), PublishFailed("it cannot be read")])
async def test_a_file_that_cannot_be_used_is_left_out(wrong: Exception) -> None:
    made = source({}, FakeFiles(filed=wrong))
    await made.read_disk()
    assert dict(made.cluster.resources) == {}


async def test_an_object_that_is_not_valid_does_not_replace_the_cached_one() -> None:
    files = FakeFiles()
    await during(source({RESOURCES: [object_named()]}, files).follow_resource)
    kept = files.caches["cr"]
    wrong = object_named() | {"spec": {"ingressHa": "maybe"}}
    made = source({RESOURCES: [wrong]}, files)
    await during(made.follow_resource)
    assert made.cluster.resources[Origin.LIVE]["spec"] == {"ingressHa": "maybe"}
    assert files.caches["cr"] == kept


async def test_a_cluster_that_goes_on_changing_is_taken_with_pauses() -> None:
    """Every change reloads keepalived and haproxy, and a Node is written by its own kubelet."""
    files, times = FakeFiles(), []
    now = asyncio.get_running_loop().time
    made = ClusterSource(FakeApi({}), files, IDENTITY, lambda: times.append(now()))
    task = asyncio.ensure_future(made.take())
    began = now()
    for number in range(600):
        made._hear("nodes", Known({"m0": node("m0", f"192.0.2.{number % 200 + 1}")}, str(number)))
        await asyncio.sleep(0.1)
    await asyncio.sleep(PAUSE_SECONDS)
    task.cancel()
    assert BURST <= len(times) <= BURST + 60 / PAUSE_SECONDS + 1
    assert times[0] - began < 0.1, "the first change is taken at once"
    assert files.writes == len(times)
    last = made.cluster.nodes[Origin.LIVE][0]["status"]["addresses"][0]["address"]
    assert last == "192.0.2.200", "the last word is in force"


async def test_the_file_of_the_administrator_is_followed_and_a_wrong_one_replaces_none() -> None:
    """The daemon reads it with each look, and both write the names that dnsmasq answers."""
    files = FakeFiles(filed=object_named(generation=1))
    made = source({}, files)
    await made.read_disk()
    task = asyncio.ensure_future(made.follow_file())
    for filed, wanted in (
        (object_named(generation=2), object_named(generation=2)),
        (ValueError("it is not YAML"), object_named(generation=2)),
        (None, None),
    ):
        files.filed = filed
        await asyncio.sleep(FILE_SECONDS + 1)
        assert made.cluster.resources.get(Origin.FILE) == wanted
    task.cancel()


async def test_the_generation_in_force_is_known_and_so_is_a_cluster_without_the_object() -> None:
    made = source({RESOURCES: [object_named(generation=3)]})
    assert (made.generation, made.is_asked_for) == (0, False)
    await during(made.follow_resource)
    assert (made.generation, made.is_asked_for) == (3, True)
    none = source({RESOURCES: []})
    await during(none.follow_resource)
    assert (none.generation, none.is_asked_for) == (0, False)


async def test_an_edited_spec_does_not_wait_for_nodes_that_go_on_changing() -> None:
    files = FakeFiles()
    made = ClusterSource(FakeApi({}), files, IDENTITY, lambda: None)
    task = asyncio.ensure_future(made.take())
    for number in range(BURST + 1):
        made._hear("nodes", Known({"m0": node("m0", f"192.0.2.{number + 1}")}, str(number)))
        await asyncio.sleep(0.1)
    for number in range(1, 21):
        spec = {"ingressHa": "Disabled" if number % 2 else "Enabled"}
        made._hear("cr", Known({"cluster": object_named(generation=number) | {"spec": spec}}, str(number)))
        await asyncio.sleep(0.1)
        assert made.cluster.resources[Origin.LIVE]["spec"] == spec
    task.cancel()


def moving(phase: str) -> dict[str, Any]:
    """Return the object with a record of a migration."""
    record = {"phase": phase, "from": ["192.0.2.2"], "to": ["192.0.2.9"]}
    return {**object_named(), "status": {"nodes": [], "migration": record}}


def phase_of(made: ClusterSource, origin: Origin = Origin.LIVE) -> Any:
    return made.cluster.resources[origin]["status"].get("migration", {}).get("phase")


async def test_the_phase_of_a_migration_is_taken_and_kept_on_disk() -> None:
    files = FakeFiles()
    made = source({RESOURCES: [moving("SwitchDNS")]}, files)
    await during(made.follow_resource)
    assert phase_of(made) == "SwitchDNS"
    again = source({RESOURCES: Unavailable("connection refused")}, files)
    await again.read_disk()
    assert phase_of(again, Origin.CACHE) == "SwitchDNS"


async def test_a_spec_that_becomes_invalid_in_a_migration_stops_no_phase_on_disk() -> None:
    """The cache kept the phase before the edit, and nodenetd and nodenet-hosted wrote api-int in turns."""
    files = FakeFiles()
    api = FakeApi({RESOURCES: [moving("Verify")]})
    made = ClusterSource(api, files, IDENTITY, lambda: None)
    await during(made.follow_resource)
    specs = known(made.cluster, OPTIONS, HERE).specs
    disk = OnDisk(files, NoTrial(), OPTIONS)
    for phase, address in (("Verify", "192.0.2.2"), ("SwitchDNS", "192.0.2.9"), ("External", "192.0.2.9")):
        api.lists[RESOURCES] = [moving(phase) | {"spec": {"ingressHa": "perhaps"}}]
        await during(made.follow_resource)
        memory = known(made.cluster, OPTIONS, HERE, specs)
        daemon = await disk.judged_at(HERE)
        restarted = ClusterSource(api, files, IDENTITY, lambda: None)
        await restarted.read_disk()
        await during(restarted.follow_resource)
        for plan_ in (plan(memory.inputs), daemon.plan, plan(known(restarted.cluster, OPTIONS, HERE).inputs)):
            assert (phase, list(map(str, plan_.api_int.addresses))) == (phase, [address])
        assert memory.inputs.spec.ingress_ha is daemon.inputs.spec.ingress_ha is False, "the last good spec"
    bad = moving("Verify") | {"spec": {"ingressHa": "perhaps"}, "status": {"migration": {"phase": "Fast"}}}
    api.lists[RESOURCES] = [bad]
    await during(made.follow_resource)
    assert phase_of(made, Origin.LIVE) == "Fast"
    assert cluster.parse_cached(files.caches["cr"], DOMAIN).document["status"]["migration"]["phase"] == "External"  # type: ignore[index]


async def test_an_object_that_was_made_again_moves_nothing_before_the_operator_has_checked_it() -> None:
    """A restored backup has no status: the record of before stays."""
    files = FakeFiles()
    await during(source({RESOURCES: [moving("External")]}, files).follow_resource)
    made = source({RESOURCES: [object_named()]}, files)
    await made.read_disk()
    await during(made.follow_resource)
    assert phase_of(made) == "External"


async def test_without_an_operator_no_record_is_made() -> None:
    made = source({RESOURCES: [object_named()]})
    await during(made.follow_resource)
    assert phase_of(made) is None
