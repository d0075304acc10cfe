"""Status documents that several tests look at: a good boot, a degraded one, one that waits."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodenet.core.boot.outcome import Done, Facts, Failed, Problem, Waiting
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus, document

FACTS = Facts(hostname="worker-0", node_file="worker-0.yml", digest="a" * 64, applied_digest="a" * 64)
PROBLEM = Problem(Message.APPLY_FAILED, "worker-0.yml: mtu is 1500", "Compare it with the NIC")


def boot(nmstate: Done | Failed | Waiting) -> dict[str, Any]:
    """Return the status document of a boot in which nmstate ended so and everything else went well."""
    made = new_boot({}, degrade=True)
    for name in StageName:
        outcome = nmstate if name is StageName.NMSTATE else Done("done", FACTS, Message.STARTED)
        made = made.begun(name, 1.0).after(name, outcome, 2.5)
        if isinstance(outcome, Waiting):
            break
    facts = FACTS if isinstance(nmstate, Waiting) else nmstate.facts
    return document(BootStatus(made, facts, "b", ready=made.ready))


GOOD = boot(Done("applied", FACTS, Message.NETWORK_APPLIED))
DEGRADED = boot(Failed(PROBLEM, replace(FACTS, applied_digest=None)))
WAITING = boot(Waiting("NetworkManager is not on the bus yet"))


def provided(**providers: str) -> dict[str, Any]:
    """Return the document of a boot that begins, with these providers."""
    return document(
        BootStatus(new_boot({name.replace("_", "-"): unit for name, unit in providers.items()}, degrade=True))
    )


def asked(state: Path, **options: object) -> argparse.Namespace:
    """Return the command line of `status` or `wait` with *state* as its state file."""
    plain = {"json": False, "wait": False, "timeout": 0.0, "stage": "nmstate", "unit": None, "file": state}
    return argparse.Namespace(**{**plain, **options})
