"""Has a stage ended? For units that are ordered after one stage (nodenet-wait@.service, units/compat/)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from typing import Any

from nodenet.cli.outputs import note
from nodenet.cli.status import Skipped, add_reading, shown, wait
from nodenet.core.adoption.former_chain import Skip
from nodenet.core.stage_name import StageName

SUCCEEDED = ("done", "skipped")
OVER = (*SUCCEEDED, "failed")
"""By the status of a stage: whether it has ended."""
EX_CONFIG = 78
LEFT_TO_OTHERS = (Skip.FORMER_CHAIN, Skip.COMMAND)
"""nodenetd does not start, and the stage is done without it."""
SKIPPED = "the former chain of units configures this node, and nodenetd does not start. See `systemctl status nodenetd`"
UNREPORTED = {"status": "pending", "detail": "nodenetd has not reported yet"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Wait until a stage has ended. Exits 0 when it is done or skipped, 1 when it has failed, 75 when --timeout is "
        "over. Reads the state file only, so it works without the bus and before nodenetd has started."
    )
    parser.add_argument("stage", choices=[name.value for name in StageName], help="the stage to wait for")
    parser.add_argument(
        "--as",
        dest="unit",
        metavar="UNIT",
        help="wait on behalf of this unit; exits 78 if the stage itself waits for that unit",
    )
    add_reading(parser)


def run(arguments: argparse.Namespace) -> int:
    """Wait; return the exit code."""

    def why_not(document: dict[str, Any]) -> str | None:
        return circle(document, arguments.stage, arguments.unit, followed_by) if arguments.unit else None

    reported: list[str] = []

    def answered(document: dict[str, Any]) -> bool:
        if stage_of(document, arguments.stage)["status"] in OVER or why_not(document) is not None:
            return True
        if document["health"] == "failed" and (cause := _cause(document)) not in reported:
            reported.append(cause)  # an administrator may correct it, so the verb continues to wait
            note(f"nodenetd: {cause}")
        return False

    skipped = Skipped()
    document = wait(answered, arguments.timeout, arguments.file, lambda: skipped() in LEFT_TO_OTHERS)
    if skipped.found in LEFT_TO_OTHERS:
        note(f"{arguments.stage} is not waited for: {SKIPPED}")
        return 0
    stage = stage_of(document, arguments.stage) if document else UNREPORTED
    if stage["status"] in SUCCEEDED:
        return 0
    if document and (why := why_not(document)):
        note(f"{arguments.unit}: {why}")
        return EX_CONFIG
    note(f"{arguments.stage} is {stage['status']}: {stage['detail']}")
    return 1 if stage["status"] == "failed" else 75


def stage_of(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the part of the status *document* about the stage *name*."""
    found: dict[str, Any] = next(stage for stage in document["stages"] if stage["name"] == name)
    return found


def _cause(document: dict[str, Any]) -> str:
    error = document["last_error"] or {}
    return ". ".join(filter(None, (error.get("cause"), error.get("remedy"))))


def circle(document: dict[str, Any], stage: str, name: str, followed: Callable[[str], frozenset[str]]) -> str | None:
    """Return why *stage* cannot end before the unit *name* has started; None when it can.

    nodenetd waits for the start of an open stage's `unit:` provider, and systemd holds that start back while
    a unit that it is ordered after is starting. *followed*: what a unit is ordered after.
    """
    for other in document["stages"]:
        provider = other["provider"].removeprefix("unit:")
        if provider != other["provider"] and other["status"] not in OVER:
            if provider == name:
                return f"the settings assign the stage {other['name']} to this unit, but it is only an alias here"
            if not followed(provider).isdisjoint((name, f"nodenet-compat-{name}")):
                return (
                    f"{provider} does the stage {other['name']} and is ordered after this alias. "
                    f"Run `systemctl disable nodenet-compat-{name}`"
                )
        if other["name"] == stage:
            break
    return None


@cache
def followed_by(unit: str) -> frozenset[str]:
    """Return what *unit* is ordered after, aliases included; nothing when systemctl fails."""
    return frozenset(shown(unit, "After").removeprefix("After=").split())
