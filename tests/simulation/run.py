"""One run: a scenario from the first boot to the last look, with every property checked on the way."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from random import Random

from nodenet.core.boot.outcome import Topic
from nodenet.core.boot.stages import Health
from nodenet.core.errors import NodenetError
from nodenet.stages.apply.history import HISTORY
from nodenet.stages.apply.pipeline import UNANSWERED
from nodenet.stages.br_ex.duplicate_checks import PROBE_OWED
from simulation.calm import is_degraded_for_nothing, is_late, look_at_status, status_of
from simulation.disk import is_below
from simulation.engine import Killed
from simulation.faults import Fault, strike
from simulation.process import PERMANENT, Process
from simulation.rules import WAYS_BACK
from simulation.scenario import Scenario, prepare
from simulation.world import World

LOOK_SECONDS = 5.0
RESTART_SECONDS = 5.0
"""RestartSec= of nodenetd.service."""
PATIENCE_SECONDS = 1200.0
"""In which READY comes once the world is fair."""
CALM_SECONDS = 60.0
"""In which a node that is ready stays so, once the world is fair; the status may be behind by 45 s."""
AGAIN_SECONDS = 20.0
"""The same after a restart of the daemon, which is to change nothing."""
AFTERMATH_SECONDS = 30.0
"""The world is fair so long after its last fault is over: an administrator may still boot the node."""
HELD = "kubelet does not start with"
"""What the status says while a failing node file holds kubelet."""
REFUSED_SECONDS = 120.0
"""How long a failure that holds kubelet back is looked at."""
OTHER_INPUTS = frozenset({"node-file-edited", "bridge-remove", "readdressed"})
"""Kinds of faults after which a second run has something to do: it reads an edit, or follows a profile."""
NO_PROFILES = frozenset({"manager-crashes", "manager-hangs", "bus-down", "bus-stalled", "kernel-silent"})
"""Kinds of faults in which the network of an entry of the history cannot be asked for."""
VOLATILE = frozenset({"/run/nodenet/state.json", str(PROBE_OWED)})
"""What a second run may write: the times of the stages, and what NetworkManager is asked again every five minutes."""
ANSWERED_SECONDS = 900.0
LONGEST_SECONDS = 7200.0
"""Within which each run ends. A run that does not waits for something that the world never does."""
TRIED_SECONDS = 300.0
"""In which a trial is over that was asked for in an unfair world: it holds for 100 s."""


Triple = tuple[str, str, str]
"""Stage, call to the outside, kind of fault."""


class Finished(SystemExit):
    """All has been seen."""


@dataclass(slots=True)
class Order:
    """Something that a caller asked of the daemon."""

    name: str
    given: float
    process: Process
    answer: asyncio.Future[None]


class Run:
    """What goes on in one run."""

    calm_seconds = CALM_SECONDS

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.world = World(Random(f"{scenario.seed} runs"))  # noqa: S311  (nothing secret)
        self.process: Process | None = None
        self.processes = 0
        self.struck: Counter[str] = Counter()
        self.covered: Counter[Triple] = Counter()
        self.to_heal: list[Callable[[], None]] = []
        self.healed = False
        self.left = len(scenario.faults)
        """How many faults have not struck, or are not over."""
        self.orders: list[Order] = []
        self.ready_since: float | None = None
        self.refused_since: float | None = None
        self.second_run = False
        self.calls: Counter[str] = Counter()
        """How often each point was passed until all was well for a while."""
        self.writes_before = self.applies_before = 0
        self.entries_before: set[str] = set()
        """The entries of the history that the disk did not take before the second run: it has the file in force."""
        self.lacks_entry = False
        """Whether the history has no entry of the file in force: NetworkManager or the kernel did not answer then."""
        self.ended = ""

    # -- what faults need

    def bus_back(self) -> None:
        """The bus works again: the daemon is connected once more and looks at everything."""
        self.world.bus_up, self.world.bus_stalled = True, False
        self.world.signal(Topic.BUS)

    def order(self, name: str, *given: object, succeeded: Callable[[], None] | None = None) -> None:
        """Ask the daemon for *name*, as a caller on the bus does; *succeeded* is called when that was done."""
        process = self.process
        if process is None or process.reconciler is None or not process.life.alive or not self.world.bus_up:
            return
        self.world.rules.hands.is_ordered()
        answer = asyncio.ensure_future(getattr(process.reconciler, name)(*given), loop=process.loop)
        self.orders.append(Order(name, self.world.now, process, answer))

        def answered(answer: asyncio.Future[None]) -> None:
            if succeeded and not answer.cancelled() and not answer.exception():
                succeeded()

        if succeeded:
            answer.add_done_callback(answered)

    def is_over(self) -> None:
        """Take note that one more fault is over; after the last the world need not wait to be fair."""
        self.left -= 1
        if self.left == 0:
            self.world.after(AFTERMATH_SECONDS, self._heal)

    # -- the run

    def go(self) -> None:
        """Run to the end. Raises Violation."""
        world = self.world
        node = self.scenario.node
        self._prepare()
        world.rules.asked = lambda: self.orders
        next_boot = world.rules.next_boot
        next_boot.struck, next_boot.file_failed = self.struck, self._file_fails
        next_boot.named_by_vips = frozenset({4}) if node.vips or node.families == "ipv4" else frozenset()
        next_boot.holds_kubelet = node.on_failure == "auto"
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

    def _prepare(self) -> None:
        """Put the node's configuration on its disk, and its cables into their sockets."""
        prepare(self.world, self.scenario.node)

    def _live(self) -> None:
        """Let one process of the daemon live, and what follows its end."""
        world = self.world
        if world.needs_boot:  # the power was cut before the daemon began
            world.boot()
        self.process, began = Process(world), world.now
        self.processes += 1
        self.ready_since = None
        with suppress(Killed):
            self.process.run()
        if self.process.exit_code == PERMANENT:
            self.ended = "exit 78"
            return
        if self.process.exit_code not in (None, 0):
            world.rules.blame("P7", f"nodenetd ended with {self.process.exit_code}")
        if self.process.exit_code == 0 and world.manager.running:
            self._look_at_stop(began)
        if world.needs_boot:
            world.timeline.run_until(world.now + world.random.uniform(5.0, 30.0))
            world.boot()
            world.timeline.run_until(world.now + world.random.uniform(0.0, 1.0))
        else:
            world.systemd.active = False
            world.timeline.run_until(world.now + RESTART_SECONDS)
            if world.needs_boot:
                world.boot()

    def _look_at_stop(self, began: float) -> None:
        """P9: no checkpoint is left of a process that *began* then, but one that NetworkManager did not roll back."""
        world, manager = self.world, self.world.manager
        ours = [one for one in manager.memory.points.values() if not one.foreign and one.created >= began]
        left = [one.path for one in ours if one.path not in manager.not_rolled_back]
        bus_works = world.bus_up and not world.bus_stalled
        answers = bus_works and not (manager.hung or world.disk.closed)
        answers = answers and not world.disk.unreadable & WAYS_BACK  # nothing says whose a checkpoint is
        asked = any(UNANSWERED in line.text for line in world.rules.journal if line.now >= began)
        world.rules.hold("P9", f"a stop leaves {left} pending", holds=asked or not (left and answers))

    def _arrange(self, fault: Fault) -> None:
        def begin() -> None:
            self._cover(fault)
            strike(self, fault)

        if fault.point:
            later = begin if fault.at == 0 else lambda: self.world.after(fault.at, begin)
            self.world.on_point.setdefault((fault.point, fault.nth), []).append(later)
        else:
            self.world.after(fault.at, begin)

    @property
    def stage(self) -> str:
        """The stage that runs, ``over`` once all have, nothing before the daemon has stages."""
        if self.process is None or self.process.reconciler is None:
            return ""
        return str(self.process.reconciler.status.boot.current or "over")

    def _cover(self, fault: Fault) -> None:
        self.covered[self.stage, self.world.last_point, fault.kind] += 1

    def _heal(self) -> None:
        if self.healed:
            return
        self.healed = True
        for end in self.to_heal:
            end()
        if not self.world.manager.running and not self.world.needs_boot:
            self.world.manager.start()

    # -- what is looked at from time to time

    def _look(self) -> None:
        world, rules = self.world, self.world.rules
        world.after(LOOK_SECONDS, self._look)
        rules.hold("P10", "this has no end", holds=world.now < LONGEST_SECONDS + self.calm_seconds)
        rules.look_at_darkness()
        rules.look_at_applies()
        self._look_at_orders()
        world.disk.sync() if world.random.random() < 0.2 else None
        world.ovs.sync() if world.random.random() < 0.5 else None
        process = self.process
        if process and process.reconciler and process.life.alive:
            rules.look_at_status(process.reconciler.status)
            rules.look_at_turns(process.reconciler.status.boot)
            rules.look_at_inhibitors(process.reconciler.status.boot)
            rules.look_at_watchdog()
            rules.hands.look(process.reconciler.status)
        reconciler = process.reconciler if process and process.life.alive else None
        ready = bool(world.systemd.active and reconciler and reconciler.status.ready)
        self._look_for_refusal()
        if reconciler and not ready and is_late(self):
            rules.blame("P3", f"no READY in a boot that nothing disturbs: {world.systemd.status!r}")
        if not self.healed or not ready:
            self.ready_since = None
            if (
                world.now
                > 10.0 + self.scenario.healed_after + PATIENCE_SECONDS + (self.calm_seconds + 300) * self.second_run
            ):
                self._not_ready()
            return
        self.ready_since = self.ready_since or world.now
        if world.now - self.ready_since >= (AGAIN_SECONDS if self.second_run else self.calm_seconds):
            self._calm()

    def _file_fails(self) -> bool:
        reconciler = self.process.reconciler if self.process else None
        return reconciler is not None and bool(reconciler.status.boot.file_failure)

    def _look_for_refusal(self) -> None:
        """End a run in which kubelet waits for what has failed, as an administrator has asked."""
        status = self.world.systemd.status
        waits = status.startswith("failed: ") if self.scenario.node.on_failure == "wait" else HELD in status
        if not waits or not self.healed:
            self.refused_since = None
            return
        self.refused_since = self.refused_since or self.world.now
        if self.world.now - self.refused_since > REFUSED_SECONDS:
            self.world.rules.checked["P3"] += 1
            raise Finished

    def _not_ready(self) -> None:
        if self.world.rules.went_on_without_a_record():
            raise Finished
        self.world.rules.hold("P3", f"no READY: {self.world.systemd.status!r}", holds=False)

    def _calm(self) -> None:
        """See whether all is as it should be on a node that has been ready for a while, and a restart does nothing."""
        world, status = self.world, status_of(self)
        if status.trial and status.trial.runs:
            tried = world.now - self.ready_since if self.ready_since else 0.0
            world.rules.hold("P9", f"a trial is not over after {tried:.0f} s", holds=tried < TRIED_SECONDS)
            return
        look_at_status(self)
        if world.rules.unlike_since is not None:
            return
        if is_degraded_for_nothing(self):
            if world.now > 10.0 + self.scenario.healed_after + PATIENCE_SECONDS:
                problems = [problem.cause for _, problem in status.problems]
                world.rules.blame("P3", f"degraded in a fair world: {problems}")
            return
        if world.panics and world.panics.is_coming:
            return
        if not self.second_run:
            self.calls = world.points.copy()
            another_input = self.struck.keys() & OTHER_INPUTS
            if status.health is not Health.OK or another_input:
                raise Finished  # what failed is tried again, and what was edited is read
            self.second_run, self.ready_since = True, None
            self.writes_before, self.applies_before = len(world.disk.writes), len(world.manager.applies)
            self.entries_before = {path for path in world.disk.kept_back if _is_entry(path)}
            entries = [content for path, content in world.disk.content.items() if _is_entry(path)]
            self.lacks_entry = bool(self.struck.keys() & NO_PROFILES) and not any(
                re.search(rb'"digest": "[0-9a-f]', content) for content in entries
            )
            world.kill()
            raise Killed
        torn = world.disk.torn | {str(PurePosixPath(path).with_suffix(".unreadable")) for path in world.disk.torn}
        written = [path for path in world.disk.writes[self.writes_before :] if path not in VOLATILE | torn]
        for path in self.entries_before.intersection(written):
            written.remove(path)  # once
        if self.lacks_entry and (
            first := next((path for path in written if is_below(PurePath(path), str(HISTORY))), "")
        ):
            written.remove(first)
        world.rules.hold("P6", f"a second run wrote {written}", holds=not written)
        applies = len(world.manager.applies) - self.applies_before
        world.rules.hold("P6", f"a second run applied {applies} times", holds=applies == 0)
        raise Finished

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


def _is_entry(path: str) -> bool:
    return is_below(PurePath(path), str(HISTORY))
