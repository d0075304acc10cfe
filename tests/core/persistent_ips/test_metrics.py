"""The text for a monitoring system."""

from __future__ import annotations

from core.persistent_ips.test_bus import CLAIMED, DOCUMENT
from nodenet.core.persistent_ips import metrics


def test_the_text() -> None:
    assert metrics.text(DOCUMENT, {"calls_add": 3}).splitlines() == [
        "# HELP nodenet_ipam_addresses Addresses that this node knows, by network and state.",
        "# TYPE nodenet_ipam_addresses gauge",
        'nodenet_ipam_addresses{network="blue",state="attached"} 1',
        'nodenet_ipam_addresses{network="red",state="attached"} 1',
        "# HELP nodenet_ipam_problems Problems that `nodenetctl claims` shows.",
        "# TYPE nodenet_ipam_problems gauge",
        "nodenet_ipam_problems 1",
        "# HELP nodenet_ipam_calls_add_total Calls add since the service started.",
        "# TYPE nodenet_ipam_calls_add_total counter",
        "nodenet_ipam_calls_add_total 3",
    ]


def test_a_name_cannot_break_the_format() -> None:
    document = {**DOCUMENT, "addresses": [{**CLAIMED, "network": 'a"b\\c\nd'}]}
    assert 'network="a\\"b\\\\c\\nd"' in metrics.text(document, {})
