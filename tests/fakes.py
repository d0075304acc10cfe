"""One fake for each port, recording what it was asked as data."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath, PurePosixPath
from typing import Any

from nodenet.core.boot.outcome import Facts, Problem
from nodenet.core.errors import NodenetError, SettingsInvalid, Unavailable
from nodenet.core.hosted_services.model import Here, Inputs, Options
from nodenet.core.hosted_services.plan import NodePlan, plan
from nodenet.core.hosted_services.units import DnsLook, Running
from nodenet.core.hostname import Source
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.network_manager.state import Checkpoint, LeaseMark, ManagerState, Service
from nodenet.core.node_ip.published_files import UnitEnvironment, drop_in_removals, drop_in_variables
from nodenet.core.open_vswitch import OvsBridge, OvsPort
from nodenet.core.ownership.things import NO_OTHERS, Others, Thing, missing
from nodenet.core.probes.questions import Answer
from nodenet.core.resolver import ManagerDns
from nodenet.core.settings.model import ProbeTarget, Settings
from nodenet.core.status.document import BootStatus, document
from nodenet.core.unit_stage import Unit
from nodenet.edge.files.store import Store
from nodenet.loop.reload import Judged, StageSet
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.apply.others import OthersOnLinks

BOOT_ID = "b" * 32


@dataclass
class FakeClock:
    """A clock that stands still until it is moved."""

    now: float = 100.0
    away: float = 0.0

    def boottime(self) -> float:
        return self.now

    def elsewhere(self) -> float:
        return self.away

    def unix(self) -> float:
        return 1_700_000_000 + self.now


@dataclass
class FakePulse:
    """The service manager's side of a loop."""

    seconds: float = 0.05
    beats: list[bool] = field(default_factory=list)

    def beat(self, *, starting: bool) -> None:
        self.beats.append(starting)


@dataclass
class FakeFiles:
    """A disk in a dictionary."""

    content: dict[str, bytes] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    links: dict[str, PurePosixPath] = field(default_factory=dict)
    broken: NodenetError | None = None
    bad: dict[str, NodenetError] = field(default_factory=dict)
    """Paths that can neither be read nor written nor removed, and why."""

    def listing(self, directory: PurePath) -> tuple[str, ...]:
        self._refuse(directory)
        below = [PurePath(path) for path in self.content if PurePath(path).is_relative_to(directory)]
        return tuple(dict.fromkeys(path.relative_to(directory).parts[0] for path in below if path != directory))

    def read_node_file(self, directory: PurePath, name: str) -> bytes:
        return self.content[str(directory / name)]

    def read(self, path: PurePath) -> bytes | None:
        self._refuse(path)
        return self.content.get(str(self.links.get(str(path), path)))

    def leads_to(self, path: PurePath) -> PurePosixPath | None:
        return self.links.get(str(path))

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:  # noqa: ARG002
        if self.broken:
            raise self.broken
        self._refuse(path)
        if self.content.get(str(path)) == content:
            return False
        self.links.pop(str(path), None)
        self.content[str(path)] = content
        self.writes.append(str(path))
        return True

    def remove(self, path: PurePath) -> bool:
        self._refuse(path)
        return self.content.pop(str(path), None) is not None

    def rename(self, path: PurePath, target: PurePath) -> None:
        """Rename a file; a full disk (*broken*) has room for that."""
        self._refuse(target)
        self.content[str(target)] = self.content.pop(str(path))

    def sync(self, directory: PurePath) -> None:
        self._refuse(directory)
        self.writes.append(f"sync {directory}")

    def _refuse(self, path: PurePath) -> None:
        if str(path) in self.bad:
            raise self.bad[str(path)]


@dataclass
class FakeManager:
    """NetworkManager."""

    status: ManagerState = ManagerState.READY
    pending: list[Checkpoint] = field(default_factory=list)
    rolled_back: list[str] = field(default_factory=list)
    dns: object | None = None
    restored: list[object] = field(default_factory=list)
    crashed: bool = False
    starts: int = 1
    extended: list[tuple[str, int]] = field(default_factory=list)

    def crash(self) -> None:
        """Go away, and forget every checkpoint."""
        self.crashed, self.pending, self.starts = True, [], self.starts + 1

    async def owner(self) -> str:
        if self.crashed:
            raise Unavailable("org.freedesktop.NetworkManager is not on the bus")
        return f":1.{self.starts}"

    async def state(self) -> ManagerState:
        return ManagerState.ABSENT if self.crashed else self.status

    def is_away(self) -> bool:
        return self.crashed

    async def checkpoints(self) -> tuple[Checkpoint, ...]:
        if self.crashed:
            raise Unavailable("org.freedesktop.NetworkManager is not on the bus")
        return tuple(self.pending)

    async def fragile_dns(self) -> object | None:
        return self.dns

    async def restore_dns(self, configuration: object) -> None:
        self.restored.append(configuration)

    async def extend(self, checkpoint: str, seconds: int) -> None:
        self.extended.append((checkpoint, seconds))

    async def roll_back(self, checkpoint: str) -> None:
        self.rolled_back.append(checkpoint)
        self.pending = [other for other in self.pending if other.path != checkpoint]


@dataclass
class FakeNmstate:
    """libnmstate: *left* is the difference it reports, *fails* what apply raises, one after another.

    *below* is the difference that is left below *bridges*, where it is another one.
    """

    left: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    fails: list[NodenetError] = field(default_factory=list)
    difference_fails: NodenetError | None = None
    invalid: NodenetError | None = None
    validated: list[str] = field(default_factory=list)
    knows_every_key: bool = False
    below: dict[str, Any] | None = None
    of_policies: dict[str, Any] = field(default_factory=dict)
    bridges: tuple[str, ...] = ()
    compared: Mapping[str, Any] = field(default_factory=dict)
    others: Others = NO_OTHERS
    """What the last comparison left out."""
    patched: frozenset[str] = frozenset()
    """The bridges that the last apply left the patch ports of others on."""
    applied: list[str] = field(default_factory=list)
    committed: list[str | None] = field(default_factory=list)
    during_apply: Callable[[], None] = lambda: None

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[FakeNmstate]:
        yield self

    async def show(self, *, secrets: bool = False) -> dict[str, Any]:  # noqa: ARG002
        return self.shown

    async def validate(self, text: str) -> bool:
        self.validated.append(text)
        if self.invalid:
            raise self.invalid
        return self.knows_every_key

    async def difference(self, text: str, others: Others = NO_OTHERS) -> dict[str, Any]:  # noqa: ARG002
        self.others = others
        if self.difference_fails:
            raise self.difference_fails
        return self.left

    async def compare(self, text: str, state: Mapping[str, Any]) -> dict[str, Any]:
        self.compared = state
        return await self.difference(text)

    async def of_policy(self, text: str, filled: str, state: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        if self.difference_fails:
            raise self.difference_fails
        return self.of_policies

    async def difference_below(self, text: str, bridges: Collection[str], others: Others = NO_OTHERS) -> dict[str, Any]:
        self.bridges = tuple(bridges)
        if self.below is None:
            return await self.difference(text, others)
        return self.below

    async def apply(
        self,
        text: str,
        rollback_timeout: int,  # noqa: ARG002
        seconds: float,  # noqa: ARG002
        made: Callable[[str], None],
        patched: Collection[str] = (),
    ) -> str | None:
        await asyncio.sleep(0)  # what runs beside it has a turn
        self.patched = frozenset(patched)
        self.during_apply()
        made("/checkpoint/1")
        if self.fails:
            raise self.fails.pop(0)
        self.applied.append(text)
        return "/checkpoint/1"

    async def commit(self, checkpoint: str | None) -> None:
        self.committed.append(checkpoint)
        self.left = {}


@dataclass
class FakeOvsdb:
    """Open vSwitch's database: *dead* is why ovs-vswitchd does not answer."""

    up: bool = True
    dead: Unavailable | None = None
    held: tuple[OvsBridge, ...] = ()
    proofs: int = 0
    removed: list[str] = field(default_factory=list)
    parked: int = 0
    marked: list[tuple[str, str, str]] = field(default_factory=list)
    in_kernel: bool = True
    requested: dict[str, int] = field(default_factory=dict)

    def answers(self) -> bool:
        return self.up

    async def prove_alive(self, seconds: float = 5.0) -> None:  # noqa: ARG002
        self.proofs += 1
        if self.dead:
            raise self.dead

    async def has_kernel_datapath(self) -> bool:
        return self.in_kernel

    async def bridges(self) -> tuple[OvsBridge, ...]:
        if not self.up:
            raise self.dead or Unavailable("Open vSwitch's database cannot be reached")
        return self.held

    async def remove_bridge(self, name: str) -> bool:
        self.removed.append(name)
        before = len(self.held)
        self.held = tuple(bridge for bridge in self.held if bridge.name != name)
        return len(self.held) < before

    async def remove_port(self, bridge: str, name: str) -> bool:
        self.removed.append(f"{bridge}/{name}")
        return any(port.name == name for found in self.held if found.name == bridge for port in found.ports)

    async def mark_bridge(self, name: str, key: str, value: str) -> None:
        self.marked.append((name, key, value))

    async def add_port(self, bridge: str, port: OvsPort) -> None:
        self.held = tuple(
            replace(each, ports=(*each.ports, port)) if each.name == bridge else each for each in self.held
        )

    async def request_ofport(self, interface: str, number: int) -> None:
        self.requested[interface] = number

    async def park_ovn(self) -> bool:
        self.parked += 1
        return self.parked == 1


@dataclass
class FakeProfiles:
    """NetworkManager's devices and profiles; *done* are the orders, in order, *on_…* what follows one."""

    found: Inventory = field(default_factory=Inventory)
    done: list[tuple[Any, ...]] = field(default_factory=list)
    on_connect: Callable[[], None] = lambda: None
    on_give_back: Callable[[KeptProfile], None] = lambda _: None
    broken: NodenetError | None = None
    differs: bool = True
    """Whether a profile has not yet what is set."""
    marks: dict[str, LeaseMark] = field(default_factory=dict)

    async def leases(self, links: Collection[str]) -> dict[str, LeaseMark]:
        if self.broken:
            raise self.broken
        return {link: mark for link, mark in self.marks.items() if link in links}

    def _do(self, *order: Any) -> None:
        if self.broken:
            raise self.broken
        self.done.append(order)

    async def inventory(self, *, profiles: bool = True) -> Inventory:
        if self.broken:
            raise self.broken
        if profiles:
            return self.found
        bare = tuple(replace(device, profile=None) for device in self.found.devices)
        return replace(self.found, devices=bare, profiles=())

    async def set(self, uuid: str, changes: Mapping[str, Mapping[str, Any]]) -> bool:
        self._do("set", uuid, changes)
        return self.differs

    async def keep(self, uuid: str) -> KeptProfile:
        profile = next(profile for profile in self.found.profiles if profile.uuid == uuid)
        settings = {section: dict(values) for section, values in profile.settings.items()}
        return KeptProfile(uuid, profile.name, profile.path, not profile.on_disk, settings)

    async def give_back(self, kept: KeptProfile) -> None:
        self._do("give_back", kept)
        self.on_give_back(kept)

    async def load(self, file: str) -> None:
        self._do("load", file)

    async def delete(self, uuid: str) -> bool:
        self._do("delete", uuid)
        return any(profile.uuid == uuid for profile in self.found.profiles)

    async def reapply(self, link: str) -> None:
        self._do("reapply", link)

    async def ask_again(self, link: str) -> None:
        self._do("ask_again", link)

    async def activate(self, uuid: str, link: str) -> None:
        self._do("activate", uuid, link)

    async def connect(self, link: str) -> None:
        self._do("connect", link)
        self.on_connect()

    async def disconnect(self, link: str) -> None:
        self._do("disconnect", link)


@dataclass
class FakeSysctls:
    """Settings of links: link → name → value; *broken* is what a write raises, *writes* what was given."""

    values: dict[str, dict[str, str]] = field(default_factory=dict)
    broken: NodenetError | None = None
    writes: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def of_link(self, link: str) -> dict[str, str]:
        return dict(self.values.get(link, {}))

    def read(self, link: str, name: str) -> str | None:
        return self.values.get(link, {}).get(name)

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        if self.broken:
            raise self.broken
        self.writes.append((link, dict(values)))
        own = self.values.setdefault(link, {})
        changed = tuple(name for name, value in values.items() if own.get(name) != value)
        own.update(values)
        return changed


@dataclass
class FakeNeighbours:
    """Links on which *there* answer."""

    there: set[IPAddress] = field(default_factory=set)
    asked: list[tuple[IPAddress, str]] = field(default_factory=list)
    on: dict[str, tuple[Neighbour, ...]] = field(default_factory=dict)
    announced: list[tuple[str, IPAddress]] = field(default_factory=list)

    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:  # noqa: ARG002
        self.asked.append((address, link))
        return address in self.there

    def known(self, link: str) -> tuple[Neighbour, ...]:
        return self.on.get(link, ())

    def learn(self, link: str, neighbours: Iterable[Neighbour]) -> None:
        self.on[link] = (*self.on.get(link, ()), *neighbours)

    def announce(self, link: str, addresses: Iterable[IPAddress]) -> None:
        self.announced += [(link, address) for address in addresses]


@dataclass
class FakeRivals:
    """Other hosts that claim addresses: *claims* is what each question hears."""

    claims: dict[IPAddress, frozenset[str]] = field(default_factory=dict)
    asked: list[tuple[tuple[IPAddress, ...], str]] = field(default_factory=list)
    closed: int = 0

    def ask(self, addresses: Iterable[IPAddress], link: str) -> None:
        self.asked.append((tuple(addresses), link))

    def heard(self) -> Mapping[IPAddress, frozenset[str]]:
        return self.claims

    def close(self) -> None:
        self.closed += 1


@dataclass
class FakeKernel:
    """Links, addresses, routes; addresses that no server can listen on."""

    now: Snapshot = field(default_factory=Snapshot)
    unbindable: set[IPv4Address | IPv6Address] = field(default_factory=set)
    broken: NodenetError | None = None
    raised: list[str] = field(default_factory=list)

    def snapshot(self) -> Snapshot:
        if self.broken:
            raise self.broken
        return self.now

    def can_bind(self, address: IPv4Address | IPv6Address, link_index: int) -> bool:  # noqa: ARG002
        return address not in self.unbindable and any(item.address == address for item in self.now.addresses)

    def set_up(self, link: str) -> None:
        if self.broken:
            raise self.broken
        self.raised.append(link)


@dataclass
class FakeStanding:
    """What other programs have on links: *there*. The kernel refuses those that are *refused*."""

    there: tuple[Thing, ...] = ()
    refused: frozenset[str] = frozenset()
    broken: NodenetError | None = None

    def noted(self) -> tuple[Thing, ...]:
        if self.broken:
            raise self.broken
        return self.there

    def take(self, things: Iterable[Thing]) -> None:
        self.there = missing(self.there, things)

    def put(self, things: Iterable[Thing]) -> tuple[tuple[Thing, str], ...]:
        wanted = tuple(things)
        taken = tuple(each for each in wanted if each.name[0] not in self.refused)
        self.there = (*self.there, *missing(taken, self.there))
        return tuple((each, "Network is unreachable") for each in wanted if each not in taken)


@dataclass
class FakeSystemd:
    """systemd's manager."""

    reloads: int = 0
    broken: NodenetError | None = None
    running: set[str] = field(default_factory=set)
    stands: Service | None = None
    started: int = 0
    refuses: str | None = None
    silent: bool = False
    """Whether it does not answer which units run."""
    deaf: bool = False
    """Whether a reload succeeds and reads nothing."""
    units: dict[str, UnitEnvironment] = field(default_factory=dict)
    """The units whose environment can be asked for, as systemd read them last."""
    disk: dict[str, bytes] = field(default_factory=dict)
    """Where it reads drop-ins from."""
    unanswered: NodenetError | None = None
    seen: dict[str, bytes] = field(default_factory=dict)
    """The drop-ins as it read them last."""

    async def service(self, name: str) -> Service | None:  # noqa: ARG002
        return self.stands

    async def start_failed(self, name: str) -> str | None:  # noqa: ARG002
        self.started += 1
        return self.refuses

    async def reload(self) -> None:
        if self.broken:
            raise self.broken
        self.reloads += 1
        if not self.deaf:
            self.read()

    def read(self) -> None:
        """Take up the drop-ins that are on the disk."""
        for unit in self.units:
            drop_ins = sorted(path for path in self.disk if path.startswith(f"/etc/systemd/system/{unit}.d/"))
            variables: dict[str, str] = {}
            for path in drop_ins:
                variables |= drop_in_variables(self.disk[path])
            removals = tuple(word for path in drop_ins for word in drop_in_removals(self.disk[path]))
            paths, known = tuple(map(PurePosixPath, drop_ins)), self.units[unit]
            self.units[unit] = replace(known, variables=variables, drop_ins=paths, removals=removals)
        self.seen = self._drop_ins()

    def _drop_ins(self) -> dict[str, bytes]:
        return {path: content for path, content in self.disk.items() if path.startswith("/etc/systemd/system/")}

    async def any_runs(self, units: Sequence[str]) -> bool | None:
        return None if self.silent else not self.running.isdisjoint(units)

    async def environment(self, unit: str) -> UnitEnvironment | None:
        if self.unanswered:
            raise self.unanswered
        known = self.units.get(unit)
        return known and replace(known, needs_reload=self.seen != self._drop_ins())


@dataclass
class FakeUnits:
    """systemd's units: one, that stands as the test says."""

    now: Unit = field(default_factory=lambda: Unit("other.service", "other.service"))
    job_ended: str | None = None
    started: list[str] = field(default_factory=list)
    broken: NodenetError | None = None
    refuses: NodenetError | None = None

    async def unit(self, name: str) -> Unit:
        if self.broken:
            raise self.broken
        return replace(self.now, name=name)

    async def start(self, unit: Unit) -> None:
        self.started.append(unit.name)
        if self.refuses:
            raise self.refuses

    def ended(self, unit: Unit) -> str | None:  # noqa: ARG002
        return self.job_ended


@dataclass
class FakeProcesses:
    """The variables and arguments of the main processes of units; a unit that is not named does not run."""

    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    arguments: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def kubelet_arguments(self, unit: str) -> Sequence[str] | None:
        return self.arguments.get(unit)

    def environment(self, unit: str) -> Mapping[str, str] | None:
        return self.environments.get(unit)


@dataclass
class FakeHost:
    """The host's name."""

    named: str = "worker-0"
    taken: list[str] = field(default_factory=list)
    refuses: str | None = None

    def name(self) -> str:
        return self.named

    async def take(self, name: str) -> str | None:
        if self.refuses:
            return self.refuses
        self.taken.append(name)
        self.named = name
        return None


@dataclass
class FakeDnsManager:
    """NetworkManager's DnsManager."""

    known: ManagerDns | None = None
    repeated: int = 0
    read: int = 0
    """How often it was asked to read its configuration."""
    busy: str | None = None
    """Why it does not."""

    async def dns(self) -> ManagerDns | None:
        return self.known

    async def read_configuration(self) -> str | None:
        self.read += 1
        return self.busy

    async def repeat_lookups(self) -> str | None:
        self.repeated += 1
        return None


@dataclass
class FakeResolved:
    """systemd-resolved."""

    running: bool = False
    reloads: int = 0
    broken: NodenetError | None = None

    async def runs(self) -> bool:
        return self.running

    async def reload(self) -> None:
        if self.broken:
            raise self.broken
        self.reloads += 1


@dataclass
class FakeProbe:
    """DNS servers that answer."""

    servers: set[IPv4Address | IPv6Address] = field(default_factory=set)
    asked: list[tuple[IPv4Address | IPv6Address, str]] = field(default_factory=list)
    ports: set[tuple[IPv4Address | IPv6Address, int]] = field(default_factory=set)
    """Addresses and ports of servers on other ports than DNS's own."""

    async def answers(self, address: IPv4Address | IPv6Address, name: str, port: int | None = None) -> bool:
        if port is not None:
            return (address, port) in self.ports
        self.asked.append((address, name))
        return address in self.servers


@dataclass
class FakeTargets:
    """Targets of the settings: *answer* is what each gives, where *answering* has no other."""

    answer: Answer = Answer.NO
    answering: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def answers(self, target: ProbeTarget, seconds: float) -> Answer:  # noqa: ARG002
        self.asked.append(str(target))
        return self.answering.get(str(target), self.answer)


@dataclass
class FakeNodeDns:
    """DNS of this node: *found* is what each look returns."""

    found: DnsLook = field(default_factory=DnsLook)
    is_wanted: bool = False
    looks: list[tuple[IPAddress, ...]] = field(default_factory=list)
    inputs: Inputs = field(default_factory=lambda: Inputs(Options(), Here("worker-0")))
    other_stack: bool = False
    stuck: Problem | None = None

    async def look(self, facts: Facts, known: tuple[IPAddress, ...]) -> DnsLook:  # noqa: ARG002
        self.looks.append(known)
        return self.found

    async def judged(self, facts: Facts) -> NodePlan:  # noqa: ARG002
        return NodePlan(plan(self.inputs), self.inputs)

    async def waits(self, facts: Facts) -> bool:  # noqa: ARG002
        return self.other_stack


@dataclass
class FakeServiceUnits:
    """Units of hosted services by name; an order is kept, and changes nothing unless *obeys*."""

    now: dict[str, Running] = field(default_factory=dict)
    orders: list[tuple[str, str]] = field(default_factory=list)
    broken: NodenetError | None = None
    obeys: bool = True

    def _order(self, what: str, unit: str, active: str) -> None:
        if self.broken:
            raise self.broken
        self.orders.append((what, unit))
        if self.obeys:
            self.now[unit] = Running("loaded", active)

    async def state(self, unit: str) -> Running:
        if self.broken:
            raise self.broken
        return self.now.get(unit, Running("loaded", "inactive"))

    async def start(self, unit: str) -> None:
        self._order("start", unit, "active")

    async def stop(self, unit: str) -> None:
        self._order("stop", unit, "inactive")

    async def reload(self, unit: str) -> None:
        self._order("reload", unit, "active")

    async def restart(self, unit: str) -> None:
        self._order("restart", unit, "active")


@dataclass
class FakeTable:
    """A table of nft: its rules, None where there is none."""

    rules: str | None = None
    puts: int = 0
    broken: NodenetError | None = None

    async def put(self, rules: str) -> None:
        if self.broken:
            raise self.broken
        self.rules, self.puts = rules, self.puts + 1

    async def remove(self) -> None:
        self.rules = None

    async def is_there(self) -> bool:
        return self.rules is not None

    async def printed(self) -> str:
        return self.rules or ""


@dataclass
class FakeLeaseNames:
    """Names that DHCP servers gave this host."""

    given: tuple[Source, ...] = ()

    async def names(self) -> tuple[Source, ...]:
        return self.given


@dataclass
class FakeWatch:
    """Somebody who is shown every status."""

    shown: list[BootStatus] = field(default_factory=list)

    def show(self, status: BootStatus) -> None:
        self.shown.append(status)

    @property
    def last(self) -> dict[str, Any]:
        return document(self.shown[-1])


@dataclass
class FakeInputs:
    """Settings and node file on a disk; *make* builds the plant of the settings."""

    make: Callable[[], StageSet]
    now: Settings = field(default_factory=Settings)
    refuse: SettingsInvalid | None = None
    file: tuple[str | None, str | None] = (None, None)
    """Name and digest."""
    bad: NodenetError | None = None
    """What speaks against the file."""
    fails: NodenetError | None = None
    """Why it cannot be judged."""
    plants: int = 0

    def settings(self) -> Settings:
        if self.refuse:
            raise self.refuse
        return self.now

    def node_file(self, settings: Settings, facts: Facts) -> Facts:  # noqa: ARG002
        return replace(facts, node_file=self.file[0], digest=self.file[1], unused=None)

    async def judge(self, settings: Settings, facts: Facts) -> Judged:
        await asyncio.sleep(0)
        if self.fails:
            raise self.fails
        return Judged(self.node_file(settings, facts), self.bad)

    def build_stages(self, settings: Settings) -> StageSet:  # noqa: ARG002
        self.plants += 1
        return self.make()


def others_on_links(**given: Any) -> OthersOnLinks:
    """Return what others have on links, over fakes but for those that are *given*."""
    edges = stage_edges(**given)
    return OthersOnLinks(edges.standing, edges.kernel, edges.profiles, edges.ovsdb, edges.files)


def stage_edges(**given: Any) -> StageEdges:
    """Return every edge that a stage may be built with: fakes, but for those that are *given*."""
    clock, manager, systemd = FakeClock(), FakeManager(), FakeSystemd()
    edges: dict[str, Any] = {
        "host": FakeHost(),
        "leases": FakeLeaseNames(),
        "files": FakeFiles(),
        "manager": manager,
        "nmstate": FakeNmstate(),
        "ovsdb": FakeOvsdb(),
        "profiles": FakeProfiles(),
        "sysctls": FakeSysctls(),
        "neighbours": FakeNeighbours(set()),
        "kernel": FakeKernel(),
        "standing": FakeStanding(),
        "systemd": systemd,
        "dns": FakeDnsManager(),
        "resolved": FakeResolved(),
        "resolver_probe": FakeProbe(),
        "targets": FakeTargets(),
        "node_dns": lambda _: FakeNodeDns(),
        "service_units": FakeServiceUnits(),
        "redirect": FakeTable(),
        "units": FakeUnits(Unit("other.service", "other.service")),
        "processes": FakeProcesses(),
        "clock": clock,
        "boot_id": BOOT_ID,
    } | given
    edges.setdefault("store", Store(edges["files"], KEYFILES))
    edges.setdefault("presence", NetworkManagerStarter(edges["manager"], edges["systemd"], edges["clock"]))
    return StageEdges(**edges)
