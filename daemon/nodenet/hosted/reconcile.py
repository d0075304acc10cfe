"""Do the files and units of hosted services match the plan? Whatever differs is written, started or reloaded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from pathlib import PurePath

import structlog

from nodenet.core.errors import NodenetError, PublishFailed, Unavailable, UnitFailed
from nodenet.core.hosted_services import keepalived
from nodenet.core.hosted_services.haproxy import Server, alive, backends, ports, render_states
from nodenet.core.hosted_services.model import (
    AUTHORITY,
    GUARD,
    HOSTS,
    OWED_RELOADS,
    RELEASE,
    SERVER_STATES,
    TEXTS,
    UNITS,
    Mode,
    Service,
)
from nodenet.core.hosted_services.plan import Plan, release_batch
from nodenet.core.hosted_services.units import (
    LONGEST_SECONDS,
    Budget,
    Listener,
    Now,
    Order,
    Restarts,
    order,
    why_waiting,
)
from nodenet.core.ip import family_of
from nodenet.core.messages import Message
from nodenet.core.settings.model import HostedMode
from nodenet.core.value import frozen
from nodenet.hosted.state import State
from nodenet.ports.hosted_services import (
    Balancer,
    ConfigurationFiles,
    Dnsmasq,
    OtherStacks,
    RedirectTable,
    ServiceUnits,
    StaticPods,
)

# Is the redirect of the VIP to haproxy as it should be?
#
# Its nft table is there only while this node's haproxy answers. One that believes no server asks all of them: slow ones
# still serve. Other programs remove tables: a restart of nftables.service removes all of them.

log = structlog.get_logger()

TABLE_SECONDS = 30.0
"""How often nodenet-hosted looks whether the table is still there."""


class Redirect:
    """The nft table."""

    def __init__(self, state: State, table: RedirectTable) -> None:
        """Until the first verdict on haproxy the table stays as an earlier companion left it."""
        self._state = state
        self._table = table
        self._there: bool | None = None
        self._due = 0.0
        self._stale = False
        """Whether the table that is there has other rules."""

    async def look(self, *, leaves: bool, renewed: bool) -> None:
        """Put or remove the table. *leaves*: haproxy is about to be stopped; *renewed*: its rules are other ones."""
        rules = self._state.plan.texts.get(Service.REDIRECT)
        self._stale = self._stale or renewed
        try:
            before = there = await self._is_there()
            if there and self._stale:
                there = self._there = await self._renewed(rules or "")
            self._stale = False
            wanted = rules is not None and self._is_wanted(there=there, leaves=leaves)
            if wanted and not there and rules is not None:
                await self._table.put(rules)
            elif there and not wanted:
                await self._table.remove()
        except Unavailable as error:
            if self._state.report_failure("redirect", str(error)):
                log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
            return
        self._there = self._state.running[Service.REDIRECT] = wanted
        self._state.report_failure("redirect", None)
        if wanted is not before:
            log.info(f"The redirect to haproxy is {'on' if wanted else 'off'}")

    async def _renewed(self, rules: str) -> bool:
        """Replace the table's rules; return whether it is there afterwards. Raises Unavailable.

        One that leads to another port goes: haproxy may listen there no longer, and not yet on the new port.
        """
        if ports(await self._table.printed()) != ports(rules):
            await self._table.remove()
            return False
        await self._table.put(rules)
        return True

    async def _is_there(self) -> bool:
        now = asyncio.get_running_loop().time()
        if self._there is None or (self._there and now >= self._due):
            self._there, self._due = await self._table.is_there(), now + TABLE_SECONDS
        return self._there

    def _is_wanted(self, *, there: bool, leaves: bool) -> bool:
        state, verdict = self._state, self._state.verdicts.get(Service.REDIRECT)
        if leaves or Service.HAPROXY in state.waits or not state.running.get(Service.HAPROXY):
            return False
        undecided = verdict is None or (not verdict.healthy and verdict.points == 0)
        return there if undecided else bool(verdict and verdict.healthy)


# What does haproxy know of its API servers after a reload? It is written down before each one.


class ServerStates:
    """haproxy's state file."""

    def __init__(self, state: State, files: ConfigurationFiles, balancer: Balancer) -> None:
        """*balancer* is the haproxy that runs."""
        self._state = state
        self._files = files
        self._balancer = balancer

    async def keep(self) -> None:
        """Write which servers begin as stopped after a reload; none where the haproxy that runs does not answer."""
        before: Mapping[Server, bool] = {}
        try:
            before = alive(await self._balancer.servers())
        except Unavailable as error:
            log.warning(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause)
        inputs = self._state.known.inputs
        self._write(render_states(backends(inputs), before, inputs.options.api_port))

    def forget(self) -> None:
        """Let a haproxy that starts begin with every server as alive."""
        self._write(render_states((), {}, 0))

    def _write(self, text: str) -> None:
        try:
            self._files.write({SERVER_STATES: text})
        except PublishFailed as error:
            log.warning(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)


# Is keepalived guarded against VRRP of strangers while it is wanted? (``core.hosted_services.keepalived``)


class GuardTable:
    """The nft table."""

    def __init__(self, state: State, table: RedirectTable) -> None:
        """What an earlier companion has put there is replaced."""
        self._state = state
        self._table = table
        self._plan: Plan | None = None
        self._rules: str | None = None
        self._put: str | None = None
        self._due = 0.0

    def rules(self) -> str | None:
        """Return the rules of the present plan, None where this node holds no VIP."""
        state = self._state
        if self._plan is not state.plan:
            self._plan, self._rules = state.plan, keepalived.guard_rules(state.known.inputs, state.plan.vips)
        return self._rules

    async def look(self) -> None:
        """Put the table while keepalived may run; systemd takes it up with keepalived, and removes it after that."""
        state, now, rules = self._state, asyncio.get_running_loop().time(), self.rules()
        if rules is None or Service.KEEPALIVED in state.waits:
            self._put = None
            return
        try:
            if rules != self._put or (now >= self._due and not await self._table.is_there()):
                await self._table.put(rules)
        except Unavailable as error:
            if state.report_failure("VRRP guard", f"Any host can send VRRP to this node: {error}"):
                log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
            return
        if now >= self._due:
            self._due = now + TABLE_SECONDS
        self._put = rules
        state.report_failure("VRRP guard", None)


# Do files and units match the plan?

UNIT_SERVICES = (Service.KEEPALIVED, Service.HAPROXY)
"""Those whose units this process starts; dnsmasq is nodenetd's."""
LOOK_SECONDS = 10.0
GONE_SECONDS = 2.0
"""How long nothing of another stack may be seen before ours starts: a keepalived that ends has closed its sockets long
before it is gone."""
MANIFESTS_SECONDS = 0.5
"""Between two looks at the folder of kubelet's static pods."""
QUIET_LOOKS = 3
"""systemd, which reports the end of each job, is asked at every third look while nothing happens."""
RELOADS, RELOAD_SECONDS = 10, 5.0
"""So many reloads of a service at once, and one more after each pause: a look later at most."""
BURST_SECONDS = 0.05
"""Changes that follow one another so closely are one."""


@frozen
class Edges:
    """What the plan is carried out with."""

    files: ConfigurationFiles
    units: ServiceUnits
    table: RedirectTable
    guard: RedirectTable
    dnsmasq: Dnsmasq
    others: OtherStacks
    balancer: Balancer


class Reconciler:
    """Carries the plan out."""

    def __init__(self, state: State, edges: Edges, mode: HostedMode) -> None:
        """Nothing is looked at yet."""
        self._state = state
        self._edges = edges
        self._mode = mode
        self._behind: set[Service] = set()
        """Services that run with an older configuration than the one on the disk."""
        self._resumed = False
        """Whether it was looked at which ones an earlier companion has left so."""
        self._redirect = Redirect(state, edges.table)
        self._guard = GuardTable(state, edges.guard)
        self._servers = ServerStates(state, edges.files, edges.balancer)
        self._gone: dict[Service, float] = {}
        """Services that still wait, and since when nothing is seen of what they wait for."""
        self._starts: dict[Service, Restarts] = {}
        self._reloads: dict[Service, Budget] = dict.fromkeys(UNIT_SERVICES, Budget(RELOADS, RELOAD_SECONDS))

    async def reconcile(self, *, ask_systemd: bool = True) -> None:
        """Do what is missing; what fails is reported, and tried again with the next change or look.

        Not *ask_systemd*: nothing is known to have changed, and systemd's answers are long. It is asked all the same
        when another stack came or went.
        """
        if ask_systemd or not self._state.decided:
            await self._ask_systemd()
        before = dict(self._state.waits)
        self._look_for_others()
        if not ask_systemd and self._state.waits != before:
            await self._ask_systemd()
        self._state.decided = True
        changed = self._write()
        await self._renew_dns(changed)
        # Before haproxy is stopped: no connection is sent to one that has left.
        await self._redirect.look(leaves=self._leaves(), renewed=TEXTS[Service.REDIRECT] in changed)
        if self._mode is HostedMode.SYSTEMD:
            await self._guard.look()
            for service in UNIT_SERVICES:
                await self._carry_out(service)
        behind = Service.KEEPALIVED in self._behind or "files" in self._state.failures
        if self._mode is HostedMode.RENDER or not behind:
            self._state.sources = self._state.here.places

    async def _ask_systemd(self) -> None:
        for service in (*UNIT_SERVICES, Service.DNSMASQ):
            self._state.running[service] = await self._runs(service)

    async def _runs(self, service: Service) -> bool:
        """Return whether a unit runs, or is about to."""
        try:
            found = await self._edges.units.state(UNITS[service])
        except Unavailable as error:
            self._state.report_failure("systemd", str(error))
            return self._state.running.get(service, False)
        self._state.report_failure("systemd", None)
        self._state.missing[service] = found.missing if not found.is_up else ""
        return found.is_up or found.is_settling

    def _look_for_others(self) -> None:
        if self._mode is HostedMode.RENDER:
            return  # then programs of another stack read the files that are written here
        options = self._state.options
        ports = {Service.KEEPALIVED: (), Service.HAPROXY: (options.lb_port,)}
        try:
            found = self._edges.others.look([UNITS[service] for service in UNIT_SERVICES], ports[Service.HAPROXY])
        except Unavailable as error:
            self._state.report_failure("other stacks", str(error))
            return
        self._state.report_failure("other stacks", None)
        for service in UNIT_SERVICES:
            # Ports above 1023 are open to every user: a listener keeps ours from its start, and never ends it. No other
            # user's socket shares a port with one of ours (SO_REUSEPORT, socket(7)).
            mine = () if self._state.running[service] else tuple(filter(self._in_the_way, found.listeners))
            waits = why_waiting(service, replace(found, listeners=mine), ports[service])
            self._wait(service, waits if self._state.wanted(service) else None)

    def _wait(self, service: Service, waits: str | None) -> None:
        """Let a service wait, or end its wait once the other stack has been gone for some time."""
        loop, before = asyncio.get_running_loop(), self._state.waits.get(service)
        left = self._gone.get(service, loop.time()) + GONE_SECONDS - loop.time()
        if waits:
            self._state.waits[service] = waits
        elif before and self._state.wanted(service) and left > 0:
            self._gone.setdefault(service, loop.time())
            loop.call_later(left, self._state.changed)
            return
        else:
            self._state.waits.pop(service, None)
        self._gone.pop(service, None)
        if waits and waits != before:
            cause = f"{service} waits: {waits}"
            log.warning(cause, message=Message.STACK_WAITING, cause=cause)

    def _in_the_way(self, listener: Listener) -> bool:
        """Return whether haproxy could not listen beside it."""
        return listener.address.is_unspecified or family_of(listener.address) in self._state.here.places

    def _write(self) -> frozenset[PurePath]:
        """Write the texts of this process's services; a text that the plan no longer has stays while its unit runs."""
        serves = self._state.authority and self._state.plan.mode is not Mode.DISABLED
        texts: dict[PurePath, str] = {AUTHORITY: self._state.authority} if serves else {}
        texts |= {
            TEXTS[service]: self._state.plan.texts[service]
            for service in (*UNIT_SERVICES, Service.REDIRECT)
            if service in self._state.plan.texts
        }
        if Service.KEEPALIVED in self._state.plan.texts:
            texts[RELEASE] = release_batch(self._state.plan)
            texts[GUARD] = self._guard.rules() or ""
        if self._state.plan.hosts:
            texts[HOSTS] = self._state.plan.hosts
        changed: set[PurePath] = set()
        failed: PublishFailed | None = None
        for path, text in texts.items():
            try:
                changed |= self._edges.files.write({path: text})
            except PublishFailed as error:  # the others are as true as before
                failed = error
        try:
            self._owe({service for service in UNIT_SERVICES if TEXTS[service] in changed})
        except PublishFailed as error:
            failed = error
        if failed:
            self._fail("files", failed)
        else:
            self._state.report_failure("files", None)
        for path in sorted(changed):
            log.info(f"{path} was written", message=Message.HOSTED_CHANGED)
        return frozenset(changed)

    def _owe(self, changed: set[Service]) -> None:
        """Note on the disk who has to read a *changed* file: a companion that ends before that leaves it to the next.

        Raises PublishFailed.
        """
        self._behind |= changed
        if not self._resumed:
            found = self._edges.files.remove(OWED_RELOADS.values())
            self._behind |= {service for service, path in OWED_RELOADS.items() if path in found}
            self._resumed = True
        self._edges.files.write({OWED_RELOADS[service]: "" for service in self._behind})

    async def _renew_dns(self, changed: Collection[PurePath]) -> None:
        if HOSTS not in changed or not self._state.running.get(Service.DNSMASQ):
            return
        try:
            await self._edges.dnsmasq.read_hosts()
        except Unavailable as error:  # nodenetd watches dnsmasq, and it reads the file when it starts
            self._fail("dnsmasq", error)
        else:
            self._state.report_failure("dnsmasq", None)

    async def _carry_out(self, service: Service) -> None:
        wanted, running = self._state.wanted(service), self._state.running[service]
        drained = service is Service.HAPROXY and self._leaves()
        hangs = service in self._state.hung
        now = Now(running, service in self._behind, self._state.waits.get(service), drained, hangs)
        what = order(service, wanted=wanted, inputs=self._state.known.inputs, now=now)
        unit = UNITS[service]
        if not self._may(service, what):
            return
        try:
            match what:
                case Order.START:
                    if service is Service.HAPROXY:
                        self._servers.forget()
                    await self._edges.units.start(unit)
                case Order.RELOAD:
                    if service is Service.HAPROXY:
                        await self._servers.keep()
                    await self._edges.units.reload(unit)
                case Order.STOP:
                    await self._edges.units.stop(unit)
                case Order.RESTART:
                    await self._edges.units.restart(unit)
                case Order.NOTHING:
                    return
            self._state.hung.discard(service)
            self._behind.discard(service)
            self._edges.files.remove((OWED_RELOADS[service],))
        except (PublishFailed, UnitFailed, Unavailable) as error:
            self._fail(f"unit {service}", error)
            return
        self._state.report_failure(f"unit {service}", None)
        log.info(f"systemd was asked for: {what} {unit}", message=Message.HOSTED_CHANGED)

    def _may(self, service: Service, what: Order) -> bool:
        """Return whether *what* is due: what fails, or changes, again and again is asked for with pauses."""
        now = asyncio.get_running_loop().time()
        starts, reloads = self._starts.get(service, Restarts()), self._reloads[service]
        if what in (Order.START, Order.RESTART):
            if self._state.missing.get(service) or self._state.lacks_authority(service) or starts.left(now) > 0:
                return False
            self._starts[service] = starts.after_start(now)
        elif what is Order.STOP or (self._state.running[service] and starts.left(now) < -LONGEST_SECONDS):
            self._starts.pop(service, None)
        if what is Order.RELOAD:
            if reloads.wait(now) > 0:
                return False
            self._reloads[service] = reloads.used(now)
        return True

    def _leaves(self) -> bool:
        """Return whether this node is drained, and other nodes have its VIPs."""
        return self._state.drained and not any(sighting.here for sighting in self._state.sightings.values())

    def _fail(self, topic: str, error: NodenetError) -> None:
        if self._state.report_failure(topic, str(error)):
            log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)


async def watch_manifests(pods: StaticPods, changed: Callable[[], None]) -> None:
    """Call *changed* when kubelet's static pods may be other ones, until cancelled.

    kubelet needs some seconds until a program of a new one runs: by then ours has to be gone.
    """
    before = pods.manifests_stamp()
    while True:
        await asyncio.sleep(MANIFESTS_SECONDS)
        now = pods.manifests_stamp()
        if now != before:
            changed()
        before = now


async def follow(
    state: State, reconciler: Reconciler, gather: Callable[[], Awaitable[None]], shown: Callable[[], None]
) -> None:
    """Reconcile after each change and from time to time, until cancelled."""
    quiet = 0
    while True:
        state.wake.clear()
        await gather()
        await reconciler.reconcile(ask_systemd=quiet % QUIET_LOOKS == 0)
        shown()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await state.wake.wait()
            await asyncio.sleep(BURST_SECONDS)
            quiet = 0
        except TimeoutError:
            quiet += 1
