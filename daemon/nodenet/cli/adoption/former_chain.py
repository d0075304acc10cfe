"""Does the former chain of units configure this node? ``nodenetd.service`` runs this before nodenetd.

It runs only where a unit file of that chain exists and the node is not adopted. Where the question cannot be answered,
nodenetd starts.
"""

from __future__ import annotations

import sys

import structlog

from nodenet.core.adoption.facts import in_charge, unit_states
from nodenet.core.adoption.former_chain import CONFIGURING
from nodenet.core.adoption.wording import listed
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import parse
from nodenet.edge.files import settings as settings_files
from nodenet.edge.systemd import journal
from nodenet.edge.systemd.systemctl import show

log = structlog.get_logger()

IN_CHARGE = 3
"""The exit code that keeps nodenetd from starting. No error of Python, of a shell or of systemd has it."""


def main() -> int:
    """Return IN_CHARGE where the former chain configures this node, else 0."""
    journal.configure("nodenetd")
    try:
        units = unit_states(show(CONFIGURING))
    except NodenetError as error:
        log.warning(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return 0
    found = in_charge(units, _stages())
    if not found:
        return 0
    cause = f"{listed(found)} {'configures' if len(found) == 1 else 'configure'} the network of this node"
    remedy = "Run `nodenetctl adopt` to let nodenetd do that, or assign the stages in `[stages]` of the settings"
    event = f"{cause}: nodenetd does not start. {remedy}"
    log.warning(event, message=Message.FORMER_CHAIN_IN_CHARGE, cause=cause, remedy=remedy)
    return IN_CHARGE


def _stages() -> dict[str, str]:
    """Return who does each stage. Invalid settings of a program that is not in charge must not matter."""
    try:
        return dict(parse(settings_files.read()).settings.stages)
    except NodenetError:
        return dict(Settings().stages)


if __name__ == "__main__":
    sys.exit(main())
