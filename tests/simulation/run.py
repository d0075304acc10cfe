"""One run: a scenario from the first boot to the last look, with every property checked on the way."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NoReturn

import structlog

from nodenet.core.boot.stages import Health
from nodenet.core.errors import NodenetError
from nodenet.core.status.document import document
from simulation.engine import Killed, Violation
from simulation.faults import Fault, strike
from simulation.process import PERMANENT, Process
from simulation.scenario import MAC, Scenario, prepare, scenario_of
from simulation.wire import Segment
from simulation.world import World

LOOK_SECONDS = 5.0
RESTART_SECONDS = 5.0
"""RestartSec= of nodenetd.service."""
PATIENCE_SECONDS = 1200.0
"""In which READY comes once the world is fair."""
CALM_SECONDS = 60.0
REFUSED_SECONDS = 120.0
"""How long a failure that holds kubelet back is looked at."""
VOLATILE = frozenset({"/run/nodenet/state.json"})
"""What a second run may write: the times of the stages are in it."""
FINE = frozenset({"", "dhcp", "static", "bridge", "empty"})
LEAVE_NOTHING = frozenset(
    {
        *("power-cut", "daemon-killed", "daemon-stopped", "nic-renamed", "wall-clock-steps", "dhcp-slow"),
        *("notifications-lost", "gateway-dead", "bus-down", "vip-comes", "other-profile", "systemd-silent"),
        *("systemd-refuses-reload", "cable-out", "dhcp-silent", "ovs-database-down", "ovs-switch-hangs"),
    }
)
"""Kinds of faults after which a node is as good as new, some time after they are over."""
ANSWERED_SECONDS = 900.0


class Finished(SystemExit):
    """All has been seen."""


@dataclass(slots=True)
class Order:
    """Something that a caller asked of the daemon."""

    name: str
    given: float
    process: Process
    answer: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found; *points* are those that the daemon passed."""

    scenario: Scenario
    rule: str = ""
    text: str = ""
    boots: int = 0
    processes: int = 0
    seconds: float = 0.0
    struck: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    covered: frozenset[tuple[str, str, str]] = frozenset()
    """(stage, point, kind of fault)."""
    journal: tuple[str, ...] = ()
    points: Counter[str] = field(default_factory=Counter)

    @property
    def failed(self) -> bool:
        return bool(self.rule)


class Run:
    """What goes on in one run."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.world = World(Random(f"{scenario.seed} runs"))  # noqa: S311  (nothing secret)
        self.process: Process | None = None
        self.processes = 0
        self.struck: Counter[str] = Counter()
        self.covered: set[tuple[str, str, str]] = set()
        self.to_heal: list[Callable[[], None]] = []
        self.healed = False
        self.orders: list[Order] = []
        self.ready_since: float | None = None
        self.refused_since: float | None = None
        self.second_run = False
        self.writes_before = self.applies_before = 0
        self.ended = ""

    # -- what faults need

    @property
    def uplink_segment(self) -> Segment:
        return self.world.wire.segments[MAC]

    def bus_back(self) -> None:
        """The bus works again: the daemon is connected once more and looks at everything."""
        self.world.bus_up, self.world.bus_stalled = True, False
        from nodenet.core.boot.outcome import Topic  # noqa: PLC0415

        self.world.signal(Topic.BUS)

    def order(self, name: str) -> None:
        """Ask the daemon for *name*, as a caller on the bus does."""
        process = self.process
        if process is None or process.reconciler is None or not process.life.alive or not self.world.bus_up:
            return
        work = getattr(process.reconciler, name)()
        answer = asyncio.ensure_future(work, loop=process.loop)
        self.orders.append(Order(name, self.world.now, process, answer))

    # -- the run

    def go(self) -> None:
        """Run to the end. Raises Violation."""
        world = self.world
        prepare(world, self.scenario.node)
        for fault in self.scenario.faults:
            self._arrange(fault)
        world.after(self.scenario.healed_after, self._heal)
        world.after(LOOK_SECONDS, self._look)
        world.boot()
        world.timeline.run_until(world.now + world.random.uniform(0.0, 1.0))
        try:
            while not self.ended:
                self._live()
        except Finished:
            pass

    def _live(self) -> None:
        """Let one process of the daemon live, and what follows its end."""
        world = self.world
        if world.needs_boot:  # the power was cut before the daemon began
            world.boot()
        self.process = Process(world)
        self.processes += 1
        with suppress(Killed):
            self.process.run()
        if self.process.exit_code == PERMANENT:
            self.ended = "exit 78"
            return
        if self.process.exit_code not in (None, 0):
            world.rules.blame("P7", f"nodenetd ended with {self.process.exit_code}")
        if self.process.exit_code == 0 and world.manager.running:
            left = [one.path for one in world.manager.memory.points.values() if not one.foreign]
            answers = not (world.manager.hung or world.manager.rollback_fails or world.bus_stalled or not world.bus_up)
            world.rules.hold("P9", f"a stop leaves {left} pending", holds=not (left and answers))
        if world.needs_boot:
            world.timeline.run_until(world.now + world.random.uniform(5.0, 30.0))
            world.boot()
            world.timeline.run_until(world.now + world.random.uniform(0.0, 1.0))
        else:
            world.systemd.active = False
            world.timeline.run_until(world.now + RESTART_SECONDS)
            if world.needs_boot:
                world.boot()

    def _arrange(self, fault: Fault) -> None:
        def begin() -> None:
            self._cover(fault)
            strike(self, fault)

        if fault.point:
            later = begin if fault.at == 0 else lambda: self.world.after(fault.at, begin)
            self.world.on_point.setdefault((fault.point, fault.nth), []).append(later)
        else:
            self.world.after(fault.at, begin)

    def _cover(self, fault: Fault) -> None:
        stage = ""
        if self.process and self.process.reconciler:
            stage = str(self.process.reconciler.status.boot.current or "over")
        self.covered.add((stage, fault.point, fault.kind))

    def _heal(self) -> None:
        self.healed = True
        for end in self.to_heal:
            end()
        if not self.world.manager.running and not self.world.needs_boot:
            self.world.manager.start()

    # -- what is looked at from time to time

    def _look(self) -> None:
        world, rules = self.world, self.world.rules
        world.after(LOOK_SECONDS, self._look)
        rules.look_at_darkness()
        rules.look_at_applies()
        self._look_at_orders()
        world.disk.sync() if world.random.random() < 0.2 else None
        world.ovs.sync() if world.random.random() < 0.5 else None
        process = self.process
        if process and process.reconciler and process.life.alive:
            rules.look_at_status(process.reconciler.status)
        ready = bool(world.systemd.active and process and process.reconciler and process.reconciler.status.ready)
        self._look_for_refusal()
        if not self.healed or not ready:
            self.ready_since = None
            if (
                world.now
                > 10.0 + self.scenario.healed_after + PATIENCE_SECONDS + (CALM_SECONDS + 300) * self.second_run
            ):
                self._not_ready()
            return
        self.ready_since = self.ready_since or world.now
        if world.now - self.ready_since >= CALM_SECONDS:
            self._calm()

    def _look_for_refusal(self) -> None:
        """End a run in which an administrator has asked that kubelet waits for what has failed."""
        status = self.world.systemd.status
        waits = self.healed and self.scenario.node.on_failure == "wait" and status.startswith("failed: ")
        if not waits:
            self.refused_since = None
            return
        self.refused_since = self.refused_since or self.world.now
        if self.world.now - self.refused_since > REFUSED_SECONDS:
            self.world.rules.checked["P3"] += 1
            raise Finished

    def _not_ready(self) -> None:
        self.world.rules.hold("P3", f"no READY: {self.world.systemd.status!r}", holds=False)

    def _calm(self) -> None:
        """See whether all is as it should be on a node that has been ready for a while, and a restart does nothing."""
        self._look_at_status()
        world = self.world
        assert self.process is not None
        assert self.process.reconciler is not None
        if self._is_degraded_for_nothing():
            if world.now > 10.0 + self.scenario.healed_after + PATIENCE_SECONDS:
                problems = [problem.cause for _, problem in self.process.reconciler.status.problems]
                world.rules.blame("P3", f"degraded in a fair world: {problems}")
            return
        if not self.second_run:
            another_input = self.struck["node-file-edited"] or self.struck["bridge-remove"]
            if self.process.reconciler.status.health is not Health.OK or another_input:
                raise Finished  # what failed is tried again, and what was edited is read
            self.second_run, self.ready_since = True, None
            self.writes_before, self.applies_before = len(world.disk.writes), len(world.manager.applies)
            world.kill()
            raise Killed
        written = [path for path in world.disk.writes[self.writes_before :] if path not in VOLATILE]
        world.rules.hold("P6", f"a second run wrote {written}", holds=not written)
        applies = len(world.manager.applies) - self.applies_before
        world.rules.hold("P6", f"a second run applied {applies} times", holds=applies == 0)
        raise Finished

    def _is_degraded_for_nothing(self) -> bool:
        """Whether the node is not ok, though nothing is wrong with its inputs and nothing was refused."""
        assert self.process is not None
        assert self.process.reconciler is not None
        node = self.scenario.node
        fine = node.file in FINE and node.kernel_datapath and set(self.struck) <= LEAVE_NOTHING
        renamed = bool(self.struck["nic-renamed"]) and (node.file != "" or node.profile == "static")
        # A file whose result is not as asked for is refused until a reload.
        refused = node.file == "bridge" and bool(self.struck["ovs-database-down"] or self.struck["ovs-switch-hangs"])
        health = self.process.reconciler.status.health
        self.world.rules.checked["P3"] += 1
        return fine and not (renamed or refused) and health is not Health.OK

    def _look_at_orders(self) -> None:
        for order in list(self.orders):
            if order.answer.done() or not order.process.life.alive:
                self.orders.remove(order)
                if order.answer.done() and not order.answer.cancelled() and (error := order.answer.exception()):
                    foreseen = isinstance(error, NodenetError)
                    self.world.rules.hold("P9", f"{order.name} was answered with {error!r}", holds=foreseen)
                continue
            waited = self.world.now - order.given
            self.world.rules.hold(
                "P9", f"{order.name} has no answer after {waited:.0f} s", holds=waited < ANSWERED_SECONDS
            )

    def _look_at_status(self) -> None:
        """P8: what the status says is so."""
        assert self.process is not None
        assert self.process.reconciler is not None
        rules, world = self.world.rules, self.world
        shown = document(self.process.reconciler.status)
        for address in shown["node_ips"]:
            there = any(str(one) == address for link in world.kernel.links.values() for one in link.addresses)
            rules.hold(
                "P8", f"node IP {address} is said to be on the node", holds=there is not shown["node_ips_missing"]
            )
        published = (world.disk.content.get("/run/nodeip-configuration/primary-ip") or b"").decode()
        unwritten = shown["health"] != "ok" and not published  # a problem that names the file, and the reload it needs
        same = unwritten or published in shown["node_ips"]
        rules.hold("P8", f"{published!r} is published, {shown['node_ips']} said", holds=same)
        bridge = shown["bridge"]
        if bridge and shown["health"] == "ok":
            row = world.ovs.rows.get(bridge)
            rules.hold("P8", f"{bridge} is said to be there", holds=row is not None and bridge in world.kernel.links)
        shown_there = json.loads(world.disk.content.get("/run/nodenet/state.json") or b"{}")
        rules.hold("P8", "state.json is not that of now", holds=shown_there.get("ready") is True)
        fine = (
            self.scenario.node.file in ("", "dhcp", "static", "bridge", "empty") and self.scenario.node.kernel_datapath
        )
        if fine and not self.scenario.faults:
            rules.hold("P8", f"no faults, and not ok: {shown['problems']}", holds=shown["health"] == "ok")
        refused = {"missing-nic", "invalid", "unknown-type"}
        if self.scenario.node.file in refused:
            rules.hold("P8", "a file that cannot be applied, and health ok", holds=shown["health"] != "ok")
        self._look_at_others()

    def _look_at_others(self) -> None:
        for uuid in self.world.rules.foreign_profiles:
            there = uuid in self.world.manager.memory.profiles
            self.world.rules.hold("P5", f"the profile {uuid} of another program is gone", holds=there)


def run(scenario: Scenario) -> Result:
    """Return what a run of *scenario* finds."""
    going = Run(scenario)
    rule = text = ""
    with journal_of(going):
        try:
            going.go()
        except Violation as found:
            rule, text = found.rule, str(found)
        finally:
            if going.process is not None and not going.process.loop.is_closed():
                going.process.life.alive = False
                going.process.loop.discard()
    return Result(
        scenario,
        rule,
        text,
        going.world.boots,
        going.processes,
        going.world.now,
        going.struck,
        going.world.rules.checked,
        frozenset(going.covered),
        tuple(f"{line.now:10.3f} {line.level:8} {line.text}" for line in going.world.rules.journal),
        going.world.points,
    )


@contextmanager
def journal_of(going: Run) -> Iterator[None]:
    """Let what is logged go into the run."""
    before = structlog.get_config()

    def take(_: object, level: str, event: MutableMapping[str, Any]) -> NoReturn:
        if going.world.life.alive:
            going.world.rules.said(level, str(event.pop("event")), dict(event))
        raise structlog.DropEvent

    structlog.configure(
        processors=[take],
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)


def smallest(scenario: Scenario, rule: str) -> Scenario:
    """Return *scenario* with as few faults as still violate *rule*."""
    changed = True
    while changed:
        changed = False
        for index in range(len(scenario.faults)):
            fewer = replace(scenario, faults=scenario.faults[:index] + scenario.faults[index + 1 :])
            if run(fewer).rule == rule:
                scenario, changed = fewer, True
                break
    return scenario


def run_seed(seed: int) -> Result:
    """Return what the run of *seed* finds."""
    return run(scenario_of(seed))
