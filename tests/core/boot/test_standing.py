"""Which failures stand from before a reload: the reload is answered well in spite of them (R55)."""

from __future__ import annotations

import pytest

from nodenet.core.boot.outcome import Facts, Failed, Problem
from nodenet.core.boot.stages import Boot, new_boot, standing
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName


def failed(name: StageName, cause: str, message: Message = Message.BRIDGE_FAILED) -> Boot:
    boot = new_boot({}, degrade=True).begun(name, 1.0)
    return boot.after(name, Failed(Problem(message, cause, "Mend it"), Facts()), 2.0)


def test_a_failure_of_the_same_kind_stands() -> None:
    before, after = failed(StageName.CONFIGURE_OVS, "no plugin"), failed(StageName.CONFIGURE_OVS, "no plugin (try 2)")
    assert standing(after, before, same_input=False) == {StageName.CONFIGURE_OVS}


def test_a_new_failure_does_not_stand() -> None:
    assert standing(failed(StageName.CONFIGURE_OVS, "x"), new_boot({}, degrade=True), same_input=True) == frozenset()
    other = failed(StageName.CONFIGURE_OVS, "x", Message.LEASE_LOST)
    assert standing(other, failed(StageName.CONFIGURE_OVS, "x"), same_input=False) == frozenset()


@pytest.mark.parametrize("same_input", [True, False])
def test_a_node_file_that_failed_stands_only_while_it_is_the_same(same_input: bool) -> None:  # noqa: FBT001
    boot = failed(StageName.NMSTATE, "mtu", Message.APPLY_FAILED)
    assert standing(boot, boot, same_input=same_input) == ({StageName.NMSTATE} if same_input else frozenset())
