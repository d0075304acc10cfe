"""The alerting rules with what the programs write: each fault fires its alert, and a good boot fires none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from alerts import fired
from core.hosted_cluster.test_cluster_status import GOOD as CLUSTER
from core.hosted_services.test_report import GOOD as HOSTED
from core.hosted_services.test_report import MAC, PLAN
from core.persistent_ips.test_bus import DOCUMENT as CLAIMS
from nodenet.core.boot.outcome import Done, Failed, Problem
from nodenet.core.boot.stages import Boot, new_boot
from nodenet.core.hosted_cluster import metrics as operator
from nodenet.core.hosted_cluster.cluster_status import status as cluster_status
from nodenet.core.hosted_services import metrics as hosted
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase
from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.report import Report, ServiceState
from nodenet.core.hosted_services.report import document as hosted_document
from nodenet.core.hosted_services.vips import Sighting
from nodenet.core.messages import Message
from nodenet.core.metrics import Program, ProgramMetrics, text
from nodenet.core.persistent_ips import metrics as ipam
from nodenet.core.stage_name import StageName
from nodenet.core.status import metrics as status
from nodenet.core.status.document import BootStatus, document
from status_cases import DEGRADED, FACTS, GOOD, WAITING

HOUR = 60
NEW = document(BootStatus(new_boot({}, degrade=True)))


def program(name: Program, *events: Message, running: bool = True, started: float = 1.0) -> ProgramMetrics:
    """Return what a program that began at *started* counts after *events*."""
    made = ProgramMetrics(name, "1", started)
    for event in events:
        made.seen(event)
    made.running = running
    return made


def nodenetd(of: dict[str, Any], *events: Message, **run: Any) -> str:
    """Return what nodenetd writes."""
    return text([*status.lines(of), *program(Program.NODENETD, *events, **run).lines()])


def nodenet_hosted(of: Report, *events: Message) -> str:
    """Return what nodenet-hosted writes."""
    return text([*hosted.lines(hosted_document(of)), *program(Program.HOSTED, *events).lines()])


def nodenet_ipam(*events: Message) -> str:
    """Return what nodenet-ipam writes."""
    figures = ipam.Figures()
    for event in events:
        figures.program.seen(event)
    return ipam.text(CLAIMS, figures)


def nodenet_operator(migration: Migration) -> str:
    """Return what nodenet-operator serves."""
    found = cluster_status(replace(CLUSTER, migration=migration), {}, "T")
    return operator.text("1", operator.Figures(), 7, found)


def booted(nmstate: Done | Failed, *, degrade: bool = True, drift: Problem | None = None) -> dict[str, Any]:
    """Return the status document of a boot in which nmstate ended so."""
    made: Boot = new_boot({}, degrade=degrade)
    for name in StageName:
        outcome = nmstate if name is StageName.NMSTATE else Done("done", FACTS, Message.STARTED)
        made = made.begun(name, 1.0).after(name, outcome, 2.5)
    return document(BootStatus(made, nmstate.facts, "b", ready=made.ready, losses=(drift,) if drift else ()))


PROBLEM = Problem(Message.APPLY_FAILED, "mtu is 1500", "Compare it with the NIC")
APPLIED = Done("applied", FACTS, Message.NETWORK_APPLIED)
QUARANTINED = replace(APPLIED, problem=Problem(Message.NODE_FILE_QUARANTINED, "it was lost twice", "Correct it"))
LOST = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.7 is missing", "See to it")
SPLIT = replace(
    HOSTED,
    sightings={
        **HOSTED.sightings,
        PLAN.vips[0].address: Sighting(PLAN.vips[0].address, here=True, others=frozenset({MAC})),
    },
)
HELD_BACK = replace(
    HOSTED, services={Service.HAPROXY: ServiceState(wanted=True, running=False, problem="waits: a port is in use")}
)
GOOD_EVENTS = (Message.NETWORK_APPLIED, Message.NODE_IP_SELECTED, Message.BRIDGE_MADE, Message.RELOADED)


def test_a_good_boot_fires_nothing(tmp_path: Path) -> None:
    """From the first reading on, with a wait as it is usual, with every program, through a restart of nodenetd."""
    boots = [(1, nodenetd(NEW)), (10, nodenetd(WAITING)), (30, nodenetd(GOOD, *GOOD_EVENTS))]
    again = [(2, nodenetd(GOOD, *GOOD_EVENTS, running=False)), (HOUR, nodenetd(GOOD, started=9000.0))]
    node = [
        (length, text + nodenet_hosted(HOSTED, Message.VIP_MOVED) + nodenet_ipam()) for length, text in boots + again
    ]
    rests = [(HOUR, nodenet_operator(Migration(phase))) for phase in (Phase.SELF_HOSTED, Phase.EXTERNAL)]
    assert fired(tmp_path, node, *([rest] for rest in rests)) == set()


@pytest.mark.parametrize(
    ("written", "alerts"),
    [
        (nodenetd(DEGRADED), {"NodenetDegraded"}),
        (nodenetd(booted(Failed(PROBLEM, FACTS), degrade=False)), {"NodenetFailed"}),
        (nodenetd(booted(APPLIED, drift=LOST)), {"NodenetNodeIPMissing", "NodenetDegraded"}),
        (nodenetd(WAITING), {"NodenetWaitingTooLong"}),
        (nodenetd(booted(QUARANTINED)), {"NodenetNodeFileQuarantined", "NodenetDegraded"}),
        (nodenetd(GOOD, running=False), {"NodenetNotRunning"}),
        (nodenet_hosted(SPLIT), {"NodenetVIPTwoHolders", "NodenetHostedDegraded"}),
        (nodenet_hosted(HELD_BACK), {"NodenetHostedWaiting", "NodenetHostedDegraded"}),
        *(
            (nodenet_operator(Migration(phase)), {"NodenetMigrationStuck"})
            for phase in Phase
            if phase not in (Phase.SELF_HOSTED, Phase.EXTERNAL)
        ),
        *(
            (nodenet_operator(Migration(Phase.SELF_HOSTED, outcome=outcome)), {"NodenetMigrationFailed"})
            for outcome in (Outcome.INVALID, Outcome.VERIFY_FAILED, Outcome.ROLLED_BACK)
        ),
    ],
)
def test_a_fault_that_lasts_fires_its_alert(written: str, alerts: set[str], tmp_path: Path) -> None:
    assert fired(tmp_path, [(HOUR, written)]) == alerts


@pytest.mark.parametrize(
    ("before", "after", "alerts"),
    [
        (nodenetd(GOOD), nodenetd(GOOD, Message.ROLLED_BACK), {"NodenetRolledBack"}),
        (nodenetd(GOOD), nodenetd(GOOD, Message.ROLLBACK_FAILED), {"NodenetRollbackFailed"}),
        (nodenet_ipam(), nodenet_ipam(Message.CLAIM_CONFLICT), {"NodenetClaimConflict"}),
    ],
)
def test_an_event_fires_its_alert(before: str, after: str, alerts: set[str], tmp_path: Path) -> None:
    assert fired(tmp_path, [(2 * HOUR, before), (HOUR, after)]) == alerts


def test_an_event_during_a_boot_fires_its_alert(tmp_path: Path) -> None:
    """It happens before the first reading; an equal one in the boot before is no reason to be silent."""
    boots = [nodenetd(GOOD, Message.ROLLED_BACK, started=float(number)) for number in (1, 9000)]
    assert fired(tmp_path, [(HOUR, boots[0])]) == {"NodenetRolledBack"}
    later = [(3 * HOUR, nodenetd(GOOD, started=1.0)), (3, nodenetd(GOOD, running=False)), (HOUR, boots[1])]
    assert fired(tmp_path, later) == {"NodenetRolledBack"}
