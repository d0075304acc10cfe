"""Each cell of the table of `core.change.model`, played on the parts that change a network: one test a cell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import PurePath

import pytest

from fakes import BOOT_ID, FakeClock, FakeFiles, FakeManager, FakeNmstate, FakeProfiles, stage_edges
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.change.model import TABLE, Event, State
from nodenet.core.change.record import Change, What
from nodenet.core.change.way_back import Network
from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.network_manager.state import Checkpoint
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.changes import Changes
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.records import INTENT
from nodenet.stages.apply.undo import PATIENCE_SECONDS, Undo
from stages.apply.test_undo import ETH0, KEPT, PORT, on_eth0

FULL = PublishFailed("No space left on device")
DIED = NmstateFailure(FailureKind.DIED, "the process that runs libnmstate died")


class Kill(BaseException):
    """Nothing of the process runs after it."""


class Disk(FakeFiles):
    """A disk that takes nothing while it is *full*; /run is in memory."""

    full = False

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        if self.full and not path.is_relative_to("/run"):
            raise FULL
        return super().write(path, content, mode)


@dataclass
class Node:
    """A node on whose eth0 a change makes a port of a bridge; *works*: a process has the change open."""

    files: Disk = field(default_factory=Disk)
    profiles: FakeProfiles = field(default_factory=lambda: FakeProfiles(on_eth0(ETH0)))
    manager: FakeManager = field(default_factory=FakeManager)
    clock: FakeClock = field(default_factory=FakeClock)
    works: bool = False
    seen: list[State] = field(default_factory=list)
    during: Callable[[], None] = lambda: None
    refuses: bool = False

    def __post_init__(self) -> None:
        self.profiles.on_give_back = self._given_back
        self.manager.__dict__["roll_back"] = self._rolled_back
        self.start()

    def start(self) -> None:
        """Begin as a new process of nodenetd."""
        self.nmstate = FakeNmstate(during_apply=self._apply)
        parts = {"files": self.files, "manager": self.manager, "profiles": self.profiles, "nmstate": self.nmstate}
        edges = stage_edges(**parts, clock=self.clock)
        self.store = edges.store
        self.changes, self.undo, self.pipeline = Changes(edges), Undo(edges), Pipeline(edges, Settings())
        self.works = False

    @property
    def state(self) -> State:
        if self.changes.open is None:
            return State.NONE
        return State.OPEN if self.works else State.LEFT

    @property
    def as_before(self) -> bool:
        return self.profiles.found == on_eth0(ETH0)

    async def change(self, accept: NodenetError | None = None) -> None:
        """Change the network; *accept* is why it is no success."""

        async def look() -> None:
            if accept:
                raise accept

        self.clock.now += 1
        during = Intent("d" * 64, Phase.APPLYING, BOOT_ID, self.clock.now)
        good = Intent("d" * 64, Phase.GOOD, BOOT_ID, self.clock.now, "d" * 64)
        change = Change(What.NODE_FILE, "worker-0.yml", during, Network(("br-ex", "eth0"), (KEPT,), {"eth0": "u-0"}))
        try:
            await self.pipeline.apply(self.nmstate, "text", change, good, look)
        except (NodenetError, Kill):
            pass
        finally:
            self.works = False

    async def left(self) -> Node:
        """Return the node after a kill in a change, with a process that looks for what is left."""
        self.during = self._kill
        await self.change()
        self.manager.pending = []
        self.during = lambda: None
        self.start()
        assert self.state is State.LEFT
        return self

    def _apply(self) -> None:
        self.clock.now += 1
        self.works = True
        self.manager.pending = [Checkpoint("/checkpoint/1", self.clock.now)]
        self.profiles.found = on_eth0(PORT)
        self.seen.append(self.state)
        self.during()

    def _kill(self) -> None:
        raise Kill

    async def _rolled_back(self, checkpoint: str) -> None:
        self.manager.rolled_back.append(checkpoint)
        self.manager.pending = []
        self.profiles.found = on_eth0(ETH0)

    def _given_back(self, _: KeptProfile) -> None:
        if self.refuses:
            raise Unavailable("NetworkManager refuses Update2")
        self.profiles.found = on_eth0(ETH0)


async def none_and_begin(node: Node) -> None:
    await node.change()
    assert node.seen == [State.OPEN]


async def none_and_end(node: Node) -> None:
    node.start()
    assert await node.undo.first() is None


async def none_and_forgotten(node: Node) -> None:
    node.manager.starts += 1
    assert await node.undo.first() is None
    assert node.profiles.done == []


async def none_and_disk_refuses(node: Node) -> None:
    """The change does not begin: the network is untouched."""
    node.files.full = True
    await node.change()
    assert (node.seen, node.as_before) == ([], True)


async def open_and_commit(node: Node) -> None:
    await node.change()
    assert (node.nmstate.committed, node.as_before) == (["/checkpoint/1"], False)
    result = node.changes.result(INTENT)
    assert result is not None
    assert result.phase is Phase.GOOD


async def open_and_fail(node: Node) -> None:
    """The process that works on it undoes it at once, unless NetworkManager is away."""
    await node.change(accept=DIED)
    assert (node.nmstate.committed, node.as_before, node.state) == ([], True, State.NONE)
    node.during = node.manager.crash
    await node.change(accept=DIED)


async def open_and_end(node: Node) -> None:
    await node.left()


async def open_and_forgotten(node: Node) -> None:
    """NetworkManager rolls nothing back; the profiles do."""

    def again() -> None:
        node.manager.pending, node.manager.starts = [], node.manager.starts + 1
        node.nmstate.fails = [DIED]
        node.seen.append(node.state)

    node.during = again
    await node.change()
    assert node.seen == [State.OPEN, State.OPEN]
    assert await node.undo.first() is None
    assert (node.as_before, node.manager.rolled_back) == (True, [])


async def open_and_disk_refuses(node: Node) -> None:
    """It goes on, and what has happened is true."""

    def full() -> None:
        node.files.full = True
        node.seen.append(node.state)

    node.during = full
    await node.change()
    assert node.seen == [State.OPEN, State.OPEN]
    assert (node.state, node.store.pay()) == (State.NONE, FULL)
    node.files.full = False
    assert node.store.pay() is None


async def left_and_begin(node: Node) -> None:
    """The network before the first of both is the one that comes back."""
    await node.left()
    node.refuses = True
    await node.undo.first()
    node.clock.now += PATIENCE_SECONDS
    assert await node.undo.first() is None
    node.seen.clear()
    node.during = lambda: setattr(node, "opened", node.changes.open)
    await node.change()
    assert node.seen == [State.OPEN]
    opened = node.__dict__["opened"]
    assert opened.before.profiles == (KEPT,)


async def left_and_end(node: Node) -> None:
    await node.left()
    node.start()


async def left_and_forgotten(node: Node) -> None:
    await node.left()
    node.manager.starts += 1


async def left_and_undone(node: Node) -> None:
    await node.left()
    assert await node.undo.first() is None
    assert node.as_before


async def left_and_not_undone(node: Node) -> None:
    """Again, for a bounded time; then a problem that names what is not back."""
    await node.left()
    node.refuses = True
    assert await node.undo.first() is not None
    node.clock.now += PATIENCE_SECONDS
    assert await node.undo.first() is None
    assert node.undo.problem is not None


async def left_and_disk_refuses(node: Node) -> None:
    """The undo goes on; the record is removed once the disk takes that."""
    await node.left()
    node.files.full = True
    assert node.state is State.LEFT


CELLS: dict[tuple[State, Event], Callable[[Node], Awaitable[None]]] = {
    (state, event): globals()[f"{state}_and_{event.replace(' ', '_')}"] for state, event in TABLE
}
SHOWN = {(State.NONE, Event.BEGIN), (State.OPEN, Event.FORGOTTEN), (State.OPEN, Event.DISK_REFUSES)} | {
    (State.LEFT, Event.BEGIN)
}
"""Cells whose next state is one that the process passes: the test has seen it by then."""


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell[0]} and {cell[1]}")
async def test_each_cell_of_the_table(cell: tuple[State, Event]) -> None:
    node = Node()
    await CELLS[cell](node)
    if cell not in SHOWN:
        assert node.state is TABLE[cell]
    else:
        assert TABLE[cell] in node.seen


def test_what_begins_ends() -> None:
    """From each state there is a way to none, and no event leads to a state that is not in the table."""
    ways = {state: {after for (before, _), after in TABLE.items() if before is state} for state in State}
    assert State.NONE in ways[State.OPEN] | ways[State.LEFT]
    assert State.NONE in ways[State.LEFT]
    assert set(TABLE.values()) == set(State)
