"""The object and its status, by an API of the test's own: made, kept right, and not written without need."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from ipaddress import ip_address

import pytest

from cluster_operator.fake_api import RESOURCE, FakeApi, tasks, well
from nodenet.cluster_operator.steward import (
    BURST,
    LEASES,
    NODES,
    PAUSE_SECONDS,
    REFUSED_SECONDS,
    UNHEARD_SECONDS,
    Steward,
)
from nodenet.core.hosted_cluster.cluster_status import EVENTS, HOLDER_SECONDS
from nodenet.core.hosted_cluster.metrics import STATUSES
from nodenet.core.hosted_services.model import Options
from nodenet.core.hosted_services.report import HostedHealth

API, INGRESS = ip_address("192.0.2.2"), ip_address("192.0.2.3")
OPTIONS = Options("baremetal", "c1.example.com", (API,), (INGRESS,))
SILENT_SECONDS = 75
QUIET = ("Progressing", "Degraded", "Disabled", "VerifyFailed")


class Leader:
    """Whether the steward leads."""

    def __init__(self) -> None:
        self.leads = True


def now() -> datetime:
    """Return the virtual time."""
    return datetime.fromtimestamp(asyncio.get_running_loop().time(), UTC)


@contextlib.asynccontextmanager
async def stewarded(api: FakeApi, options: Options = OPTIONS, leader: Leader | None = None) -> AsyncIterator[None]:
    leading = leader or Leader()
    made = Steward(api, options, lambda: leading.leads, now, lambda _: None)
    async with tasks(made.follow_nodes(), made.follow_resource(), made.read_leases(), made.run()):
        yield


def cluster() -> FakeApi:
    api = FakeApi()
    api.node("m0", well(vips=(API,)))
    api.node("m1", well())
    api.node("w2", well(vips=(INGRESS,)), role="worker")
    return api


def writes(api: FakeApi) -> int:
    return len(api.writes)


async def test_the_object_is_made_and_its_status_is_what_the_nodes_report() -> None:
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        assert api.objects[RESOURCE]["spec"] == {}
        assert (api.status["apiServerInternalIpOwner"], api.status["ingressIpOwner"]) == ("m0", "w2")
        assert api.states == {
            "Available": "True",
            "Progressing": "False",
            "Degraded": "False",
            "Disabled": "False",
            "VerifyFailed": "False",
        }
        assert [one["healthy"] for one in api.status["nodes"]] == ["True"] * 3
        before, asked = writes(api), api.requests
        await asyncio.sleep(600)
        assert writes(api) == before, "an idle cluster is not written to"
        assert api.requests - asked <= 600 / 15 + 2, "and is asked for its Leases alone"


async def test_a_takeover_changes_the_owner() -> None:
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        api.node("m1", well(vips=(API,)))
        await asyncio.sleep(2)
        assert api.status["apiServerInternalIpOwner"] == "m1"
        before = writes(api)
        await asyncio.sleep(55)  # both report it
        assert (api.status["apiServerInternalIpOwner"], writes(api)) == ("m1", before)
        api.node("m0", well())
        await asyncio.sleep(30)
        assert api.status["apiServerInternalIpOwner"] == "m1"


async def test_what_a_status_changes_is_an_event_of_the_object() -> None:
    """`kubectl describe` shows that a VIP has moved; a status without a change of holder makes no Event."""
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        first = len(api.events)
        api.node("m0", well())
        api.node("m1", well(vips=(API,)))
        await asyncio.sleep(60)
        moved, *others = api.events[first:]
        assert others == []
        assert (moved["reason"], moved["type"]) == ("VipMoved", "Normal")
        assert moved["message"] == "m1 holds the API VIP; m0 held it before"
        assert moved["involvedObject"]["uid"] == api.objects[RESOURCE]["metadata"]["uid"]


async def test_an_operator_that_may_make_no_events_writes_the_status() -> None:
    """Its role may be older: the status is right, and the cause is said once."""
    api = cluster()
    api.forbidden = {EVENTS}
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        api.node("m0", well())
        api.node("m1", well(vips=(API,)))
        await asyncio.sleep(60)
        assert api.status["apiServerInternalIpOwner"] == "m1"
        assert api.states["Degraded"] == "False"


async def test_a_node_that_is_silent_is_unknown_and_owns_nothing() -> None:
    api = cluster()
    async with tasks(api.beat("m1", "w2")), stewarded(api):
        async with tasks(api.beat("m0")):
            await asyncio.sleep(30)
            assert api.status["apiServerInternalIpOwner"] == "m0"
        await asyncio.sleep(SILENT_SECONDS + PAUSE_SECONDS)
        assert (api.status["nodes"][0]["healthy"], api.status["apiServerInternalIpOwner"]) == ("Unknown", "")
        assert api.states["Degraded"] == "False"
        await asyncio.sleep(HOLDER_SECONDS + PAUSE_SECONDS)
        assert api.states["Degraded"] == "True"
        assert api.status["conditions"][2]["reason"] == "NoHolder"


async def test_an_operator_that_was_killed_at_any_write_is_continued_by_the_next_one() -> None:
    """Killed before each of its writes, and started again: the end is the same."""
    wanted = cluster()
    async with tasks(wanted.beat("m0", "m1", "w2")), stewarded(wanted):
        await asyncio.sleep(60)
    assert writes(wanted) > 1
    for number in range(1, writes(wanted) + 1):
        api = cluster()
        left = [number]

        def die(path: str, left: list[int] = left) -> None:
            del path
            left[0] -= 1
            if left[0] == 0:
                raise asyncio.CancelledError

        api.before_write = die
        async with tasks(api.beat("m0", "m1", "w2")):
            async with stewarded(api):
                await asyncio.sleep(60)
            async with stewarded(api):
                await asyncio.sleep(60)
        for status in (api.status, wanted.status):
            for one in status["conditions"]:
                one["lastTransitionTime"] = ""
        assert api.status == wanted.status


async def test_a_restart_writes_nothing_and_keeps_silent_nodes_unknown() -> None:
    api = cluster()
    async with tasks(api.beat("m1", "w2")):
        async with tasks(api.beat("m0")), stewarded(api):
            await asyncio.sleep(30)
        async with stewarded(api):
            await asyncio.sleep(SILENT_SECONDS + HOLDER_SECONDS + 3 * PAUSE_SECONDS)
        assert api.states["Degraded"] == "True"
        before = writes(api)
        async with stewarded(api):
            await asyncio.sleep(30)
        assert writes(api) == before
        assert api.status["nodes"][0]["healthy"] == "Unknown"


async def test_one_that_does_not_lead_writes_nothing() -> None:
    api, leader = cluster(), Leader()
    leader.leads = False
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api, leader=leader):
        await asyncio.sleep(60)
        assert api.writes == []


@pytest.mark.parametrize(("workers", "pause"), [(0, PAUSE_SECONDS), (300, 30.0)])
async def test_a_flapping_cluster_is_written_with_pauses(workers: int, pause: float) -> None:
    """Every status has all nodes and reaches all: a large cluster has longer pauses."""
    api = cluster()
    for number in range(workers):
        api.node(f"n{number}", role="worker")
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(120)
        before = writes(api)
        for number in range(60):
            health = HostedHealth.DEGRADED if number % 2 else HostedHealth.OK
            api.node("m1", well(health=health, problems=(f"p{number}",)))
            await asyncio.sleep(10)
        assert BURST < writes(api) - before <= BURST + 600 / pause + 1
        await asyncio.sleep(2 * pause)
        assert "m1: p59" in api.status["conditions"][2]["message"]


async def test_hostile_reports_move_nothing_but_their_own_line() -> None:
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2", "w3", "w4")), stewarded(api):
        await asyncio.sleep(30)
        api.node("w3", well(vips=(API,), split=(API,), api=False, generation=10**18), role="worker")
        api.node("w4", "{" + "x" * 100_000, role="worker")
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert api.status["apiServerInternalIpOwner"] == "m0"
        assert api.states["Available"] == "True"
        assert api.status["conditions"][2]["message"] == (
            "The reports of w4 cannot be read (it is not a text of at most 8192 bytes): update nodenet there"
        )
        assert [one["vips"] for one in api.status["nodes"]] == [["192.0.2.2"], [], ["192.0.2.3"], [], []]


async def test_an_object_that_cannot_be_used_is_a_condition_and_the_last_good_spec_stays() -> None:
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        bad = {**api.objects[RESOURCE], "spec": {"ingressHa": "perhaps"}}
        api.put(RESOURCE, bad)
        for name, vips, role in (
            ("m0", (API,), "control-plane"),
            ("m1", (), "control-plane"),
            ("w2", (INGRESS,), "worker"),
        ):
            api.node(name, well(vips=vips, generation=2), role=role)
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert api.status["conditions"][2]["reason"] == "ResourceInvalid"
        assert api.status["ingressIpOwner"] == "w2"
        api.put(RESOURCE, {**api.objects[RESOURCE], "spec": {}})
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert api.states["Degraded"] == "False"


async def test_an_object_that_was_removed_is_made_again() -> None:
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        api.remove(RESOURCE)
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert api.status["apiServerInternalIpOwner"] == "m0"


async def test_a_platform_with_its_own_services_is_disabled() -> None:
    api = cluster()
    async with tasks(api.beat("m0")), stewarded(api, Options("aws")):
        await asyncio.sleep(30)
        assert api.states == {"Available": "True", "Progressing": "False", "Degraded": "False", "Disabled": "True"}


async def test_an_api_that_is_away_or_refuses_is_asked_again() -> None:
    api = cluster()
    api.forbidden = {RESOURCE.rpartition("/")[0], LEASES, NODES}
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(300)
        assert api.writes == []
        assert api.requests <= 3 * 300 / REFUSED_SECONDS, "it is asked seldom"
        api.forbidden = {LEASES}
        await asyncio.sleep(300)
        assert [what for what, _ in api.writes] == ["create", "merge"]
        assert api.states == {"Degraded": "True"}, "nothing else is known without knowing who is alive"
        assert api.requests <= 3 * 300 / REFUSED_SECONDS + 300 / 15 + 10
        api.forbidden = set()
        await asyncio.sleep(2 * REFUSED_SECONDS + PAUSE_SECONDS)
        assert api.status["apiServerInternalIpOwner"] == "m0"
        api.away = True
        api.break_watches()
        api.node("m1", well(vips=(API,)))
        await asyncio.sleep(300)
        api.away = False
        await asyncio.sleep(120)
        assert api.status["apiServerInternalIpOwner"] == "m1"


@pytest.mark.parametrize("path", [LEASES, NODES])
async def test_nodes_that_are_not_heard_any_more_are_a_condition(path: str) -> None:
    """As after a role was removed: all nodes stayed healthy in the status, and a migration waited without a reason."""
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        api.forbidden = {path}
        api.break_watches()
        await asyncio.sleep(UNHEARD_SECONDS - REFUSED_SECONDS)
        assert api.states["Degraded"] == "False", "a pause of the API is none"
        await asyncio.sleep(3 * REFUSED_SECONDS)
        degraded = api.status["conditions"][2]
        assert degraded["reason"] == "NodesUnheard"
        assert degraded["message"] == (
            f"What is known about the nodes is old: The API refuses {path}. Apply operator.yaml again, and see "
            "`kubectl -n kube-system logs deployment/nodenet-operator`"
        )
        api.forbidden = set()
        await asyncio.sleep(2 * REFUSED_SECONDS + PAUSE_SECONDS)
        assert api.states["Degraded"] == "False"


@pytest.mark.parametrize("path", [LEASES, NODES])
async def test_nodes_that_an_operator_has_never_heard_are_a_condition(path: str) -> None:
    """As after an upgrade of the image alone: its roles are older, and the status of before stayed as it was."""
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")):
        async with stewarded(api):
            await asyncio.sleep(30)
        before = api.status
        api.forbidden = {path}
        async with stewarded(api):
            await asyncio.sleep(UNHEARD_SECONDS + 2 * REFUSED_SECONDS)
            assert api.states == {**{one["type"]: one["status"] for one in before["conditions"]}, "Degraded": "True"}
            degraded = next(one for one in api.status["conditions"] if one["type"] == "Degraded")
            assert degraded["reason"] == "NodesUnheard"
            assert f"The API refuses {path}" in degraded["message"]
            assert {**api.status, "conditions": []} == {**before, "conditions": []}, "nodes read their peers there"
            written = writes(api)
            await asyncio.sleep(600)
            assert writes(api) == written
            api.forbidden = set()
            await asyncio.sleep(2 * REFUSED_SECONDS + PAUSE_SECONDS)
            assert api.states["Degraded"] == "False"


async def test_an_api_that_was_away_for_long_is_no_condition_when_it_is_back() -> None:
    api, seen = cluster(), set()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        api.away = True
        api.break_watches()
        await asyncio.sleep(10 * UNHEARD_SECONDS)
        api.away = False
        for _ in range(100):
            await asyncio.sleep(1)
            seen.add(api.status["conditions"][2]["reason"])
    assert seen == {"AsExpected"}


async def test_a_status_that_another_program_wrote_is_put_right() -> None:
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        await asyncio.sleep(30)
        wrong = {**api.objects[RESOURCE], "status": {**api.status, "apiServerInternalIpOwner": "w2", "nodes": []}}
        api.put(RESOURCE, wrong)
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert api.status["apiServerInternalIpOwner"] == "m0"
        assert len(api.status["nodes"]) == 3


async def test_of_five_hundred_nodes_those_whose_leases_have_expired_are_unknown() -> None:
    """In one status, and with one request for all Leases each time."""
    api = FakeApi()
    names = [f"n{number}" for number in range(500)]
    for name in names:
        api.node(name, well(), role="worker")
    alive, silent = names[:300], names[300:]
    async with tasks(api.beat(*alive)), stewarded(api):
        async with tasks(api.beat(*silent)):
            await asyncio.sleep(30)
            assert {one["healthy"] for one in api.status["nodes"]} == {"True"}
        before, asked = writes(api), api.requests
        await asyncio.sleep(SILENT_SECONDS + PAUSE_SECONDS)
        assert [one["name"] for one in api.status["nodes"] if one["healthy"] == "Unknown"] == sorted(silent)
        assert (writes(api) - before, api.requests - asked) <= (2, 12)


async def test_an_object_from_an_old_backup_is_followed_and_its_status_is_not_believed() -> None:
    """It has a smaller generation, the nodes of that time, and an owner that is gone."""
    api = cluster()
    async with tasks(api.beat("m0", "m1", "w2")), stewarded(api):
        api.put(RESOURCE, {"metadata": {"name": "cluster"}, "spec": {"ingressHa": "Disabled"}})
        api.put(RESOURCE, {**api.objects[RESOURCE], "spec": {}})
        for name, vips, role in (("m0", (API,), "control-plane"), ("m1", (), "control-plane"), ("w2", (), "worker")):
            api.node(name, well(vips=vips, generation=2), role=role)
        await asyncio.sleep(30)
        assert api.states["Progressing"] == "False"
        old = {"apiServerInternalIpOwner": "m7", "nodes": [{"name": "m7", "healthy": "True"}], "observedGeneration": 9}
        api.remove(RESOURCE)
        api.put(RESOURCE, {"metadata": {"name": "cluster"}, "spec": {}, "status": old})
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert api.status["apiServerInternalIpOwner"] == "m0"
        assert [one["name"] for one in api.status["nodes"]] == ["m0", "m1", "w2"]
        assert api.status["observedGeneration"] == 1
        assert api.status["conditions"][1]["reason"] == "RollingOut", "nodes report the generation of before"


async def test_what_fails_and_what_is_written_is_counted() -> None:
    api = cluster()
    made = Steward(api, OPTIONS, lambda: True, now, lambda _: None)
    api.away = True
    works = (made.follow_nodes(), made.follow_resource(), made.read_leases(), made.run())
    async with tasks(api.beat("m0", "m1", "w2"), *works):
        await asyncio.sleep(30)
        assert made.figures.failures > 1
        api.away = False
        await asyncio.sleep(120)
    lines = list(made.figures.statuses.lines(STATUSES, "cluster"))
    assert lines[-1] == f'nodenet_operator_status_seconds_count{{object="cluster"}} {writes(api)}'
    assert made.status["apiServerInternalIpOwner"] == "m0"
