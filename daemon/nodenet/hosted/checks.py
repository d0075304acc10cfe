"""Are this node's load balancer, API server and ingress router healthy, and does the API answer at its VIP?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from nodenet.core.hosted_services.haproxy import BY_WIRE, READY_SOCKET
from nodenet.core.hosted_services.health import (
    BALANCER,
    CANDIDATE,
    HOLDER,
    Answer,
    Distrust,
    Patience,
    Result,
    Target,
    Verdict,
    after,
    ingress,
    readyz,
)
from nodenet.core.hosted_services.model import Mode, Purpose, Role, Service
from nodenet.core.hosted_services.vips import API_SERVER_WEIGHT, BALANCER_WEIGHT, ROUTER_WEIGHT
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.hosted_services import Checks, UnitProcesses

log = structlog.get_logger()

ALIVE, API_SERVER, ROUTER = "haproxy alive", "API server", "router"
"""Names of verdicts beside ``Service.HAPROXY``, whose verdict also asks for a backend that answers."""
OWN, BY_NAME, CA = "The API server of this node", "The API at api-int", "the CA"
"""What may not be verified: each is a topic of a failure."""
WEIGHTS = {
    Purpose.API: {ALIVE: BALANCER_WEIGHT, API_SERVER: API_SERVER_WEIGHT},
    Purpose.INGRESS: {ROUTER: ROUTER_WEIGHT},
}
"""What each service of this node adds, the most first."""
READY = Target("localhost", 0, "/haproxy_ready", unix_socket=READY_SOCKET)
BALANCER_SECONDS, SERVER_SECONDS, VIP_SECONDS = 1.0, 3.0, 10.0
"""Between two checks of the load balancer, of the API server and the router, and of the API by its VIP."""
END_SECONDS = 5.0
"""How long a process of haproxy that has just been started may be unknown."""
SETTLE_SECONDS = 0.05
"""Processes that end one after another cost no more than this."""
DEAD_CHECKS = 2
"""So many make ``BALANCER`` unhealthy."""
HUNG = "haproxy takes connections and answers none of them"
HUNG_REMEDY = "Run: systemctl kill --signal=KILL nodenet-haproxy.service"
HUNG_CHECKS = 8
"""So many slow ones make it unhealthy."""
ANSWER_SECONDS = 1.0
VIP_ANSWER_SECONDS = 5.0
DISBELIEF_SECONDS = 60.0
DISBELIEF = "haproxy believes no API server, and the one of this node is ready"
DISBELIEF_REMEDY = "See `journalctl -u nodenet-haproxy`, and run `systemctl reload nodenet-haproxy`"
THROUGH_VIP = Patience(rise=1, fall=12)
"""Three checks in a row."""


class HealthChecks:
    """The checks, and the verdicts that follow."""

    def __init__(self, state: State, checks: Checks, haproxy: UnitProcesses, weighed: Callable[[], None]) -> None:
        """*weighed* is called after a verdict that changes a weight."""
        self._state = state
        self._checks = checks
        self._haproxy = haproxy
        self._weighed = weighed
        self._doubts: float | None = None
        """Since when haproxy believes no server, and nodenet-hosted that of this node."""

    def resume(self, purpose: Purpose, weight: int) -> None:
        """Take up what an earlier companion found, by the *weight* that it wrote: a restart moves no VIP."""
        for name, part in WEIGHTS[purpose].items():
            if weight >= part:
                self._state.verdicts[name] = Verdict(healthy=True)
                weight -= part

    def healthy(self, purpose: Purpose) -> list[int]:
        """Return the weight of each healthy service of this node that *purpose* is about."""
        return [weight for name, weight in WEIGHTS[purpose].items() if self._verdict(name).healthy]

    def _verdict(self, name: str) -> Verdict:
        return self._state.verdicts.get(name, Verdict())

    async def watch_balancer(self) -> None:
        """Check this node's haproxy until cancelled."""
        unanswered = 0
        while True:
            if self._state.running.get(Service.HAPROXY):
                result = await self._checks.check(READY, ANSWER_SECONDS)
                if result.status is not None:
                    unanswered = 0
                elif result.answer is Answer.SLOW:  # one that ends refuses: it does not hang
                    unanswered += 1
                # Without a backend that answers it serves nothing, and is alive all the same: all nodes have the same
                # backends, and a VIP that wanders helps none of them. A worker may have an old list of them: the VIP
                # leads to the API, where the worker learns the new list.
                alive = Answer.GOOD if result.status is not None else result.answer
                is_worker = self._state.plan.role is Role.WORKER
                self._take(ALIVE, alive, BALANCER)
                self._take(Service.REDIRECT, result.answer if is_worker else alive, BALANCER)
                self._take(Service.HAPROXY, result.answer, BALANCER)
            elif self._state.decided:
                unanswered = 0
                for name in (ALIVE, Service.REDIRECT, Service.HAPROXY):
                    self._take(name, Answer.DEAD, BALANCER)
            self._note_disbelief()
            self._note_hung(hangs=unanswered >= HUNG_CHECKS)
            await asyncio.sleep(BALANCER_SECONDS)

    def _note_disbelief(self) -> None:
        """Report that haproxy alone believes no server: nodenet-hosted verifies the one of this node by the same CA."""
        doubts = self._state.running.get(Service.HAPROXY) and not self._verdict(Service.HAPROXY).healthy
        now = asyncio.get_running_loop().time()
        since = self._doubts = (self._doubts or now) if doubts and self._verdict(API_SERVER).healthy else None
        lasts = since is not None and now - since >= DISBELIEF_SECONDS
        if self._state.report_failure(DISBELIEF, f"{DISBELIEF}. {DISBELIEF_REMEDY}" if lasts else None) and lasts:
            log.error(DISBELIEF, message=Message.HOSTED_PROBLEM, cause=DISBELIEF, remedy=DISBELIEF_REMEDY)

    def _note_hung(self, *, hangs: bool) -> None:
        new = self._state.report_failure(ALIVE, f"{HUNG}. {HUNG_REMEDY}" if hangs else None)
        if new and hangs:
            log.error(HUNG, message=Message.HOSTED_PROBLEM, cause=HUNG, remedy=HUNG_REMEDY)

    async def watch_haproxy(self) -> None:
        """Let the redirect end with haproxy, until cancelled: no check is waited for.

        The weight is left to the checks: systemd starts haproxy again before they would move a VIP.
        """
        while True:
            ended = await self._haproxy.any_ends(self._haproxy.now(), END_SECONDS)
            if ended and "haproxy" not in self._haproxy.now().values():
                for _ in range(DEAD_CHECKS):
                    self._take(Service.REDIRECT, Answer.DEAD, BALANCER)
            if ended:
                await asyncio.sleep(SETTLE_SECONDS)

    async def watch_servers(self) -> None:
        """Check this node's API server and router until cancelled."""
        while True:
            await asyncio.gather(self._check_api_server(), self._check_router())
            await asyncio.sleep(SERVER_SECONDS)

    async def _check_api_server(self) -> None:
        node_ip = next(iter(self._state.here.addresses), None)
        if node_ip is None or not self._may_hold(Purpose.API):
            self._state.report_failure(OWN, None)
            return
        result = await self._checks.check(readyz(self._state.options, str(node_ip)), ANSWER_SECONDS)
        self._take(API_SERVER, result.answer, HOLDER if self._holds(Purpose.API) else CANDIDATE)
        self._note_distrust(OWN, result)

    def _note_distrust(self, server: str, result: Result) -> None:
        """Report what cannot be verified, until an answer was: a server that does not answer says nothing about it."""
        state, cause = self._state, f"{server} cannot be verified: {result.problem}"
        match result.distrust:
            case Distrust.CA:
                cause = f"The API cannot be verified: {result.problem}"
                new = state.report_failure(CA, f"{cause}. {Distrust.CA}")
            case Distrust.CERTIFICATE:
                state.report_failure(CA, None)
                new = state.report_failure(server, f"{cause}. {Distrust.CERTIFICATE}")
            case None:
                for topic in (CA, server) if result.status is not None else ():
                    state.report_failure(topic, None)
                return
        if new:
            log.error(cause, message=Message.HOSTED_PROBLEM, cause=cause, remedy=result.distrust.value)

    async def _check_router(self) -> None:
        if self._may_hold(Purpose.INGRESS):
            result = await self._checks.check(ingress(self._state.options), ANSWER_SECONDS)
            self._take(ROUTER, result.answer, HOLDER if self._holds(Purpose.INGRESS) else CANDIDATE)

    async def watch_vip(self) -> None:
        """Check that the API answers at the effective address, on the nodes of the control plane, until cancelled."""
        verdict = Verdict()
        while True:
            address = next(iter(self._state.plan.api_int.addresses), None)
            if address != self._state.asked or not self._asks_for_api():
                verdict, self._state.asked, self._state.reachable = Verdict(), address, None
                self._state.report_failure(BY_NAME, None)
            if address is not None and self._asks_for_api():
                target = readyz(self._state.options, str(address), mark=BY_WIRE)
                result = await self._checks.check(target, VIP_ANSWER_SECONDS)
                self._note_distrust(BY_NAME, result)
                verdict = after(verdict, result.answer, THROUGH_VIP)
                judged = verdict.healthy or verdict.points >= THROUGH_VIP.fall
                reachable = verdict.healthy if judged else self._state.reachable
                if reachable != self._state.reachable:
                    self._state.reachable = reachable
                    self._state.changed()
            await asyncio.sleep(VIP_SECONDS)

    def _asks_for_api(self) -> bool:
        if self._state.plan.mode is Mode.EXTERNAL:
            return self._state.plan.role is Role.CONTROL_PLANE
        return self._state.plan.mode is Mode.SELF_HOSTED and self._may_hold(Purpose.API)

    def _may_hold(self, purpose: Purpose) -> bool:
        return any(duty.wanted for duty in self._state.plan.vips if duty.purpose is purpose)

    def _holds(self, purpose: Purpose) -> bool:
        vips = {duty.address for duty in self._state.plan.vips if duty.purpose is purpose}
        return any(sighting.here for address, sighting in self._state.sightings.items() if address in vips)

    def _take(self, name: str, answer: Answer, patience: Patience) -> None:
        before = self._verdict(name)
        now = self._state.verdicts[name] = after(before, answer, patience)
        if before.healthy is not now.healthy:
            self._weighed()
            self._state.changed()
        if before.healthy is not now.healthy and name not in (ALIVE, Service.REDIRECT):
            text = f"The {name} of this node is {'healthy' if now.healthy else 'not healthy'}"
            log.info(text, message=Message.HOSTED_CHANGED)
