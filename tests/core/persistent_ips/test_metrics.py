"""The text for a monitoring system."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from core.persistent_ips.test_bus import DOCUMENT
from nodenet.cni import verbs
from nodenet.core.persistent_ips import effects, metrics
from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.persistent_ips.effects import ListLeases
from nodenet.core.persistent_ips.metrics import Figures


def test_the_text() -> None:
    figures = Figures()
    figures.counts["add"] = 3
    assert metrics.text(DOCUMENT, figures).splitlines()[:10] == [
        "# HELP nodenet_ipam_addresses Addresses that this node knows, by network and state.",
        "# TYPE nodenet_ipam_addresses gauge",
        'nodenet_ipam_addresses{network="blue",state="attached"} 1',
        'nodenet_ipam_addresses{network="red",state="attached"} 1',
        "# HELP nodenet_ipam_problems Problems that `nodenetctl claims` shows.",
        "# TYPE nodenet_ipam_problems gauge",
        "nodenet_ipam_problems 1",
        "# HELP nodenet_ipam_add_total Calls of the CNI verb ADD.",
        "# TYPE nodenet_ipam_add_total counter",
        "nodenet_ipam_add_total 3",
    ]


def test_durations_are_there_by_verb_and_by_request() -> None:
    figures = Figures()
    figures.verbs[Verb.ADD].observe(0.02)
    figures.request(ListLeases(""), 0.3)
    lines = metrics.text(DOCUMENT, figures).splitlines()
    assert 'nodenet_ipam_cni_duration_seconds_bucket{verb="ADD",le="0.01"} 0' in lines
    assert 'nodenet_ipam_cni_duration_seconds_bucket{verb="ADD",le="0.025"} 1' in lines
    assert 'nodenet_ipam_cni_duration_seconds_count{verb="DEL"} 0' in lines
    assert 'nodenet_ipam_api_duration_seconds_sum{verb="list",resource="leases"} 0.300000' in lines
    assert len([line for line in lines if line.startswith("nodenet_ipam_api_duration_seconds_count")]) == 9


def test_every_request_of_the_effects_has_its_histogram() -> None:
    waits = {effects.AwaitClaim}
    assert set(get_args(effects.ApiEffect)) - waits == set(metrics.REQUESTS)


def test_what_is_counted_has_its_counter() -> None:
    source = Path(verbs.__file__).read_text(encoding="utf-8")
    counted = {*re.findall(r'counted\("(\w+)"\)', source), *(verb.lower() for verb in Verb)}
    assert counted == set(metrics.COUNTERS)
