"""What is known of a node before an adoption, and which steps does that need?"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

from nodenet.core.adoption.former_chain import (
    BRIDGES,
    BUILTIN,
    COMPANIONS,
    CONFIGURING,
    DNS,
    EVERY_UNIT,
    GATE,
    MAIN,
    MAIN_UNITS,
    MARKER,
    NETWORK_UNITS,
    NODENETD,
    OURS,
    RESOLVER_PATH,
    units_of,
)
from nodenet.core.br_ex.condition import Owner
from nodenet.core.errors import NodenetError
from nodenet.core.ip import IPAddress
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.stage_name import StageName
from nodenet.core.trial import trial as trials
from nodenet.core.value import frozen

LOADED, MASKED = "loaded", "masked"
ACTIVE, INACTIVE, FAILED = "active", "inactive", "failed"
ENABLED_STATES = frozenset({"enabled", "enabled-runtime"})
STARTERS = ("RequiredBy", "WantedBy", "UpheldBy", "TriggeredBy")
RUNNING = frozenset({"active", "activating", "reloading", "refreshing", "deactivating"})


@frozen
class UnitState:
    """A unit as systemd shows it (org.freedesktop.systemd1(5)); *command* is what ExecStart= says, for people.

    *job*: systemd is to start or stop it. *starters* are the units that start it, such as targets and path units.
    *drop_ins* are the paths of its drop-ins.
    """

    load: str = "not-found"
    active: str = "inactive"
    file: str = ""
    command: str = ""
    job: bool = False
    starters: tuple[str, ...] = ()
    drop_ins: tuple[str, ...] = ()

    @property
    def starts(self) -> bool:
        """Whether systemd starts it at boot, or when another unit does."""
        return self.load == LOADED and bool(self.starters)


@frozen
class SeenBridge:
    """A bridge: its name, who made it, the link below, and its profiles that are on disk and in memory (UUIDs)."""

    name: str
    owner: Owner
    uplink: str | None = None
    on_disk: tuple[str, ...] = ()
    in_memory: tuple[str, ...] = ()


@frozen
class AdoptionFacts:
    """The node at one moment.

    *marker*: the marker exists. *missing*, *present*: drop-ins of an adopted node that are not there, that are there.
    *held*: drop-ins keep units of the former chain from starting in this boot. *network_type*, *vips* and *stages* are
    those of the settings. *published* are the node IPs of this boot, *addresses* those of the node. *node_file* is the
    name of a node file that differs from what was applied. *remembered*: nodenetd has a record of bridges. *unfinished*
    is why br-ex cannot be handed back now. *resets* are drop-ins of the administrator that would void ours. *trial* is
    the trial that holds the network, "" where there is none.
    """

    units: Mapping[str, UnitState]
    marker: bool = False
    missing: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    held: bool = False
    network_type: str = ""
    vips: bool = False
    stages: Mapping[str, str] = field(default_factory=dict)
    published: tuple[IPAddress, ...] = ()
    addresses: frozenset[IPAddress] = frozenset()
    bridges: tuple[SeenBridge, ...] = ()
    node_file: str = ""
    remembered: bool = False
    unfinished: str = ""
    resets: tuple[str, ...] = ()
    trial: str = ""

    def unit(self, name: str) -> UnitState:
        """Return the state of a unit; that of a unit that does not exist where systemd has none."""
        return self.units.get(name, UnitState())

    @property
    def former(self) -> tuple[str, ...]:
        """The units of the former chain that this node has and that nodenetd stands in for."""
        return tuple(unit for unit in units_of(self.stages) if self.unit(unit).load == LOADED)

    @property
    def ours(self) -> tuple[SeenBridge, ...]:
        """The bridges that nodenetd made."""
        return tuple(bridge for bridge in self.bridges if bridge.owner is Owner.OURS)

    @property
    def runs(self) -> bool:
        """Whether nodenetd runs, or systemd starts it again and again."""
        return self.unit(NODENETD).active in RUNNING

    @property
    def enabled(self) -> bool:
        """Whether nodenetd is started at boot."""
        return self.unit(NODENETD).file in ENABLED_STATES

    @property
    def hosts(self) -> str:
        """A service of nodenet that runs on this node for the cluster, "" where there is none."""
        return next((unit for unit in (*COMPANIONS[1:], DNS) if self.unit(unit).active in RUNNING), "")

    def builtin(self, stage: StageName) -> bool:
        """Return whether nodenetd does the stage itself."""
        return self.stages.get(stage, BUILTIN) == BUILTIN


def unit_states(text: str) -> dict[str, UnitState]:
    """Return the units of ``systemctl show --property=…``, by their own names.

    An alias of nodenet (``nodenet-compat.target``) has the name of a former unit; its own name is another one.
    """
    found: dict[str, UnitState] = {}
    for block in text.split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if name := values.get("Id"):
            load, active, file, command = (
                values.get(key, "") for key in ("LoadState", "ActiveState", "UnitFileState", "ExecStart")
            )
            starters = tuple(unit for key in STARTERS for unit in values.get(key, "").split())
            job = values.get("Job", "") not in ("", "0")
            found[name] = UnitState(
                load, active, file, command, job, starters, tuple(values.get("DropInPaths", "").split())
            )
    return found


def in_charge(units: Mapping[str, UnitState], stages: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units of the former chain that configure this node at boot and whose stage nodenetd would do too.

    *stages* are those of the settings. A unit that is masked, or that only units of the chain start which nothing
    starts, does not count. Nothing is returned where the chain makes neither node IPs nor br-ex, and where its unit for
    the node IPs is masked: kubelet would start without them.
    """
    started = {
        name
        for name, state in units.items()
        if state.load == LOADED and (state.file in ENABLED_STATES or not set(state.starters) <= set(EVERY_UNIT))
    }
    found = tuple(unit for unit in units_of(stages) if unit in CONFIGURING and unit in started)
    publishers = [unit for unit in units_of(stages) if unit in MAIN[StageName.NODEIP]]
    masked = any(unit in units and units[unit].load == MASKED for unit in publishers)
    without_ips = masked and started.isdisjoint(publishers)
    return () if without_ips or set(found).isdisjoint(MAIN_UNITS) else found


def open_trial(document: Mapping[str, Any] | None) -> str:
    """Return which trial holds the network by a status *document*, "" for none: nodenetd rolls it back when it ends."""
    trial = document.get("trial") if document and "running" not in document else None
    if not trial or trial["state"] not in trials.RUNNING:
        return ""
    return f"a trial of {trial['node_file']} holds the network; {trial['who']} started it"


class Kind(StrEnum):
    """What a step is about; each is done forward (towards nodenet) or backward (towards the former chain)."""

    DROP_INS = "drop-ins"
    ENABLED = "enabled"
    BRIDGE_ON_DISK = "bridge-on-disk"
    OLD_RECORD = "old-record"
    MARKER = "marker"
    NOT_HELD = "not-held"
    PREPENDER_STOPPED = "prepender-stopped"
    RESOLV_CONF = "resolv-conf"
    NODENETD = "nodenetd"
    CHECK = "check"
    FILES_GONE = "files-gone"


class Event(StrEnum):
    """What is to be done with a step."""

    DO = "do"
    UNDO = "undo"


@frozen
class Step:
    """One step: *forward* is towards nodenet. *text* says what it does, *names* what it is about (units, bridges)."""

    kind: Kind
    forward: bool
    text: str
    names: tuple[str, ...] = ()
    back_text: str = ""
    """What undoes it; "": nothing has to."""

    @property
    def undone(self) -> Step | None:
        """The step that undoes this one, None where nothing has to."""
        if not self.back_text:
            return None
        return replace(self, forward=not self.forward, text=self.back_text, back_text=self.text)

    def __str__(self) -> str:
        """Return its name in the record."""
        return f"{self.kind}{'+' if self.forward else '-'}"


@frozen
class Ended:
    """How it ended: the *error* that stopped it, at which *step*, and what could not be undone."""

    error: NodenetError | None = None
    step: Step | None = None
    left: tuple[tuple[Step, NodenetError], ...] = ()


def walk(steps: Sequence[Step]) -> Generator[tuple[Event, int, Step], NodenetError | None, Ended]:
    """Yield each step to do; send the error of a step that failed, and each done step is yielded to be undone.

    The step that failed is undone too: it may be half done. Undoing goes on when it fails: each step that is undone
    is one less to do by hand.
    """
    for index, step in enumerate(steps):
        error = yield Event.DO, index, step
        if error is None:
            continue
        left: list[tuple[Step, NodenetError]] = []
        for number in range(index, -1, -1):
            back = steps[number].undone
            if back is not None and (trouble := (yield Event.UNDO, number, back)) is not None:
                left.append((back, trouble))
        return Ended(error, step, tuple(left))
    return Ended()


# What does each step of an adoption say to the person who reads it, and what undoes it?


def listed(names: tuple[str, ...]) -> str:
    """Return *names* as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def drop_ins_written(units: tuple[str, ...], *, adopted: bool) -> Step:
    """Return the step that writes the drop-ins of *units* and of nodenet's own.

    On an *adopted* node they are only completed, and nothing undoes that: both sides would start in the next boot.
    """
    ours = f"{listed(OURS)} start only while {MARKER} exists"
    if units:  # those of the former chain may have been removed since the adoption
        ours = f"{listed(units)} start only while {MARKER} does not exist, and {listed(OURS)} only while it does"
    text = f"Write drop-ins that let {ours}, and a copy of {GATE} for the case that nodenet gets lost"
    if adopted:
        text = f"{text}; some of them are missing, or from another version"
        return Step(Kind.DROP_INS, forward=True, text=text, names=units)
    text = f"{text}; they have no effect yet"
    return Step(Kind.DROP_INS, forward=True, text=text, names=units, back_text="Remove the drop-ins and the copy")


def drop_ins_removed(units: tuple[str, ...]) -> Step:
    """Return the step that removes the drop-ins."""
    text = f"Remove the drop-ins of {listed((*units, *OURS))}, and the copy of {GATE}"
    return Step(Kind.DROP_INS, forward=False, text=text, names=units, back_text="Write them again")


def bridge_saved(bridges: tuple[str, ...]) -> Step:
    """Return the step that saves the profiles of *bridges*, which are in memory."""
    return Step(
        Kind.BRIDGE_ON_DISK,
        forward=True,
        text=f"Save the profiles of {listed(bridges)} on the disk again",
        names=bridges,
        back_text=f"Keep the profiles of {listed(bridges)} in memory only",
    )


def bridge_in_memory(bridges: tuple[str, ...]) -> Step:
    """Return the step after which the next boot begins without *bridges*."""
    text = (
        f"Remove the profiles of {listed(bridges)} from {KEYFILES}, where the uplink gets its former one; they stay in "
        "NetworkManager's memory, and the running network does not change"
    )
    back = f"Save the profiles of {listed(bridges)} on the disk again"
    return Step(Kind.BRIDGE_ON_DISK, forward=False, text=text, names=bridges, back_text=back)


def files_gone(*, drop_ins: bool) -> Step:
    """Return the step before nodenet is removed; *drop_ins*: those with the node IPs are nodenetd's."""
    programs = ("kubelet", "CRI-O") if drop_ins else ()
    named = f"the drop-ins of {listed(programs)}, " if programs else ""
    text = (
        f"Remove what nodenetd published below /etc: {named}its line in resolv.conf and, where {DNS} runs, that DNS "
        "server"
    )
    return Step(Kind.FILES_GONE, forward=False, text=text, names=programs)


ENABLED = Step(
    Kind.ENABLED,
    forward=True,
    text=f"Enable {NODENETD} and {GATE}, which kubelet and CRI-O wait for from the next boot on",
    names=(NODENETD,),
    back_text=f"Disable {NODENETD} and {GATE}",
)
FORGOTTEN = Step(Kind.OLD_RECORD, forward=True, text="Forget an earlier br-ex that nodenet made")
MARKED = Step(
    Kind.MARKER,
    forward=True,
    text=f"Write {MARKER} and {BRIDGES.name}: nodenet configures this node from the next boot on",
    back_text=f"Remove {MARKER} and {BRIDGES.name}: the former chain configures this node from the next boot on",
)
PREPENDER_STOPPED = Step(
    Kind.PREPENDER_STOPPED,
    forward=True,
    text=f"Stop {RESOLVER_PATH}",
    names=(RESOLVER_PATH,),
    back_text=f"Start {RESOLVER_PATH}",
)
RESOLV_CONF_KEPT = Step(
    Kind.RESOLV_CONF,
    forward=True,
    text="Keep a copy of /etc/resolv.conf for the way back",
    back_text="Write /etc/resolv.conf as it was",
)
RESOLV_CONF_GIVEN_BACK = Step(
    Kind.RESOLV_CONF,
    forward=False,
    text="Write /etc/resolv.conf with the first lines of the former chain; the DNS servers stay",
)
STARTED = Step(
    Kind.NODENETD,
    forward=True,
    text=(
        f"Start {NODENETD} and wait until it is ready; it writes /etc/resolv.conf with its own first lines and the "
        "same DNS servers, and keeps its records in /var/lib/nodenet and /var/lib/ovnk"
    ),
    names=(NODENETD,),
    back_text=f"Stop {NODENETD}; the running network does not change",
)
NOT_HELD = Step(
    Kind.NOT_HELD,
    forward=True,
    text=f"Let {listed(NETWORK_UNITS)} start again as their drop-ins say",
    names=NETWORK_UNITS,
    back_text=f"Keep {listed(NETWORK_UNITS)} from starting until the next boot",
)
CHECK_ADOPTED = Step(
    Kind.CHECK, forward=True, text="Check that node IPs, br-ex and DNS servers are as before, and that no stage failed"
)
CHECK_HANDED_BACK = Step(
    Kind.CHECK, forward=False, text="Check that node IPs, br-ex and DNS servers are as before, and that nodenetd ended"
)
