"""Verdicts about this node's services: the end of haproxy, and what is asked where an external balancer is used."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from hosted.rig import state
from nodenet.core.hosted_services.haproxy import BY_WIRE
from nodenet.core.hosted_services.health import Answer, Distrust, Result, Target, Verdict
from nodenet.core.hosted_services.keepalived import PRIORITIES
from nodenet.core.hosted_services.model import Purpose, Role, Service
from nodenet.core.hosted_services.vips import BALANCER_WEIGHT, OUT
from nodenet.core.messages import Message
from nodenet.hosted.checks import (
    ALIVE,
    API_SERVER,
    DISBELIEF,
    DISBELIEF_SECONDS,
    HUNG,
    HUNG_CHECKS,
    HUNG_REMEDY,
    SERVER_SECONDS,
    HealthChecks,
)
from nodenet.hosted.state import State

UP = Verdict(healthy=True, good=3)


class FakeChecks:
    """Servers that all give one answer."""

    def __init__(self, answer: Answer = Answer.GOOD) -> None:
        self.answer = answer
        self.result: Result | None = None
        self.asked: list[Target] = []

    async def check(self, target: Target, seconds: float) -> Result:
        assert seconds > 0
        self.asked.append(target)
        return self.result or Result(self.answer, 200 if self.answer is Answer.GOOD else None)


class FakeProcesses:
    """The processes of haproxy; *end* ends some of them."""

    def __init__(self, *pids: int) -> None:
        self.found = dict.fromkeys(pids, "haproxy")
        self._ended = asyncio.Event()

    def now(self) -> Mapping[int, str]:
        return dict(self.found)

    async def any_ends(self, processes: Collection[int], seconds: float) -> frozenset[int]:
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return frozenset()
        self._ended.clear()
        return frozenset(processes) - self.found.keys()

    def end(self, *pids: int) -> None:
        for pid in pids:
            del self.found[pid]
        self._ended.set()


async def after_the_end_of(*pids: int) -> State:
    """Return the state after some processes of a healthy haproxy, a master and its worker, have ended."""
    made, processes = state(), FakeProcesses(10, 11)
    made.verdicts |= {Service.REDIRECT: UP, ALIVE: UP}
    task = asyncio.create_task(HealthChecks(made, FakeChecks(), processes, lambda: None).watch_haproxy())
    await asyncio.sleep(1)
    processes.end(*pids)
    await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    task.cancel()
    return made


async def test_the_end_of_haproxy_ends_the_redirect_at_once_and_moves_no_vip() -> None:
    made = await after_the_end_of(10, 11)
    assert not made.verdicts[Service.REDIRECT].healthy
    assert made.verdicts[ALIVE].healthy
    assert made.wake.is_set()


async def test_the_end_of_an_old_worker_after_a_reload_is_no_end() -> None:
    assert (await after_the_end_of(11)).verdicts[Service.REDIRECT].healthy


async def seen_of_the_api(case: str, answer: Answer) -> tuple[State, FakeChecks]:
    made, checks = state(case), FakeChecks(answer)
    task = asyncio.create_task(HealthChecks(made, checks, FakeProcesses(), lambda: None).watch_vip())
    await asyncio.sleep(35)
    task.cancel()
    return made, checks


async def test_an_external_load_balancer_is_asked_and_named_when_it_is_dead() -> None:
    made, checks = await seen_of_the_api("api-int-is-external", Answer.DEAD)
    address = str(made.plan.api_int.addresses[0])
    assert {(target.host, target.ca_file) for target in checks.asked} == {(address, made.options.ca_file)}
    assert made.reachable is False
    assert made.report().all_problems == (
        f"The API does not answer at the external load balancer {address}: see to the load balancer",
    )


async def test_the_api_through_the_vip_is_asked_where_the_cluster_balances_it() -> None:
    made, checks = await seen_of_the_api("control-plane", Answer.GOOD)
    assert {target.host for target in checks.asked} == {str(made.plan.api_int.addresses[0])}
    assert {target.mark for target in checks.asked} == {BY_WIRE}, "not by this node's own redirect"
    assert made.reachable is True


@pytest.mark.parametrize(
    ("weight", "healthy"), [(25, [20, 5]), (20, [20]), (5, [5]), (0, []), (OUT, []), (1 - PRIORITIES[Purpose.API], [])]
)
async def test_a_companion_that_comes_back_keeps_the_weight_until_its_checks_say_otherwise(
    weight: int, healthy: list[int]
) -> None:
    """It began with nothing healthy: a holder lost 25 for seconds, and the VIP with it."""
    made, servers = state(), FakeChecks()
    checks = HealthChecks(made, servers, FakeProcesses(), lambda: None)
    checks.resume(Purpose.API, weight)
    assert checks.healthy(Purpose.API) == healthy
    servers.answer = Answer.DEAD
    made.running[Service.HAPROXY] = made.decided = True
    task = asyncio.create_task(checks.watch_balancer())
    await asyncio.sleep(1.5)
    task.cancel()
    assert BALANCER_WEIGHT not in checks.healthy(Purpose.API)


async def test_a_haproxy_that_hangs_is_a_problem_until_it_answers_and_one_that_ends_is_none() -> None:
    """The word of the health was "ok" while each connection was taken and none was answered."""
    made, checks = state(), FakeChecks()
    made.running[Service.HAPROXY] = made.decided = True
    task = asyncio.create_task(HealthChecks(made, checks, FakeProcesses(), lambda: None).watch_balancer())
    with capture_logs() as logs:
        for answer, seconds, problems in (
            (Answer.DEAD, 60, ()),
            (Answer.SLOW, HUNG_CHECKS - 1, ()),
            (Answer.SLOW, 3, (f"{HUNG}. {HUNG_REMEDY}",)),
            (Answer.DEAD, 3, (f"{HUNG}. {HUNG_REMEDY}",)),  # its queue is full
            (Answer.GOOD, 2, ()),
            (Answer.SLOW, HUNG_CHECKS - 2, ()),
        ):
            checks.answer = answer
            await asyncio.sleep(seconds)
            assert made.report().problems == problems, answer
        await asyncio.sleep(5)
        assert made.report().problems != ()
        made.running[Service.HAPROXY] = False
        await asyncio.sleep(2)
        assert made.report().problems == ()
    task.cancel()
    assert [entry["event"] for entry in logs if entry.get("message") is Message.HOSTED_PROBLEM] == [HUNG, HUNG]


EXPIRED = Result(
    Answer.DEAD, problem="its certificate has expired on Nov 20 12:00:00 2026 GMT", distrust=Distrust.CERTIFICATE
)
OLD_CA = Result(Answer.DEAD, problem="the CA /c/ca.crt has expired on Nov 20 12:00:00 2026 GMT", distrust=Distrust.CA)
SILENT = Result(Answer.SLOW, problem="no answer in 1 s")
GOOD = Result(Answer.GOOD, 200)
OF_THIS_NODE = (
    "The API server of this node cannot be verified: its certificate has expired on Nov 20 12:00:00 2026 GMT. "
    "Renew the certificate of the server"
)
OF_ALL = (
    "The API cannot be verified: the CA /c/ca.crt has expired on Nov 20 12:00:00 2026 GMT. "
    "Correct the CA of the kubeconfig, or `[hosted] ca_file`"
)


async def reported(*results: Result) -> tuple[list[str], tuple[str, ...]]:
    """Return what was logged as a problem while this node's API server gave *results*, and what is reported then."""
    made, checks = state(), FakeChecks()
    with capture_logs() as logs:
        task = asyncio.create_task(HealthChecks(made, checks, FakeProcesses(), lambda: None).watch_servers())
        for result in results:
            checks.result = result
            await asyncio.sleep(SERVER_SECONDS)
        task.cancel()
    return [entry["event"] for entry in logs if entry.get("message") is Message.HOSTED_PROBLEM], made.report().problems


async def test_what_has_expired_is_a_problem_with_its_date_until_it_is_renewed() -> None:
    assert await reported(EXPIRED) == ([OF_THIS_NODE.partition(" GMT.")[0] + " GMT"], (OF_THIS_NODE,))
    assert await reported(OLD_CA) == ([OF_ALL.partition(" GMT.")[0] + " GMT"], (OF_ALL,))
    assert (await reported(OLD_CA, EXPIRED))[1] == (OF_THIS_NODE,)
    assert (await reported(OLD_CA, GOOD))[1] == ()
    assert (await reported(EXPIRED, GOOD))[1] == ()


async def test_a_server_that_is_slow_between_two_refusals_does_not_fill_the_journal() -> None:
    """Each time-out took the problem back, and the next refusal was logged as a new one."""
    logged, problems = await reported(*([EXPIRED, SILENT] * 10))
    assert (len(logged), problems) == (1, (OF_THIS_NODE,))


async def test_an_external_load_balancer_with_an_expired_certificate_is_named() -> None:
    made, checks = state("api-int-is-external"), FakeChecks()
    checks.result = EXPIRED
    task = asyncio.create_task(HealthChecks(made, checks, FakeProcesses(), lambda: None).watch_vip())
    await asyncio.sleep(5)
    task.cancel()
    assert made.report().problems == (OF_THIS_NODE.replace("API server of this node", "API at api-int"),)


async def disbelieved(made: State, seconds: float) -> set[str]:
    """Return the failures while haproxy answers 503, that is without a server, for some seconds."""
    made.running[Service.HAPROXY] = True
    made.verdicts[API_SERVER] = UP
    checks = FakeChecks()
    checks.result = Result(Answer.DEAD, 503)
    task = asyncio.create_task(HealthChecks(made, checks, FakeProcesses(), lambda: None).watch_balancer())
    await asyncio.sleep(seconds)
    task.cancel()
    return set(made.failures)


@pytest.mark.parametrize(("role", "stays"), [(Role.CONTROL_PLANE, True), (Role.WORKER, False)])
async def test_a_worker_whose_haproxy_has_no_server_asks_by_the_vip(role: Role, *, stays: bool) -> None:
    """Its list of control-plane nodes is an old one: with the redirect it would never learn the new one."""
    made = state()
    made.plan = replace(made.plan, role=role)
    made.verdicts[Service.REDIRECT] = UP
    await disbelieved(made, 10)
    assert made.verdicts[Service.REDIRECT].healthy is stays


async def test_a_haproxy_that_alone_believes_no_server_is_a_problem_after_a_minute() -> None:
    """After a rotation of the CA every status said "ok", and the whole load was on one API server."""
    assert await disbelieved(state(), DISBELIEF_SECONDS - 5) == set()
    made = state()
    assert await disbelieved(made, DISBELIEF_SECONDS + 5) == {DISBELIEF}
    assert made.verdicts[Service.REDIRECT].healthy, "it serves all the same"
    assert not made.verdicts[Service.HAPROXY].healthy
