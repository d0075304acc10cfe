"""List, watch, forget, refuse: one kind of object followed over an API of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from nodenet.core.errors import Forbidden, Postponed, Unavailable
from nodenet.core.hosted_services.nodes import Known, slim_node
from nodenet.hosted.follower import LONGEST_ASKED, LONGEST_SECONDS, Follower, Kind, pause

PATH = "/api/v1/nodes"
KIND = Kind(PATH, slim_node)


def node(name: str, version: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}, "status": {"addresses": []}}


def page(*names: str, version: str = "10", following: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version, "continue": following}, "items": [node(name) for name in names]}


class Script:
    """An API that answers what the script says, one answer after the other; at its end the test is over."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[dict[str, str]] = []
        self.over = asyncio.Event()
        self.provisional = False
        self.connections = 0

    def _next(self) -> Any:
        if not self._answers:
            self.over.set()
            raise Unavailable("the script is over")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[Script]:
        self.connections += 1
        yield self

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        assert path == PATH
        self.asked.append({"verb": "list", **(parameters or {})})
        return self._next()

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:
        assert path == PATH
        self.asked.append({"verb": "watch", **parameters})
        for event in self._next():
            yield event


async def follow(script: Script, kind: Kind = KIND) -> tuple[list[Known], list[str | None]]:
    taken: list[Known] = []
    failed: list[str | None] = []
    task = asyncio.ensure_future(Follower(script, kind, taken.append, failed.append).run())
    over = asyncio.ensure_future(script.over.wait())
    await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    over.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return taken, failed


def added(name: str, version: str) -> dict[str, Any]:
    return {"type": "ADDED", "object": node(name, version)}


async def test_pages_are_listed_and_the_watch_goes_on_from_their_version() -> None:
    script = Script(page("a", following="t"), page("b", version="11"), [added("c", "12")], [added("d", "13")])
    taken, _ = await follow(script)
    assert [sorted(known.objects) for known in taken] == [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]
    assert [asked.get("resourceVersion") for asked in script.asked if asked["verb"] == "watch"] == ["11", "12", "13"]
    assert script.asked[1]["continue"] == "t"


async def test_a_server_that_has_forgotten_the_version_is_listed_again() -> None:
    gone = [{"type": "ERROR", "object": {"code": 410}}]
    script = Script(page("a"), gone, page("b", version="20"), [])
    taken, _ = await follow(script)
    assert [sorted(known.objects) for known in taken] == [["a"], ["b"]]


async def test_a_failure_is_reported_and_passes() -> None:
    script = Script(Unavailable("no answer"), {"strange": 1}, page("a"), [])
    taken, failed = await follow(script)
    assert [sorted(known.objects) for known in taken] == [["a"]]
    assert failed[:3] == ["no answer", "its metadata is not an object", None]


async def test_a_provisional_connection_is_given_up_after_each_watch_and_nothing_is_listed_again() -> None:
    """A watch of the VIP never ended while it was answered, though the server of the kubeconfig was back."""
    script = Script(page("a"), [added("b", "11")], [added("c", "12")], [])
    script.provisional = True
    taken, _ = await follow(script)
    assert [sorted(known.objects) for known in taken] == [["a"], ["a", "b"], ["a", "b", "c"]]
    assert [asked["verb"] for asked in script.asked[:4]] == ["list", "watch", "watch", "watch"]
    assert [asked["resourceVersion"] for asked in script.asked[1:4]] == ["10", "11", "12"]
    assert script.connections >= 3


async def test_the_pause_that_the_api_asks_for_is_kept() -> None:
    script = Script(Postponed("429", seconds=40), page("a"), [])
    began = asyncio.get_running_loop().time()
    await follow(script)
    assert asyncio.get_running_loop().time() - began > 40


@pytest.mark.parametrize("provisional", [False, True])
async def test_after_a_watch_that_failed_everything_is_listed_again(*, provisional: bool) -> None:
    script = Script(page("a"), [], Unavailable("reset"), page("b", version="20"), [])
    script.provisional = provisional
    taken, failed = await follow(script)
    assert [sorted(known.objects) for known in taken] == [["a"], ["b"]]
    assert failed[:3] == [None, "reset", None]


async def test_a_refusal_ends_it() -> None:
    with pytest.raises(Forbidden):
        await follow(Script(Forbidden("403")))


async def test_one_object_is_selected_by_its_name() -> None:
    script = Script(page("a"), [])
    await follow(script, Kind(PATH, slim_node, "a"))
    assert {asked["fieldSelector"] for asked in script.asked} == {"metadata.name=a"}


def test_no_two_nodes_ask_a_lost_server_again_in_one_moment() -> None:
    pauses = {pause(10) for _ in range(50)}
    assert len(pauses) > 10
    assert all(LONGEST_SECONDS / 2 <= one <= LONGEST_SECONDS for one in pauses)


def test_a_pause_that_is_asked_for_is_never_shorter_and_not_endless() -> None:
    assert all(30 <= pause(1, 30) <= 45 for _ in range(50))
    assert len({pause(1, 30) for _ in range(50)}) > 10
    assert LONGEST_ASKED <= pause(1, 1e9) <= 1.5 * LONGEST_ASKED
    assert pause(10, 1) >= LONGEST_SECONDS / 2
