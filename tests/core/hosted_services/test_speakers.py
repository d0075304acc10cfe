"""Which end of a process leaves VIPs behind, and which addresses may be removed."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.speakers import has_died, removable, speaks, stale
from nodenet.core.kernel.snapshot import Address

VIP, OTHER, NODE = (ip_address(text) for text in ("192.0.2.2", "192.0.2.9", "192.0.2.10"))
PROCESSES = {10: "keepalived", 11: "keepalived", 12: "kill"}


@pytest.mark.parametrize(("ended", "died"), [({10}, True), ({11, 12}, True), ({12}, False), (set(), False)])
def test_only_the_end_of_the_program_counts(ended: set[int], died: bool) -> None:  # noqa: FBT001
    """And not that of the command by which systemd reloads it."""
    assert has_died(PROCESSES, ended, "keepalived") is died


def test_a_unit_without_the_program_does_not_speak() -> None:
    assert speaks(PROCESSES, "keepalived")
    assert not speaks({12: "kill"}, "keepalived")


def test_stale_are_the_vips_that_are_on_a_link() -> None:
    present = (Address(VIP, 24, "br-ex"), Address(NODE, 24, "br-ex"))
    assert stale(present, {VIP, OTHER}) == present[:1]
    assert stale(present, ()) == ()


def test_nothing_is_removable_beside_another_stack_or_without_duties() -> None:
    made = plan(read_inputs(CASES / "control-plane"))
    vips = frozenset(duty.address for duty in made.vips)
    assert vips
    assert removable(made, [NODE], alone=True) == vips
    assert removable(made, [NODE], alone=False) == frozenset()
    for case in ("user-managed-lb", "platform-none", "remote-worker"):
        assert removable(plan(read_inputs(CASES / case)), [NODE], alone=True) == frozenset(), case


def test_a_node_ip_is_never_removed() -> None:
    """A wrong setting names it as a VIP."""
    made = plan(read_inputs(CASES / "control-plane"))
    first = made.vips[0].address
    assert first not in removable(replace(made), [first], alone=True)
