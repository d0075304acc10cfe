"""What is worth a wait, and with which reason?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from node_ip_cases import CASES, read_case
from nodenet.core.node_ip.pending import Pending


def awaited(case: str) -> tuple[Pending, ...]:
    """Return what is worth a wait in a case of the fixtures."""
    return read_case(CASES / case).selection().pending


@pytest.mark.parametrize("case", ["hint-own-no-carrier", "hint-own-no-carrier-required", "hint-own-first-of-several"])
def test_the_address_of_a_hint_is_waited_for(case: str) -> None:
    """Its link has no carrier: no other address of the subnet takes its place at once, nor does a later hint (R19)."""
    (item,) = awaited(case)
    assert item.link == "eth0"
    assert item.reason == "hint 192.0.2.5 (policy.toml) is on eth0, but eth0 has no carrier"


def test_an_address_that_another_host_has_may_be_corrected() -> None:
    """The hint means it and not its neighbour (R19)."""
    (item,) = awaited("hint-own-duplicate")
    words = "another host has the same address (duplicate address detection failed)"
    assert item.reason == f"hint 2001:db8::5 (policy.toml) is on eth0, but {words}"


def test_a_required_hint_gives_the_reason_of_the_wait() -> None:
    case = read_case(CASES / "hint-own-no-carrier-required")
    assert case.selection().waiting == "hint 192.0.2.5 (policy.toml) is on eth0, but eth0 has no carrier"
    without = replace(case, policy=replace(case.policy, hint_required=False))
    assert without.selection().waiting is None
