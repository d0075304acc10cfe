"""The text for a monitoring system."""

from __future__ import annotations

import re
from pathlib import Path

from core.persistent_ips.test_bus import CLAIMED, DOCUMENT
from nodenet.cni import verbs
from nodenet.core.persistent_ips import metrics
from nodenet.core.persistent_ips.cni import Verb


def test_the_text() -> None:
    assert metrics.text(DOCUMENT, {"add": 3}).splitlines()[:10] == [
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


def test_a_name_cannot_break_the_format() -> None:
    document = {**DOCUMENT, "addresses": [{**CLAIMED, "network": 'a"b\\c\nd'}]}
    assert 'network="a\\"b\\\\c\\nd"' in metrics.text(document, {})


def test_every_counter_is_there_from_the_beginning() -> None:
    """A monitoring system sees the first event only if there was a zero before."""
    text = metrics.text(DOCUMENT, {})
    assert [name for name in metrics.COUNTERS if f"\nnodenet_ipam_{name}_total 0\n" not in text] == []


def test_what_is_counted_has_its_counter() -> None:
    source = Path(verbs.__file__).read_text(encoding="utf-8")
    counted = {*re.findall(r'counted\("(\w+)"\)', source), *(verb.lower() for verb in Verb)}
    assert counted == set(metrics.COUNTERS)
