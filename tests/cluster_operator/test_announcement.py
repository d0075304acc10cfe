"""The ClusterOperator: written where the kind exists, and where it does not, asked for seldom."""

from __future__ import annotations

import asyncio
from typing import Any

from cluster_operator.fake_api import FakeApi, tasks
from nodenet.cluster_operator.process import LOOK_SECONDS, PAUSE_SECONDS, Announcement
from nodenet.core.hosted_cluster.cluster_status import OPERATOR, PATH

PLACE = f"{PATH}/{OPERATOR}"


def condition(status: str) -> dict[str, Any]:
    given = {"reason": "R", "message": "M", "lastTransitionTime": "T", "observedGeneration": 1}
    return {"type": "Available", "status": status, **given}


async def test_it_is_made_follows_the_conditions_and_is_put_right() -> None:
    api = FakeApi()
    made = Announcement(api, "1.0", lambda: True)
    async with tasks(made.run()):
        await asyncio.sleep(60)
        assert api.requests == 0, "nothing is known yet"
        made.take([condition("Unknown")])
        await asyncio.sleep(1)
        assert [one["status"] for one in api.objects[PLACE]["status"]["conditions"]] == ["Unknown"]
        for _ in range(100):
            made.take([condition("True")])
            await asyncio.sleep(1)
        assert [one["status"] for one in api.objects[PLACE]["status"]["conditions"]] == ["True"]
        assert len(api.writes) == 3, "the object, and each status once"
        api.put(PLACE, {**api.objects[PLACE], "status": {}})
        await asyncio.sleep(LOOK_SECONDS + PAUSE_SECONDS)
        assert api.objects[PLACE]["status"]["versions"] == [{"name": "operator", "version": "1.0"}]


async def test_another_cluster_is_asked_seldom_and_one_that_does_not_lead_writes_nothing() -> None:
    api = FakeApi()
    api.forbidden = {PATH}
    made = Announcement(api, "1.0", lambda: True)
    async with tasks(made.run()):
        for number in range(60):
            made.take([condition(str(number))])
            await asyncio.sleep(60)
        assert api.requests <= 3600 / LOOK_SECONDS + 1
    other = FakeApi()
    second = Announcement(other, "1.0", lambda: False)
    async with tasks(second.run()):
        second.take([condition("True")])
        await asyncio.sleep(60)
    assert other.writes == []


async def test_a_conflict_and_a_silence_pass() -> None:
    api = FakeApi()
    made = Announcement(api, "1.0", lambda: True)
    async with tasks(made.run()):
        api.away = True
        made.take([condition("True")])
        await asyncio.sleep(3 * PAUSE_SECONDS)
        api.away = False

        def between(path: str) -> None:
            if path.endswith("/status"):
                api.before_write = lambda _: None
                api.put(PLACE, {**api.objects[PLACE], "status": {"conditions": []}})

        api.before_write = between
        await asyncio.sleep(3 * PAUSE_SECONDS)
        assert [one["status"] for one in api.objects[PLACE]["status"]["conditions"]] == ["True"]
