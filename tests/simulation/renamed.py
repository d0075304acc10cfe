"""P14: a node file that has worked works after its NICs have got other names, and the node says which edit it needs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from nodenet.core.boot.stages import Health
from nodenet.core.errors import NodenetError
from nodenet.core.history.entry import Result
from nodenet.core.messages import Message
from nodenet.core.nmstate.state import still_asked, uplinks
from nodenet.stages.apply.history import History
from simulation.disk import NODE_FILES, DiskOfBoot
from simulation.names import with_names
from simulation.nmstate import Nmstate
from simulation.nmstate_document import document_of

if TYPE_CHECKING:
    from simulation.run import Run

KINDS = frozenset({"nic-renamed", "nics-swapped"})
HARMLESS = frozenset(
    {
        *KINDS,
        *("power-cut", "daemon-killed", "daemon-stopped", "events-flood", "wall-clock-steps", "vip-comes"),
        *("boots-cut-short", "notifications-lost", "node-file-edited", "reload"),
    }
)
"""Kinds of faults that say nothing about a file."""
WORKS = frozenset({"static", "dhcp", "other-lease"})


def rename(run: Run, names: dict[str, str]) -> None:
    """Give NICs other *names*, by MAC, from the next boot on."""
    world = run.world
    world.rules.names_of_file = world.rules.names_of_file or dict(world.nics)
    world.rules.file_worked = world.rules.file_worked is not False and _has_worked(run)
    world.nics |= names
    world.cut_power()


def look_at_renamed(run: Run) -> None:
    """Look at a node that is ready in a fair world: its file is in force, and says that it needs an edit."""
    world, node, rules = run.world, run.scenario.node, run.world.rules
    struck = run.struck.keys()
    if not (rules.file_worked and struck & KINDS and struck <= HARMLESS and node.file in WORKS) or world.disk.torn:
        return
    assert run.process is not None
    assert run.process.reconciler is not None
    status = run.process.reconciler.status
    content = world.disk.content[f"{NODE_FILES}/{node.file_name}"]
    problems = [problem.cause for _, problem in status.problems]
    others = [problem.cause for _, problem in status.problems if problem.message is not Message.LINK_RENAMED]
    rules.hold("P14", f"problems after a rename: {others}", holds=not others)
    digest = hashlib.sha256(content).hexdigest()
    if status.facts.digest != digest:
        return  # an edit that is not read yet
    is_applied = status.facts.applied_digest == digest
    rules.hold("P14", f"the file is not in force after a rename: {problems}", holds=is_applied)
    names = {before: world.nics[mac] for mac, before in world.rules.names_of_file.items()}
    asked, nmstate = document_of(with_names(content.decode(), names)), Nmstate(world.life)
    moved = uplinks(nmstate.state(), ("br-ex",)) if status.facts.bridge else {}
    left = still_asked(nmstate.missing(asked), moved)
    rules.hold("P14", f"the file asks for {left} after a rename", holds=not left)
    other = names["eth0"] != "eth0"
    said = any(problem.message is Message.LINK_RENAMED for _, problem in status.problems)
    rules.hold("P14", f"names {names}, and the status says {problems}", holds=said is other)
    rules.hold("P14", f"health {status.health} with names {names}", holds=not other or status.health is Health.DEGRADED)


def _has_worked(run: Run) -> bool:
    """Whether the history says that the file of this node was in force."""
    disk, node = run.world.disk, run.scenario.node
    content = disk.content.get(f"{NODE_FILES}/{node.file_name}", b"")
    try:
        entries = list(History(DiskOfBoot(disk)).all())  # type: ignore[arg-type]
    except NodenetError:
        return False
    digest = hashlib.sha256(content).hexdigest()
    return any(each.digest == digest and each.result is Result.COMMITTED for each in entries)
