"""Which units are the former chain, which stage does each of them do, and which files decide who does it?

The units may be files of a MachineConfig in /etc, which nothing else may change, and kubelet's target may require them:
a masked unit would keep kubelet from starting. A drop-in with a condition does neither: systemd skips the unit, and
what requires it starts (systemd.unit(5), ``ConditionPathExists=``). All drop-ins have the same condition, the marker:
one rename(2) changes who configures the node in the next boot. The marker is a link to nodenet's program, so that it
exists for systemd only while nodenet does: without nodenet, the former chain starts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import PurePosixPath

from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.record_version import fields
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

MARKER = PurePosixPath("/etc/nodenet/adopted")
BRIDGES = PurePosixPath("/etc/nodenet/adopted-bridges")
"""Through this link, systemd sees whether profiles of a br-ex are on the disk."""
MARKS: Mapping[PurePosixPath, PurePosixPath] = {MARKER: PurePosixPath("/usr/libexec/nodenetd"), BRIDGES: KEYFILES}
"""The links of an adopted node, in the order in which they are made, and where they lead."""
BUILTIN = "builtin"
"""The provider of a stage that nodenetd does itself (``[stages]`` of the settings)."""
NODENETD, GATE = "nodenetd.service", "nodenet-ready.service"
OURS = (NODENETD, GATE)
COMPANIONS = ("nodenet-hosted.service", "nodenet-keepalived.service", "nodenet-haproxy.service")
DNS = "nodenet-dnsmasq.service"
RESOLVER_PATH = "on-prem-resolv-prepender.path"
"""Runs all the time; the other units end."""
MTU_MIGRATION = "mtu-migration.service"
"""Works with the names of the former chain's profiles."""
UNITS: Mapping[StageName, tuple[str, ...]] = {
    StageName.HOSTNAME: ("node-valid-hostname.service",),
    StageName.NMSTATE: ("nmstate-configuration.service",),
    StageName.RESOLV_PREPENDER: (RESOLVER_PATH, "on-prem-resolv-prepender.service"),
    StageName.NODEIP: (
        "nodeip-configuration.service",
        "nodeip-configuration-vsphere-upi.service",
        "wait-for-node-ip.service",
    ),
    StageName.CONFIGURE_OVS: ("ovs-configuration.service", "wait-for-br-ex-up.service"),
}
"""Stage → the units that did it."""
MAIN: Mapping[StageName, tuple[str, ...]] = {
    StageName.NODEIP: UNITS[StageName.NODEIP][:2],
    StageName.CONFIGURE_OVS: UNITS[StageName.CONFIGURE_OVS][:1],
}
"""Stage → the units of which one must start for kubelet to start."""
MAIN_UNITS = (*MAIN[StageName.NODEIP], *MAIN[StageName.CONFIGURE_OVS])
NETWORK_UNITS = (*UNITS[StageName.NMSTATE], *UNITS[StageName.CONFIGURE_OVS][:1])
"""These delete br-ex when they run in a boot that did not begin with them."""
BRIDGE_UNITS = (*NETWORK_UNITS, *UNITS[StageName.CONFIGURE_OVS][1:])
"""Where nodenet is gone and its br-ex is on the disk, NetworkManager makes br-ex, and these would break it or wait."""
EVERY_UNIT = tuple(unit for units in UNITS.values() for unit in units)
CONFIGURING = (
    *UNITS[StageName.NMSTATE],
    *UNITS[StageName.RESOLV_PREPENDER],
    *UNITS[StageName.NODEIP][:2],
    *UNITS[StageName.CONFIGURE_OVS][:1],
)
"""These change the network of the node or publish its IPs; the others check or wait."""

_SYSTEM, _VOLATILE = PurePosixPath("/etc/systemd/system"), PurePosixPath("/run/systemd/system")
_NAME = "90-nodenet-adopt.conf"
_HELD = "91-nodenet-hand-back.conf"
"""Another name: of two drop-ins with one name, systemd reads only that in /etc (systemd.unit(5))."""
GATE_FILE, GATE_COPY = PurePosixPath("/usr/lib/systemd/system", GATE), _SYSTEM / GATE
"""kubelet requires the gate through a link in /etc: without nodenet, and without this copy, it could not start."""
_EMPTY_CONDITION = re.compile(r"^[ \t]*Condition\w*[ \t]*=[ \t]*$", re.MULTILINE)
_WHO = "# Made by `nodenetctl adopt`, removed by `nodenetctl hand-back`.\n"


def drop_ins(units: Iterable[str]) -> dict[PurePosixPath, bytes]:
    """Return the drop-ins of *units* and of nodenet's own, by path: each side starts only on its side of the marker.

    A system extension with nodenet must be merged before systemd looks at the marker.
    """
    skipped = {
        _SYSTEM / f"{unit}.d" / _NAME: _drop_in(
            "After=systemd-sysext.service",
            f"ConditionPathExists=!{MARKER}",
            *([f"ConditionPathExistsGlob=!{BRIDGES}/br-ex*-if*.nmconnection"] if unit in BRIDGE_UNITS else []),
        )
        for unit in units
    }
    return skipped | {_SYSTEM / f"{unit}.d" / _NAME: _drop_in(f"ConditionPathExists={MARKER}") for unit in OURS}


def gate_copy(gate: bytes | None, there: bytes | None) -> bytes | None:
    """Return what the copy of *gate* is to be, None where none is made; *there* is the present one.

    A unit of an administrator or of the installer of a system extension is left alone, and so is a mask.
    """
    return _WHO.encode() + gate if gate is not None and (there is None or is_copy(there)) else None


def is_copy(there: bytes | None) -> bool:
    """Return whether the gate in /etc is the copy of an adoption."""
    return there is not None and there.startswith(_WHO.encode())


def all_drop_ins() -> tuple[PurePosixPath, ...]:
    """Return where a drop-in may be."""
    return tuple(drop_ins(EVERY_UNIT))


def held(units: Iterable[str]) -> dict[PurePosixPath, bytes]:
    """Return drop-ins that keep *units* from starting until the next boot, which empties /run."""
    return {_VOLATILE / f"{unit}.d" / _HELD: _drop_in("ConditionPathExists=!/run") for unit in units}


def drops_conditions(path: PurePosixPath, text: str) -> bool:
    """Return whether the drop-in *path* with *text* voids the condition of an adoption.

    An empty condition removes all that were read before, of whatever kind; systemd reads drop-ins in the order of their
    names, whichever directory they are in (systemd.unit(5)).
    """
    return path.name > _NAME and _EMPTY_CONDITION.search(text) is not None


def adopted_units(present: Iterable[str]) -> tuple[str, ...]:
    """Return the units of the former chain that have one of the drop-ins *present*."""
    units = {PurePosixPath(path).parent.name.removesuffix(".d") for path in present}
    return tuple(unit for unit in EVERY_UNIT if unit in units)


def units_of(stages: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units whose stage nodenetd does itself; *stages* are those of the settings."""
    return tuple(unit for stage, units in UNITS.items() if stages.get(stage, BUILTIN) == BUILTIN for unit in units)


def _drop_in(*lines: str) -> bytes:
    return "\n".join((f"{_WHO}[Unit]", *lines, "")).encode()


# How is it remembered on disk how far an adoption is?

PATH = PurePosixPath("/var/lib/nodenet/adoption.json")
VERSION = 1
REMEDY = "`nodenetctl adopt` completes the way to nodenet, `nodenetctl hand-back` the way to the former chain"


@frozen
class AdoptionRecord:
    """How far *verb* is: *steps* by name, *done* of them are done, the next one has begun.

    *boot_id*: the boot in which it began. *undoing*: a step failed.
    """

    verb: str
    boot_id: str
    steps: tuple[str, ...]
    done: int = 0
    undoing: bool = False

    def interrupted(self, *, marker: bool, same_boot: bool) -> Problem:
        """Return what an administrator must know of a run that never ended, and what completes it."""
        what = "undoing" if self.undoing else f"step {self.done + 1} of {len(self.steps)}"
        when = "in this boot" if same_boot else "before the last boot"
        side = "nodenet" if marker else "the former chain"
        cause = (
            f"A `nodenetctl {self.verb}` was interrupted {when} ({what}): {MARKER} "
            f"{'exists' if marker else 'does not exist'}, so {side} configures this node at every boot"
        )
        return Problem(Message.ADOPTION_FAILED, cause, REMEDY)


def render(record: AdoptionRecord) -> bytes:
    """Return the record as it is stored."""
    return json.dumps({"version": VERSION, **asdict(record)}, indent=1).encode() + b"\n"


def parse(content: bytes) -> AdoptionRecord:
    """Return the record from its bytes. Raises ValueError when they are torn, wrong, or of another version."""
    found = fields(content, VERSION)
    found.pop("resolv_conf", None)  # the first records had it
    try:
        record = AdoptionRecord(**{**found, "steps": tuple(found["steps"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a complete record: {error}") from error
    typed = all(isinstance(text, str) for text in (record.verb, record.boot_id, *record.steps))
    if not (typed and isinstance(record.done, int) and isinstance(record.undoing, bool)):
        raise ValueError("not a record: a value has another type")
    return record


# Why does systemd skip nodenetd? It does not start then, and there is nothing to wait for.

PROPERTIES = "LoadState,ActiveState,Job,Result,ExecCondition,ConditionResult,ConditionTimestampMonotonic"
"""What ``systemctl show`` is asked for."""
_ANSWER = re.compile(r"former-chain.* status=(\d+) }$")
"""How our own condition ended: 0, or 3 where the former chain is in charge. Any other code is that of a failure."""


class Skip(StrEnum):
    """Why systemd skips nodenetd, for people."""

    FORMER_CHAIN = "the former chain of units configures this node"
    COMMAND = "a command of ExecCondition= in its unit says so"
    CONDITION = "a condition of its unit is not met"
    MASKED = "its unit is masked"

    @property
    def remedy(self) -> str:
        """What an administrator does about it."""
        if self is Skip.FORMER_CHAIN:
            return "Run `nodenetctl adopt` to let nodenetd do that"
        if self is Skip.MASKED:  # the mask is in /etc or in /run, and nothing else starts nodenetd in this boot
            return "Run `systemctl unmask nodenetd; systemctl unmask --runtime nodenetd; systemctl start nodenetd`"
        return "Run `systemctl status nodenetd`"


def why_skipped(shown: str) -> Skip | None:
    """Return why by what ``systemctl show`` prints of nodenetd.service, None where it starts, runs or has run.

    systemd takes a condition that could not be run for one that is not met (systemd.service(5), ``ExecCondition=``).
    The gate starts nodenetd again then.
    """
    pairs = [line.split("=", 1) for line in shown.splitlines() if "=" in line]
    values = dict(pairs)
    if values.get("Result") == "exec-condition":
        found = (_ANSWER.search(text) for name, text in pairs if name == "ExecCondition")
        answer = next((match[1] for match in found if match), "0")
        return {"0": Skip.COMMAND, "3": Skip.FORMER_CHAIN}.get(answer)
    if values.get("LoadState") == "masked":
        return Skip.MASKED
    looked = values.get("ConditionTimestampMonotonic", "0") != "0" and values.get("Job", "0") in ("", "0")
    unmet = values.get("ConditionResult") == "no" and values.get("ActiveState") == "inactive"
    return Skip.CONDITION if looked and unmet else None
