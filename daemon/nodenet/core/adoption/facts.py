"""What must be known of a node before it is adopted or handed back?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from nodenet.core.adoption.former_chain import (
    BUILTIN,
    COMPANIONS,
    CONFIGURING,
    DNS,
    EVERY_UNIT,
    MAIN,
    MAIN_UNITS,
    NODENETD,
    units_of,
)
from nodenet.core.br_ex.condition import Owner
from nodenet.core.ip import IPAddress
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
