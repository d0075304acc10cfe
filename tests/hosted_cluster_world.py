"""Three control-plane nodes, the API, its load balancers and nodenet-operator, in one process on virtual time.

Every part that decides is the product's own: nodenet-operator's steward, and of each node the companion's tasks and
nodenetd's look at the disk. The wire, systemd and the servers are stand-ins. A node reaches the API only by a load
balancer that answers, as its kubelet does.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

from cluster_operator.fake_api import RESOURCE, FakeApi
from hosted.rig import FakeBalancer, FakeDnsmasq, FakeFiles, FakeOthers, FakeTable, FakeUnits
from hosted.test_checks import FakeProcesses
from hosted.test_cluster_source import FakeFiles as FakeCaches
from hosted.test_mover import FakeFile
from nodenet.cluster_operator.steward import LEASES, NODES, Steward
from nodenet.core.errors import Forbidden, Unavailable
from nodenet.core.hosted_cluster import node_report
from nodenet.core.hosted_services import migration, resource
from nodenet.core.hosted_services.health import Answer, Result, Target
from nodenet.core.hosted_services.migration import Migration
from nodenet.core.hosted_services.model import HOSTS, UNITS, Here, Options, Service, expected
from nodenet.core.hosted_services.vips import Sighting
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.settings.model import HostedMode
from nodenet.hosted.checks import HealthChecks
from nodenet.hosted.cluster_source import ClusterSource, Identity
from nodenet.hosted.mover import ApiIntTrial, Mover
from nodenet.hosted.reconcile import Edges, Reconciler, follow
from nodenet.hosted.reporter import Reporter
from nodenet.hosted.state import Gather, Sources, State
from nodenet.stages.hosted_services.on_disk import OnDisk

VIP, LB, OTHER = (ip_address(f"192.0.2.{number}") for number in (2, 9, 8))
OPTIONS = Options("baremetal", "c1.example.com", (VIP,), drain_seconds=45)
NAMES = ("m0", "m1", "m2")
LOST_SECONDS = 30.0
"""After so long TCP ends a connection whose other end is silent."""
KUBELET_SECONDS = 10.0


class World:
    """The servers: which of them answer, and how."""

    def __init__(self) -> None:
        """Begin with a cluster that is well and has no operator."""
        self.api = SlowApi()
        self.dead: set[IPAddress] = set()
        self.silent: set[IPAddress] = set()
        """Dead ones that do not even refuse."""
        self.nodes = {name: Node(self, name) for name in NAMES}
        self.skew = 0.0
        """Seconds by which the clock of the next operator is ahead."""
        self.operators: list[asyncio.Task[Any]] = []
        kind = {"apiVersion": f"{resource.GROUP}/{resource.VERSION}", "kind": resource.KIND}
        self.api.put(RESOURCE, {"metadata": {"name": resource.NAME}, **kind, "spec": {}})
        for name in NAMES:
            self.api.node(name)

    def answers(self, address: IPAddress) -> bool:
        """Return whether the API answers at an address."""
        return not self.api.away and address not in self.dead

    async def check(self, target: Target, seconds: float) -> Result:
        """Fit ``ports.hosted_services.Checks``."""
        if target.unix_socket:  # haproxy of this node
            return Result(Answer.DEAD if self.api.away else Answer.GOOD, 200)
        address = ip_address(target.host)
        if self.answers(address):
            return Result(Answer.GOOD, 200)
        if address in self.silent & self.dead:
            await asyncio.sleep(seconds)
        return Result(Answer.DEAD, problem="no answer")

    def edit(self, *addresses: IPAddress) -> None:
        """Let an administrator ask for addresses of ``api-int``."""
        spec = {"apiintIpAddresses": [str(one) for one in addresses]} if addresses else {}
        self.api.put(RESOURCE, {**self.api.objects[RESOURCE], "spec": spec})

    @property
    def record(self) -> Migration | None:
        """The record that the API has."""
        return migration.parse(self.api.objects.get(RESOURCE, {}))

    def begin_operator(self) -> None:
        """Begin an operator, which leads."""
        skew = timedelta(seconds=self.skew)

        def clock() -> datetime:
            return datetime.fromtimestamp(asyncio.get_running_loop().time(), UTC) + timedelta(days=1) + skew

        made = Steward(self.api, OPTIONS, lambda: True, clock, lambda _: None)
        works = (made.follow_nodes(), made.follow_resource(), made.read_leases(), made.run())
        self.operators.append(_together(*works))

    async def end_operators(self) -> None:
        """Kill all operators."""
        ended, self.operators = self.operators, []
        await _ended(*ended)

    def backup(self) -> dict[str, Any]:
        """Return the content of the database."""
        return copy.deepcopy(self.api.objects)

    def fail(self, address: IPAddress, *, silent: bool) -> None:
        """Let a load balancer die: it refuses connections, or does not answer at all."""
        self.dead.add(address)
        (self.silent.add if silent else self.silent.discard)(address)

    def leave(self) -> None:
        """Let the API servers stop."""
        self.api.away = True
        self.api.break_watches()

    def restore(self, objects: Mapping[str, Any]) -> None:
        """Replace the content of the database: its servers begin again."""
        self.api.objects = copy.deepcopy(dict(objects))
        self.api.break_watches()


class SlowApi(FakeApi):
    """An API whose requests take *seconds*."""

    def __init__(self) -> None:
        """Begin with one that is quick."""
        super().__init__()
        self.seconds = 0.01

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """Return a list."""
        await asyncio.sleep(self.seconds)
        return await super().get(path, parameters)

    async def items(self, path: str) -> Any:
        """Return all objects of a list."""
        await asyncio.sleep(self.seconds)
        return await super().items(path)

    async def merge(self, path: str, change: Mapping[str, Any]) -> Any:
        """Change an object: it takes effect in the middle of the time."""
        await asyncio.sleep(self.seconds / 2)
        if path.removesuffix("/status") not in self.objects:
            raise Forbidden("status 404")
        made = await super().merge(path, change)
        await asyncio.sleep(self.seconds / 2)
        return made


class Node:
    """One node: its disk, what is lost with its power, and its companion."""

    provisional = False

    def __init__(self, world: World, name: str) -> None:
        """Begin with one that is off and was never on."""
        self.world, self.name = world, name
        self.address = ip_address("192.0.2.10") + int(name[1:])
        self.caches = FakeCaches()
        self.trial = FakeFile()
        self.files, self.units = FakeFiles(), FakeUnits()
        self.dns: tuple[IPAddress, ...] = ()
        """The addresses that dnsmasq answers for ``api-int``."""
        self.state = State(name, OPTIONS)
        self.boots = 0
        self.answered: set[IPAddress] = set()
        """Load balancers that have answered in this boot while they had the name."""
        self._system: list[asyncio.Task[Any]] = []
        self._companion: list[asyncio.Task[Any]] = []
        self._way = 0

    @property
    def here(self) -> Here:
        """Return its place."""
        return expected(self.name, (self.address,))

    @property
    def is_up(self) -> bool:
        """Whether it has power."""
        return bool(self._system)

    @property
    def has_companion(self) -> bool:
        """Whether nodenet-hosted runs."""
        return bool(self._companion)

    async def boot(self) -> None:
        """Switch it on: nodenetd, kubelet, and the companion."""
        self.boots += 1
        self.trial, self.files, self.answered = FakeFile(), FakeFiles(), set()
        self.units = FakeUnits(UNITS[Service.DNSMASQ])
        disk = OnDisk(self.caches, self.trial, OPTIONS)
        await self._written(disk)
        self._system = [_together(self._nodenetd(disk), self._kubelet())]
        self.begin()

    async def cut(self) -> None:
        """Take its power."""
        await self.kill()
        ended, self._system = self._system, []
        await _ended(*ended)

    async def kill(self) -> None:
        """Kill the companion."""
        ended, self._companion = self._companion, []
        await _ended(*ended)

    def begin(self) -> None:
        """Begin the companion."""
        state = self.state = State(self.name, OPTIONS)
        source = ClusterSource(self, self.caches, Identity(self.name, "c1.example.com", str(self.boots)), state.changed)

        def report() -> node_report.NodeReport | None:
            found = node_report.of(state.report(), source.generation, state.progress)
            return replace(found, uid=source.uid) if source.is_asked_for else None

        reporter = Reporter(self, report)
        mover = Mover(state, self.world, self, reporter.changed_in_migration)
        trial = ApiIntTrial(state, self.world, self.trial)
        health = HealthChecks(state, self.world, FakeProcesses(), lambda: None)
        status = {"node_ips": [str(self.address)]}
        sources = Sources(lambda: status, self._snapshot, lambda: source.cluster, lambda: False, lambda: "PEM")
        gather = Gather(state, sources)
        edges = Edges(self.files, self.units, FakeTable(), FakeTable(), Names(self), FakeOthers(), FakeBalancer())

        async def gathered() -> None:
            before = state.known.inputs.spec.migration
            await gather()
            state.sightings[VIP] = Sighting(VIP, here=self.name == "m0", others=frozenset({"m0"} - {self.name}))
            if state.known.inputs.spec.migration != before:
                mover.look_now.set()

        async def run() -> None:
            await source.read_disk()
            trial.prepare()
            reconciler = Reconciler(state, edges, HostedMode.SYSTEMD)
            works = (
                follow(state, reconciler, gathered, reporter.changed),
                source.take(),
                source.follow_nodes(),
                source.follow_resource(),
                trial.run(),
                mover.run(),
                reporter.run(),
                health.watch_balancer(),
                health.watch_vip(),
            )
            await asyncio.gather(*works)

        self._companion = [asyncio.ensure_future(run())]

    def _snapshot(self) -> Snapshot:
        return Snapshot((Link(2, "br-ex"),), (Address(self.address, 24, "br-ex"),), ())

    async def _nodenetd(self, disk: OnDisk) -> None:
        while True:
            await asyncio.sleep(15)
            await self._written(disk)

    async def _written(self, disk: OnDisk) -> None:
        plan = (await disk.judged_at(self.here)).plan
        if plan.hosts and self.files.write({HOSTS: plan.hosts}):
            self.read_hosts()

    async def _kubelet(self) -> None:
        while True:
            await asyncio.sleep(KUBELET_SECONDS)
            if self.reaches and f"{NODES}/{self.name}" in self.world.api.objects:
                spec = {"renewTime": f"T{self.world.api.version}", "leaseDurationSeconds": 40}
                self.world.api.put(f"{LEASES}/{self.name}", {"metadata": {"name": self.name}, "spec": spec})

    @property
    def reaches(self) -> bool:
        """Whether the API answers at the address that this node's programs use."""
        return any(map(self.world.answers, self.dns))

    def read_hosts(self) -> None:
        """Let dnsmasq read its file."""
        lines = [line.split() for line in self.files.texts[HOSTS].splitlines()]
        self.dns = tuple(ip_address(line[0]) for line in lines if OPTIONS.api_int_name in line)

    async def addresses(
        self,
        server: IPAddress,
        name: str,
        family: Family,
        port: int | None = None,  # noqa: ARG002  (DNS's own)
    ) -> frozenset[IPAddress]:
        """Fit ``ports.hosted_services.NameLookup``."""
        assert (server, name) == (self.address, OPTIONS.api_int_name)
        return frozenset(one for one in self.dns if family_of(one) is family)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[Node]:
        """Fit ``ports.kubernetes.Cluster``: where ``api-int`` does not answer, the VIP is asked next."""
        try:
            yield self
        except Forbidden:
            raise
        except Unavailable:
            self._way += 1
            raise

    def _route(self) -> Callable[[], bool]:
        by_name = self.dns[0] if self._way % 2 == 0 and self.dns else VIP
        return lambda: self.world.answers(by_name)

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """Return a list."""
        if not self._route()():
            raise Unavailable("connection refused")
        return await self.world.api.get(path, parameters)

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:  # noqa: ARG002
        """Yield events as long as the load balancer of the connection answers."""
        queue, answers, silent = self.world.api.queue(path), self._route(), 0.0
        while silent < LOST_SECONDS:
            try:
                async with asyncio.timeout(LOST_SECONDS / 3):
                    event = await queue.get()
            except TimeoutError:
                silent = 0.0 if answers() else silent + LOST_SECONDS / 3
                continue
            if event is None or not answers():  # what is sent to a dead one gets lost with the connection
                break
            yield event
        raise Unavailable("the watch broke")

    async def annotation(self, key: str) -> str | None:
        """Fit ``ports.kubernetes.OwnNode``."""
        return self._object()["metadata"]["annotations"].get(key)  # type: ignore[no-any-return]

    async def annotate(self, key: str, text: str) -> None:
        """Write the annotation after the API's time."""
        await asyncio.sleep(self.world.api.seconds)
        found = self._object()
        metadata = {**found["metadata"], "annotations": {key: text}}
        self.world.api.put(f"{NODES}/{self.name}", {**found, "metadata": metadata})

    def _object(self) -> dict[str, Any]:
        if not self.reaches:
            raise Unavailable("connection refused")
        found = self.world.api.objects.get(f"{NODES}/{self.name}")
        if found is None:
            raise Forbidden("status 404")
        return found


class Names(FakeDnsmasq):
    """dnsmasq of a node."""

    def __init__(self, node: Node) -> None:
        """*node* has the file."""
        super().__init__()
        self._node = node

    async def further(self) -> str:
        return ""

    async def read_hosts(self) -> None:
        """Read the file again."""
        self._node.read_hosts()


def _together(*works: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
    async def run() -> None:
        await asyncio.gather(*works)

    return asyncio.ensure_future(run())


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        if task.done():
            task.result()
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
