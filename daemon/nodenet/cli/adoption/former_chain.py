"""Does the former chain of units configure this node? ``nodenetd.service`` runs this before nodenetd.

It runs only where a unit file of that chain exists and the node is not adopted. Where the question cannot be answered,
nodenetd starts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import structlog

from nodenet.core.adoption.facts import MASKED, UnitState, in_charge, unit_states
from nodenet.core.adoption.former_chain import CONFIGURING, MAIN_UNITS
from nodenet.core.adoption.wording import listed
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import flat, parse
from nodenet.edge.adoption.interrupted import interrupted
from nodenet.edge.files import settings as settings_files
from nodenet.edge.systemd import journal
from nodenet.edge.systemd.systemctl import is_switched_off, show

log = structlog.get_logger()

IN_CHARGE = 3
"""The exit code that keeps nodenetd from starting; ``core.adoption.skipped`` and the gate of kubelet know it.

No error of Python, of a shell or of systemd has it.
"""


def main() -> int:
    """Return IN_CHARGE where the former chain configures this node, else 0."""
    journal.configure("nodenetd")
    try:
        found = _in_charge(unit_states(show(CONFIGURING)), assigned(_settings()))
    except NodenetError as error:
        log.warning(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return 0
    if not found:
        return 0
    if left := interrupted():
        log.warning(left.cause, message=left.message, cause=left.cause, remedy=left.remedy)
    cause = f"{listed(found)} {'configures' if len(found) == 1 else 'configure'} the network of this node"
    remedy = "Run `nodenetctl adopt` to let nodenetd do that, or assign the stages in `[stages]` of the settings"
    event = f"{cause}: nodenetd does not start. {remedy}"
    log.warning(event, message=Message.FORMER_CHAIN_IN_CHARGE, cause=cause, remedy=remedy)
    return IN_CHARGE


def _in_charge(units: Mapping[str, UnitState], stages: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units in charge. One that a condition of an administrator switches off is like a masked one."""
    found = [unit for unit in in_charge(units, stages) if unit in MAIN_UNITS]
    off = {unit: replace(units[unit], load=MASKED) for unit in found if is_switched_off(unit)}
    return in_charge({**units, **off}, stages)


def _settings() -> list[tuple[str, bytes]]:
    """Return the settings files; none where they cannot be read: nodenetd, which says why, may not be in charge."""
    try:
        return settings_files.read()
    except NodenetError:
        return []


def assigned(documents: Sequence[tuple[str, bytes]]) -> dict[str, str]:
    """Return who does each stage, by settings that may be invalid elsewhere.

    Invalid settings of a program that is not in charge must not matter. Where it is, because they assign to a unit what
    the former chain does, nodenetd starts and says what is wrong; else kubelet would start without it.
    """
    try:
        return dict(parse(documents).settings.stages)
    except NodenetError:
        found = dict(Settings().stages)
    for path, content in documents:
        with suppress(NodenetError):
            for key, value in flat(path, content, {"stages"}):
                if key.startswith("stages.") and isinstance(value, str):
                    found[key.removeprefix("stages.")] = value
    return found


if __name__ == "__main__":
    sys.exit(main())
