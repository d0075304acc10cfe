"""An API whose kind HostedNetServices is older than the operator: it drops fields of the status without an error."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from cluster_operator.fake_api import RESOURCE, well
from cluster_operator.test_migrator import LB, QUICK, THERE, cluster, edit, ends
from cluster_operator.test_steward import API, INGRESS, stewarded
from nodenet.cluster_operator.steward import AGAIN_SECONDS, Kept
from nodenet.core.messages import Message


def without_migration(status: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in status.items() if key != "migration"}


def without_vips(status: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in (status.get("migration") or {}).items() if key != "apiVips"}
    return {**status, **({"migration": kept} if kept else {})}


@pytest.mark.parametrize(
    ("kind", "lost"),
    [(without_migration, "status.migration"), (without_vips, "status.migration.apiVips")],
    ids=["no migration", "an older migration"],
)
async def test_an_operator_whose_record_is_dropped_says_so_once_and_begins_no_migration(kind: Any, lost: str) -> None:
    cause = (
        f"The API does not keep {lost}: its kind HostedNetServices is older than nodenet-operator, which begins no "
        "migration"
    )
    remedy = "Apply crd-hostednetservices.yaml of the same version as nodenet-operator"
    async with cluster() as nodes:
        nodes.api.dropped = kind
        with capture_logs() as logs:
            async with stewarded(nodes.api, QUICK):
                await asyncio.sleep(30)
                edit(nodes.api, LB)
                for name in ("m0", "m1", "m2"):
                    nodes.api.node(name, well(vips=(API, INGRESS) if name == "m0" else (), generation=2))
                await asyncio.sleep(300)
                assert set(nodes.phases) <= {"SelfHosted"}
                degraded = next(one for one in nodes.api.status["conditions"] if one["type"] == "Degraded")
                assert (degraded["status"], degraded["reason"]) == ("True", "KindOutdated")
                assert degraded["message"].startswith(f"{cause}. {remedy}")
                writes = len(nodes.api.writes)
                await asyncio.sleep(600)
                assert len(nodes.api.writes) - writes <= 600 / AGAIN_SECONDS
                nodes.api.dropped = lambda status: status  # the kind was updated
                await asyncio.sleep(AGAIN_SECONDS + 60 + QUICK.drain_seconds)
                assert nodes.api.states["Degraded"] == "False"
                assert nodes.phases[-len(THERE) :] == THERE
                assert ends(nodes.api) == ("External", [LB], "Completed")
        said = [one for one in logs if one["message"] == Message.KIND_OUTDATED]
        assert [(one["event"], one["remedy"]) for one in said] == [(cause, remedy)]


async def test_a_first_phase_is_written_only_where_the_api_keeps_the_whole_record() -> None:
    """An edit that came while no operator ran, and a record of an older operator: it is written whole first."""
    async with cluster() as nodes:
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(30)
        found = nodes.api.objects[RESOURCE]
        nodes.api.dropped = without_vips
        edit(nodes.api, LB)
        nodes.api.put(RESOURCE, {**nodes.api.objects[RESOURCE], "status": without_vips(found["status"])})
        async with stewarded(nodes.api, QUICK):
            await asyncio.sleep(120)
            assert set(nodes.phases) == {"SelfHosted"}


def test_what_was_kept_is_compared_again() -> None:
    kept = Kept()
    written = {"migration": {"phase": "SelfHosted", "apiVips": []}}
    assert not kept.read_back(written, {"status": written}, 0)
    assert kept.skipped(1) == ()
    assert kept.read_back(written, {"status": {}}, 10)
    assert not kept.read_back(written, {"status": {}}, 20)
    assert (kept.lost, kept.skipped(20), kept.skipped(20 + AGAIN_SECONDS)) == (
        ("status.migration",),
        ("migration",),
        (),
    )
    assert not kept.read_back({"migration": None}, {"status": {}}, 30)
    assert "status.migration" in kept.lost, "a status without a record shows nothing"
    assert kept.read_back(written, {"status": written}, 90)
    assert (kept.lost, kept.skipped(91)) == ((), ())
    assert not kept.read_back({"migration": None}, {}, 100), "a cluster without hosted services has no record"
