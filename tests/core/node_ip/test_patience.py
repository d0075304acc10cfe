"""For how long something better is waited for before the first publication."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.node_ip.test_choice import chosen, host
from nodenet.core.ip import Family
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.patience import (
    ANSWER_SECONDS,
    FAMILY_SECONDS,
    PATH_SECONDS,
    SETTLE_SECONDS,
    hoped,
    patience,
)
from nodenet.core.node_ip.pending import Pending
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import Rule

DONE = chosen(host(("eth0", "192.0.2.5", 100), ("eth0", "2001:db8::5", 100)))
LACKING = replace(DONE, missing=(Family.IPV6,))


def test_what_is_complete_is_published_at_once() -> None:
    assert patience(DONE, Policy(), None, None) == 0.0


def test_a_family_that_the_settings_name_is_waited_for() -> None:
    assert patience(LACKING, Policy(families=(Family.IPV4, Family.IPV6)), None, None) == FAMILY_SECONDS


@pytest.mark.parametrize("family", list(Family))
def test_a_router_or_dhcp_server_is_waited_for_in_the_first_boot_only(family: Family) -> None:
    assert patience(DONE, Policy(), None, family) == ANSWER_SECONDS[family]
    assert patience(DONE, Policy(), LastPublished(DONE.node_ips, None), family) == 0.0


def test_what_did_not_come_in_the_boot_before_is_not_waited_for() -> None:
    document = host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50))
    document["addresses"][1]["addr_info"][0]["tentative"] = True  # type: ignore[index]
    selection = chosen(document)
    assert patience(selection, Policy(), None, None) >= SETTLE_SECONDS
    before = LastPublished((), None, in_vain=tuple(item.reason for item in selection.pending))
    assert hoped(selection, before) == []
    assert patience(selection, Policy(), before, None) == 0.0


def test_what_a_hint_asks_for_is_worth_a_minute_though_another_hint_is_satisfied() -> None:
    """Once: where it did not come in the boot before, a short while (R19)."""
    asked = replace(DONE, pending=(Pending(Family.IPV4, "eth0", "its link has no carrier", asked=True),))
    hinted = replace(asked, selected=tuple(replace(item, rule=Rule.HINT) for item in asked.selected))
    assert patience(hinted, Policy(), None, None) == PATH_SECONDS
    assert patience(hinted, Policy(), LastPublished(DONE.node_ips), None) == SETTLE_SECONDS
