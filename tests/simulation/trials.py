"""Trials of node files: what is tried, and what a trial must leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nodenet.stages.apply.records import CHANGE
from simulation.disk import NODE_FILES
from simulation.keyfile import Settings, is_port
from simulation.wire import UNUSED

if TYPE_CHECKING:
    from simulation.run import Run

GATEWAY, DEAD_GATEWAY = "192.0.2.1", str(UNUSED)
TRIED_HOST = "66"
NOTHING_ELSE_HAS = (f"192.0.2.{TRIED_HOST}", f"198.51.100.{TRIED_HOST}", DEAD_GATEWAY)
"""Addresses that only files on trial name."""
OTHERS = frozenset({"readdressed", "nic-renamed", "nics-swapped", "other-profile"})
"""Kinds of faults that give the uplink another profile; beside a spare one a later boot makes none by itself."""


@dataclass(slots=True)
class Trials:
    """The trials of a run."""

    content: bytes = b""
    """Of the last file that was tried."""
    profiles: Mapping[str, Settings] = field(default_factory=dict)
    """Those of its link before the first trial: UUID → settings."""
    may_be_confirmed: bool = False
    """Whether a confirmation was asked for; its answer may be lost."""
    confirmed: bytes = b""
    """The content of the file that was confirmed last."""

    def begins(self, content: bytes, profiles: Mapping[str, Settings]) -> None:
        if not self.content:
            self.profiles = profiles
        self.content = content

    def is_confirmed(self) -> None:
        self.confirmed = self.content


def look_at_trials(run: Run, shown: Mapping[str, Any]) -> None:
    """P9: a trial that was not confirmed leaves nothing behind, and one that was its file."""
    rules, world, trials = run.world.rules, run.world, run.world.rules.trials
    if not trials.content:
        return
    is_ok = shown["health"] == "ok"
    rules.hold("P9", f"{CHANGE} is left", holds=not is_ok or str(CHANGE) not in world.disk.content)
    files = [path for path in world.disk.content if path.startswith(f"{NODE_FILES}/") and path.endswith(".yml")]
    installed = [path for path in files if world.disk.content[path] == trials.content]
    if trials.confirmed and not world.disk.torn and not run.struck["node-file-edited"]:
        rules.hold("P9", f"the confirmed file is not among {files}", holds=bool(installed))
    if trials.may_be_confirmed:
        return
    rules.hold("P9", f"{installed} was not confirmed", holds=not installed)
    if not is_ok:
        return
    now = world.manager.memory.profiles
    left = [uuid for uuid, one in now.items() if any(each in str(one.settings) for each in NOTHING_ELSE_HAS)]
    rules.hold("P9", f"the profiles {left} are of a trial that was not confirmed", holds=not left)
    others = run.scenario.node.file or run.struck.keys() & OTHERS  # a node file may be applied again
    for uuid, settings in trials.profiles.items() if not others else ():
        same = uuid in now and (now[uuid].settings == settings or is_port(now[uuid]))  # br-ex may have come later
        rules.hold("P9", f"the profile {uuid} is not as before a trial that was not confirmed", holds=same)
