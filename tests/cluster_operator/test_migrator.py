"""A migration from the edit to its end: operators, the API and nodes that fail in each phase, on virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest
from structlog.testing import capture_logs

from cluster_operator.fake_api import RESOURCE, FakeApi, tasks, well
from cluster_operator.test_steward import API, INGRESS, OPTIONS, SILENT_SECONDS, stewarded
from nodenet.core.hosted_cluster.migration_steps import RETRY_SECONDS, WAIT_SECONDS
from nodenet.core.hosted_cluster.node_report import NodeReport
from nodenet.core.hosted_services import migration as record
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Mode
from nodenet.core.hosted_services.report import HostedHealth
from nodenet.core.messages import Message
from nodenet.hosted.follower import LONGEST_SECONDS

LB = "192.0.2.9"
DRAIN_SECONDS = 20
QUICK = replace(OPTIONS, drain_seconds=DRAIN_SECONDS)
THERE = ["Verify", "SwitchDNS", "RedirectOff", "DrainHaproxy", "External"]
BACK = ["StartHaproxy", "VerifyVIP", "SwitchDNS", "DrainExternal", "SelfHosted"]


class Nodes:
    """Three control-plane nodes that follow the record a second later, and the phases that they have seen."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.phases: list[str] = []
        self.times: list[float] = []
        self.parts: dict[str, dict[str, Any]] = {}
        """Phase → what m1 reports in it."""
        self.off: set[str] = set()

    async def run(self) -> None:
        last: Migration | None = None
        while True:
            await asyncio.sleep(1)
            if self.api.away or (found := record.parse(self.api.objects.get(RESOURCE, {}))) is None or found == last:
                continue
            if last is None or (found.phase, found.attempt) != (last.phase, last.attempt):
                self.phases.append(found.phase.value)
                self.times.append(asyncio.get_running_loop().time())
            last = found
            for name in {"m0", "m1", "m2"} - self.off:
                self.api.node(
                    name, well(vips=(API, INGRESS) if name == "m0" else (), migration=self._part(found, name))
                )

    def _part(self, found: Migration, name: str) -> Progress | None:
        if found.at_rest:
            return None
        changed = self.parts.get(found.phase.value, {}) if name == "m1" else {}
        return Progress(found.attempt, found.phase, **{"ready": True, **changed})


@contextlib.asynccontextmanager
async def cluster() -> AsyncIterator[Nodes]:
    """A cluster without an operator, its nodes alive."""
    api = FakeApi()
    nodes = Nodes(api)
    for name in ("m0", "m1", "m2"):
        api.node(name, well(vips=(API, INGRESS) if name == "m0" else ()))
    api.put(RESOURCE, {"metadata": {"name": "cluster"}, **KIND, "spec": {}})
    async with tasks(nodes.run(), beats(nodes)):
        yield nodes


KIND = {"apiVersion": "clusterhostednetservices.operator.io/v1alpha1", "kind": "HostedNetServices"}


async def beats(nodes: Nodes) -> None:
    while True:
        for name in {"m0", "m1", "m2"} - nodes.off:
            async with tasks(nodes.api.beat(name)):
                await asyncio.sleep(0.01)
        await asyncio.sleep(10)


def edit(api: FakeApi, address: str = "") -> None:
    api.put(RESOURCE, {**api.objects[RESOURCE], "spec": {"apiintIpAddress": address} if address else {}})


def found(api: FakeApi) -> dict[str, Any]:
    return dict(api.status["migration"])


def at_balancer(api: FakeApi) -> NodeReport:
    """Return the report of a node that follows the present object and has ``api-int`` at the load balancer."""
    metadata = api.objects[RESOURCE]["metadata"]
    report = well(generation=metadata["generation"], uid=metadata["uid"], api_int=(ip_address(LB),))
    return replace(report, mode=Mode.EXTERNAL)


def ends(api: FakeApi) -> tuple[str, list[str], str]:
    return found(api)["phase"], found(api)["to"], found(api)["outcome"]


async def test_there_and_back() -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await asyncio.sleep(30)
        assert nodes.phases == ["SelfHosted"]
        edit(nodes.api, LB)
        await asyncio.sleep(10)
        assert nodes.api.states["Progressing"] == "True"
        assert nodes.api.status["conditions"][1]["reason"] == "DrainHaproxy"
        await asyncio.sleep(DRAIN_SECONDS + 10)
        assert nodes.phases[1:] == THERE
        drained = nodes.times[5] - nodes.times[4]
        assert DRAIN_SECONDS - 1 <= drained <= DRAIN_SECONDS + 4
        assert nodes.times[4] - nodes.times[1] < 10, "no phase waits for a budget"
        assert ends(nodes.api) == ("External", [LB], "Completed")
        assert nodes.api.status["conditions"][0]["message"] == "The API answers at its external load balancer"
        edit(nodes.api)
        await asyncio.sleep(DRAIN_SECONDS + 20)
        assert nodes.phases[6:] == BACK
        assert ends(nodes.api) == ("SelfHosted", [str(API)], "Completed")
        writes = len(nodes.api.writes)
        await asyncio.sleep(600)
        assert len(nodes.api.writes) <= writes + 1, "at rest nothing is written"


async def test_a_cluster_that_flaps_delays_no_phase_and_no_phase_delays_a_report() -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await asyncio.sleep(30)
        for number in range(20):
            nodes.api.node("m2", well(health=HostedHealth.DEGRADED, problems=(f"p{number}",)))
            await asyncio.sleep(1)
        edit(nodes.api, LB)
        while nodes.phases[-1] != "Verify":
            await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        while nodes.phases[-1] != "DrainHaproxy":
            await asyncio.sleep(1)
        assert asyncio.get_running_loop().time() - began < 10
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await asyncio.sleep(300)
        edit(nodes.api, LB)
        await asyncio.sleep(DRAIN_SECONDS + 20)
        assert nodes.phases[-1] == "External"
        nodes.api.node("m2", well(health=HostedHealth.DEGRADED, problems=("late",)))
        await asyncio.sleep(2)
        assert nodes.api.states["Degraded"] == "True"


async def test_a_failed_verification_is_a_condition_and_is_tried_again() -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await asyncio.sleep(30)
        nodes.parts["Verify"] = {"ready": False, "problem": f"{LB}: status 500"}
        with capture_logs() as logs:
            edit(nodes.api, LB)
            await asyncio.sleep(30)
        assert ends(nodes.api) == ("SelfHosted", [str(API)], "VerifyFailed")
        assert nodes.api.states["VerifyFailed"] == "True"
        assert f"m1: {LB}: status 500" in nodes.api.status["conditions"][4]["message"]
        assert [one["message"] for one in logs].count(Message.MIGRATION_FAILED) == 1
        nodes.parts = {}
        await asyncio.sleep(RETRY_SECONDS + DRAIN_SECONDS + 60)
        assert ends(nodes.api) == ("External", [LB], "Completed")
        assert nodes.api.states["VerifyFailed"] == "False"


WAYS = [*((LB, phase) for phase in THERE[:-1]), *(("", phase) for phase in BACK[:-1])]
"""The address that is asked for, and a phase on the way there."""


async def begun(nodes: Nodes, address: str, phase: str, **part: Any) -> None:
    """Return when a migration to *address* is in *phase*, of which m1 reports *part*."""
    await asyncio.sleep(30)
    if not address:
        edit(nodes.api, LB)
        await asyncio.sleep(DRAIN_SECONDS + 30)
    if part:
        nodes.parts[phase] = part
    edit(nodes.api, address)
    before = len(nodes.phases)
    while phase not in nodes.phases[before:]:
        await asyncio.sleep(0.05)


def assert_completed(nodes: Nodes, address: str) -> None:
    """The last migration has gone through all its phases."""
    phases = THERE if address else BACK
    assert nodes.phases[-len(phases) :] == phases
    assert ends(nodes.api) == (phases[-1], [address or str(API)], "Completed")


@pytest.mark.parametrize(("address", "phase"), WAYS)
async def test_an_operator_that_is_killed_in_a_phase_is_continued_by_the_next_one(address: str, phase: str) -> None:
    async with cluster() as nodes:
        async with stewarded(nodes.api, QUICK):
            await begun(nodes, address, phase)
        await asyncio.sleep(600)
        assert nodes.phases[-1] == phase, "nodes wait in the phase, where both load balancers serve"
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(DRAIN_SECONDS + 60)
        assert_completed(nodes, address)


async def until_phase(nodes: Nodes, phase: str) -> None:
    """Begin a migration, and kill its operator in *phase*."""
    async with stewarded(nodes.api, QUICK):
        await begun(nodes, LB, phase)


@pytest.mark.parametrize(("address", "phase"), WAYS)
async def test_an_api_that_is_away_in_a_phase(address: str, phase: str) -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await begun(nodes, address, phase, ready=False)
        nodes.api.away = True
        nodes.api.break_watches()
        await asyncio.sleep(2 * WAIT_SECONDS)
        nodes.parts = {}
        nodes.api.away = False
        nodes.api.node("m1", well(migration=Progress(found(nodes.api)["attempt"], Phase(phase), ready=True)))
        await asyncio.sleep(180 + DRAIN_SECONDS)
        assert_completed(nodes, address)


@pytest.mark.parametrize(("address", "phase"), WAYS)
async def test_a_node_that_goes_off_in_a_phase_and_comes_back_after_it(address: str, phase: str) -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await begun(nodes, address, phase, ready=False)
        nodes.off = {"m1"}
        await asyncio.sleep(SILENT_SECONDS + DRAIN_SECONDS + 60)
        assert_completed(nodes, address)
        assert [one["healthy"] for one in nodes.api.status["nodes"]] == ["True", "Unknown", "True"]
        record = found(nodes.api)
        old = Progress(record["attempt"], Phase(phase), lost=True, problem="what it reported last")
        nodes.api.node("m1", well(generation=2, migration=old))
        nodes.off = set()
        await asyncio.sleep(60)
        assert [one["healthy"] for one in nodes.api.status["nodes"]] == ["True"] * 3
        assert found(nodes.api) == record, "what it reports of a phase that has ended moves nothing"


@pytest.mark.parametrize("phase", ["Verify", "SwitchDNS"])
async def test_a_node_that_hears_of_the_phase_a_minute_after_the_operator_ends_no_migration(phase: str) -> None:
    """As after an API that was away for some minutes: each node asks again after a minute at most."""
    async with cluster() as nodes:
        async with stewarded(nodes.api, QUICK):
            await begun(nodes, LB, phase, ready=False)
        await asyncio.sleep(2 * WAIT_SECONDS)
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(LONGEST_SECONDS + 5)
            nodes.parts = {}
            part = Progress(found(nodes.api)["attempt"], Phase(phase), ready=True)
            nodes.api.node("m1", well(migration=part))
            await asyncio.sleep(DRAIN_SECONDS + 60)
            assert_completed(nodes, LB)


@pytest.mark.parametrize("phase", ["Verify", "SwitchDNS"])
async def test_a_node_that_died_while_no_operator_ran_ends_no_migration(phase: str) -> None:
    """As in a power cut of the site after which one node does not come back: the next operator took it for alive."""
    async with cluster() as nodes:
        async with stewarded(nodes.api, QUICK):
            await begun(nodes, LB, phase, ready=False)
        nodes.off = {"m1"}
        await asyncio.sleep(2 * WAIT_SECONDS)
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(DRAIN_SECONDS + 120)
            assert_completed(nodes, LB)


@pytest.mark.parametrize(("address", "phase"), WAYS)
async def test_an_object_that_is_edited_back_in_a_phase_ends_where_it_began(address: str, phase: str) -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await begun(nodes, address, phase, ready=False)
        nodes.parts = {}
        switched = phase not in ("Verify", "StartHaproxy", "VerifyVIP")
        edit(nodes.api, "" if address else LB)
        await asyncio.sleep(2 * DRAIN_SECONDS + 60)
        at = ("SelfHosted", [str(API)]) if address else ("External", [LB])
        assert ends(nodes.api) == (*at, "Completed" if switched else "Aborted")


async def test_two_operators_that_both_lead_make_one_migration() -> None:
    """As while one of them was frozen: each write is refused where the other one was first."""
    async with cluster() as nodes, stewarded(nodes.api, QUICK), stewarded(nodes.api, QUICK):
        await begun(nodes, LB, "Verify")
        await asyncio.sleep(DRAIN_SECONDS + 60)
        assert_completed(nodes, LB)
        assert nodes.phases == ["SelfHosted", *THERE]
        assert found(nodes.api)["attempt"] == 1


@pytest.mark.parametrize("phase", THERE[:-1])
async def test_a_database_that_was_restored_from_a_backup_of_a_migration_continues_it(phase: str) -> None:
    """Spec and status are those of the phase, with a deadline that is long over; the API had moved back since."""
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await begun(nodes, LB, phase)
        old = nodes.api.objects[RESOURCE]
        await asyncio.sleep(DRAIN_SECONDS + 60)
        edit(nodes.api)
        await asyncio.sleep(DRAIN_SECONDS + 60)
        assert_completed(nodes, "")
        nodes.api.put(RESOURCE, old)
        await asyncio.sleep(DRAIN_SECONDS + 120)
        assert ends(nodes.api) == ("External", [LB], "Completed")


@pytest.mark.parametrize("phase", ["SwitchDNS", "DrainHaproxy"])
async def test_a_deadline_of_a_clock_that_was_ahead_holds_no_phase(phase: str) -> None:
    async with cluster() as nodes:
        await until_phase(nodes, phase)
        nodes.parts["SwitchDNS"] = {"ready": False}
        status = nodes.api.objects[RESOURCE]["status"]
        later = {**status["migration"], "deadline": "9999-12-31T23:59:59Z"}
        nodes.api.put(RESOURCE, {**nodes.api.objects[RESOURCE], "status": {**status, "migration": later}})
        await asyncio.sleep(2)
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(WAIT_SECONDS - 10 if phase == "SwitchDNS" else DRAIN_SECONDS - 5)
            assert found(nodes.api)["phase"] == phase, "not before its time"
            await asyncio.sleep(60)
    assert found(nodes.api)["outcome"] == ("RolledBack" if phase == "SwitchDNS" else "Completed")


async def test_a_load_balancer_that_dies_before_the_drain_ends() -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await asyncio.sleep(30)
        nodes.parts["DrainHaproxy"] = {
            "ready": False,
            "lost": True,
            "problem": f"the API does not answer at {LB} any more",
        }
        edit(nodes.api, LB)
        await asyncio.sleep(30)
        assert ends(nodes.api) == ("SelfHosted", [str(API)], "RolledBack")
        await asyncio.sleep(2 * RETRY_SECONDS)
        assert nodes.phases[1:] == [*THERE[:-1], "SelfHosted"], "it waits for an edit"
        nodes.parts = {}
        edit(nodes.api, "192.0.2.8")
        await asyncio.sleep(DRAIN_SECONDS + 30)
        assert ends(nodes.api) == ("External", ["192.0.2.8"], "Completed")


async def test_a_phase_that_no_node_reports_ends_in_time() -> None:
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await asyncio.sleep(30)
        nodes.parts["SwitchDNS"] = {"ready": False, "problem": "DNS of this node answers nothing for api-int"}
        edit(nodes.api, LB)
        await asyncio.sleep(WAIT_SECONDS - 10)
        assert found(nodes.api)["phase"] == "SwitchDNS"
        assert found(nodes.api)["message"].endswith("Waiting for m1")
        await asyncio.sleep(30)
        assert ends(nodes.api) == ("SelfHosted", [str(API)], "RolledBack")


async def test_a_record_that_cannot_be_read_is_made_again_by_what_the_nodes_do() -> None:
    async with cluster() as nodes:
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(30)
            edit(nodes.api, LB)
            await asyncio.sleep(DRAIN_SECONDS + 20)
        for name in ("m0", "m1", "m2"):
            nodes.api.node(name, at_balancer(nodes.api))
        broken = {**nodes.api.objects[RESOURCE]["status"], "migration": {"phase": "Fast"}}
        nodes.api.put(RESOURCE, {**nodes.api.objects[RESOURCE], "status": broken})
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(60)
        assert ends(nodes.api) == ("External", [LB], "")


@pytest.mark.parametrize(("address", "phase"), WAYS)
async def test_an_object_that_was_deleted_comes_back_with_its_spec_and_its_phase(address: str, phase: str) -> None:
    """`kubectl delete`, or a GitOps prune: the spec was lost, and all nodes went to the VIP without a check."""
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await begun(nodes, address, phase)
        before = nodes.api.objects[RESOURCE]["spec"]
        nodes.api.remove(RESOURCE)
        await asyncio.sleep(DRAIN_SECONDS + 60)
        assert nodes.api.objects[RESOURCE]["spec"] == before
        assert_completed(nodes, address)


async def test_an_address_in_an_object_that_is_made_again_at_once_is_verified() -> None:
    """As by `kubectl replace --force`: the nodes still report the external load balancer of before."""
    async with cluster() as nodes, stewarded(nodes.api, QUICK):
        await asyncio.sleep(30)
        edit(nodes.api, LB)
        await asyncio.sleep(DRAIN_SECONDS + 20)
        for name in ("m0", "m1", "m2"):
            nodes.api.node(name, replace(well(), mode=Mode.EXTERNAL))
        nodes.parts["Verify"] = {"ready": False, "problem": "192.0.2.8: no answer in 3 s"}
        nodes.phases = []
        nodes.api.remove(RESOURCE)
        nodes.api.put(RESOURCE, {"metadata": {"name": "cluster"}, **KIND, "spec": {"apiintIpAddress": "192.0.2.8"}})
        await asyncio.sleep(60)
        assert nodes.phases == ["Verify", "External"]
        assert ends(nodes.api) == ("External", [LB], "VerifyFailed")


async def test_an_address_in_an_object_that_was_made_again_while_no_operator_ran_is_verified() -> None:
    """The nodes did not see the deletion, and have the load balancer of before."""
    async with cluster() as nodes:
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(30)
            edit(nodes.api, LB)
            await asyncio.sleep(DRAIN_SECONDS + 20)
        for name in ("m0", "m1", "m2"):
            nodes.api.node(name, replace(at_balancer(nodes.api), generation=1))
        nodes.api.remove(RESOURCE)
        nodes.api.put(RESOURCE, {"metadata": {"name": "cluster"}, **KIND, "spec": {"apiintIpAddress": "192.0.2.8"}})
        nodes.parts["Verify"] = {"ready": False, "problem": "192.0.2.8: no answer in 3 s"}
        nodes.phases = []
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(30)
            assert nodes.api.status["migration"] is None, "reports about the object of before say nothing yet"
            for name in ("m0", "m1", "m2"):
                nodes.api.node(name, at_balancer(nodes.api))
            await asyncio.sleep(60)
        assert nodes.phases[-2:] == ["Verify", "External"]
        assert ends(nodes.api) == ("External", [LB], "VerifyFailed")


@pytest.mark.parametrize(("address", "phase"), WAYS)
async def test_settings_without_vips_keep_the_phase_and_correct_ones_continue_it(address: str, phase: str) -> None:
    """The record was removed, and nodes in the middle of a migration had none to follow."""
    async with cluster() as nodes:
        async with stewarded(nodes.api, QUICK):
            await begun(nodes, address, phase)
        before = found(nodes.api)
        async with stewarded(nodes.api, replace(QUICK, api_vips=())):
            await asyncio.sleep(600)
            assert found(nodes.api) == before
            degraded = next(one for one in nodes.api.status["conditions"] if one["type"] == "Degraded")
            assert (degraded["status"], degraded["reason"]) == ("True", "MigrationWaits")
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(DRAIN_SECONDS + 60)
        assert_completed(nodes, address)
        assert "MigrationWaits" not in [one["reason"] for one in nodes.api.status["conditions"]]


async def test_an_object_that_is_not_valid_moves_nothing() -> None:
    """Neither in an operator that has just begun, nor in the middle of a migration."""
    async with cluster() as nodes:
        await until_phase(nodes, "SwitchDNS")
        bad = {"apiintIpAddress": "everywhere"}
        nodes.api.put(RESOURCE, {**nodes.api.objects[RESOURCE], "spec": bad})
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(DRAIN_SECONDS + 60)
            assert ends(nodes.api) == ("External", [LB], "Completed")
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(60)
            assert ends(nodes.api) == ("External", [LB], "Completed")
            assert nodes.api.status["conditions"][2]["reason"] == "ResourceInvalid"
