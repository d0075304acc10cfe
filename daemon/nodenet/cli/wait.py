"""Is a stage over? For units that order themselves behind one stage (nodenet-wait@.service)."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nodenet.cli.status import add_reading, wait

STAGES = ("hostname", "nmstate", "resolv-prepender", "nodeip", "configure-ovs", "hosted-services")
OVER = ("done", "skipped", "failed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Wait until a stage is over. Exits 0 when it is done or skipped, 1 when it failed, 75 when the time is up. "
        "Reads the state file only, so it works without the bus and before nodenetd has started."
    )
    parser.add_argument("stage", choices=STAGES, help="the stage to wait for")
    add_reading(parser)


def run(arguments: argparse.Namespace) -> int:
    """Wait; return the exit code."""

    def stage_of(document: dict[str, Any]) -> dict[str, Any]:
        return next(stage for stage in document["stages"] if stage["name"] == arguments.stage)

    document = wait(lambda state: stage_of(state)["status"] in OVER, arguments.timeout, arguments.file)
    stage = stage_of(document) if document else {"status": "pending", "detail": "nodenetd has not reported yet"}
    if stage["status"] in OVER[:2]:
        return 0
    print(f"{arguments.stage} is {stage['status']}: {stage['detail']}", file=sys.stderr)
    return 1 if stage["status"] == "failed" else 75
