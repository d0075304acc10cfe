"""Orders: made once, kept while the stage waits, consumed once, whoever does the stage (R21)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Problem, Skipped, Waiting
from nodenet.core.boot.stage_state import EDIT, EVENT, NOTHING, RELOAD, TRIAL, Request
from nodenet.core.boot.stages import new_boot, not_done, reason_to_skip, removal_failed, removal_refused
from nodenet.core.errors import BridgeForeign
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName

NAME = StageName.CONFIGURE_OVS
REMOVE = Request(3, remove_bridge=True)
DONE = Done("done", Facts(), Message.STARTED)
FRESH = new_boot({}, degrade=True)
ORDERED = FRESH.again_from(NAME, REMOVE)


@pytest.mark.parametrize(
    "outcome", [DONE, Skipped("nothing to do", Facts()), Failed(Problem(Message.BRIDGE_FAILED, "c", "r"), Facts())]
)
def test_an_order_is_consumed_when_its_stage_is_over(outcome: Outcome) -> None:
    """However it ended; a later look and a later run get none of it (R21)."""
    boot = ORDERED.begun(NAME, 1.0).after(NAME, outcome, 2.0)
    assert boot[NAME].request == Request(3, who=EVENT)
    assert boot.after(NAME, outcome, 3.0)[NAME].request == Request(3, who=EVENT)
    assert boot.again_from(StageName.HOSTNAME, Request(4, retry_refused=True))[NAME].request == Request(4, True)


def test_an_order_stays_while_its_stage_waits() -> None:
    """Through another run and through a reload: who gave it still waits for it."""
    boot = ORDERED.begun(NAME, 1.0).after(NAME, Waiting("NetworkManager"), 2.0)
    assert boot[NAME].request == REMOVE
    assert boot.begun(NAME, 3.0)[NAME].request == REMOVE
    assert boot.again_from(NAME, Request(4, reselect=True))[NAME].request == Request(4, False, False, True, True)
    reloaded = FRESH.instead_of(boot, Request(5, retry_refused=True))
    assert reloaded[NAME].request == Request(5, retry_refused=True, remove_bridge=True)
    assert reloaded[StageName.NODEIP].request == Request(5, retry_refused=True)


@pytest.mark.parametrize(
    ("before", "after", "who"),
    [
        (Request(4, retry_refused=True, who=RELOAD), Request(5, retry_refused=True, who=EDIT), RELOAD),
        (Request(4, as_read=True, who=TRIAL), Request(5, retry_refused=True, who=EDIT), TRIAL),
        (Request(4, retry_refused=True, who=EDIT), Request(5, retry_refused=True, who=RELOAD), RELOAD),
        (NOTHING, Request(5, retry_refused=True, who=EDIT), EDIT),
    ],
)
def test_an_order_that_was_not_carried_out_stays_one_after_an_edit(before: Request, after: Request, who: str) -> None:
    """Under kubelet an edit alone is no order."""
    assert before.also(after).who == who


def test_only_the_stage_that_was_named_gets_the_order() -> None:
    """Those behind it run again, and try again what was refused."""
    boot = FRESH.again_from(StageName.NODEIP, Request(2, retry_refused=True, by_name=True, reselect=True))
    assert boot[StageName.NMSTATE].request == NOTHING
    assert boot[StageName.NODEIP].request == Request(2, retry_refused=True, by_name=True, reselect=True)
    assert boot[NAME].request == Request(2, retry_refused=True)


def test_the_removal_of_a_bridge_that_a_unit_makes_is_refused() -> None:
    """With the unit and a remedy (R21)."""
    refused = removal_refused(new_boot({NAME: "unit:ovs-configuration.service"}, degrade=True)[NAME], Facts())
    assert str(refused) == (
        "ovs-configuration.service makes br-ex (configure-ovs = 'unit:ovs-configuration.service'), so nodenetd does "
        'not remove it. Set configure-ovs = "builtin" or "skip" and reload, then try again'
    )
    assert removal_refused(FRESH[NAME], Facts()) is None


def test_a_bridge_that_a_later_attempt_has_kept_was_not_removed() -> None:
    """The removal failed, and the next attempt found br-ex as it should be: the order was answered with success."""
    failed = removal_failed(FRESH[NAME], Facts(bridge="br-ex"))
    assert failed is not None
    assert failed.cause == "br-ex could not be removed, and a later attempt has kept it"
    assert removal_failed(FRESH[NAME], Facts()) is None
    brought = removal_failed(FRESH[NAME], Facts(node_file="w.yml", brings_bridge=True, bridge="br-ex"))
    assert isinstance(brought, BridgeForeign)


def test_what_a_failed_stage_keeps_from_running_was_not_done() -> None:
    """A removal was answered with success although br-ex was there: the node file had failed, and the boot waited."""
    stopped = not_done(ORDERED[NAME], Facts(), removal=True)
    assert stopped is not None
    assert stopped.cause == 'configure-ovs is not run: a stage before it failed, and on_failure is "wait"'
    over = ORDERED.begun(NAME, 1.0).after(NAME, Skipped("br-ex removed as requested", Facts()), 2.0)
    assert not_done(over[NAME], Facts(), removal=True) is None
    assert not_done(over[NAME], Facts(bridge="br-ex"), removal=True)
    assert not_done(over[NAME], Facts(bridge="br-ex"), removal=False) is None


def test_a_bridge_that_the_node_file_brings_is_not_removed() -> None:
    """The status would go on to report it, and the next boot would make it again."""
    facts = Facts(node_file="w.yml", brings_bridge=True)
    refused = removal_refused(FRESH[NAME], facts)
    assert refused is not None
    assert refused.cause == "w.yml defines br-ex itself, so nodenetd does not remove it"
    assert refused.remedy == "Take br-ex out of the node file, then run `nodenetctl reload --wait`"
    ordered = replace(FRESH[NAME], request=Request(remove_bridge=True))
    assert reason_to_skip(ordered, facts, "OVNKubernetes") == "w.yml defines br-ex itself, so br-ex stays"
    assert reason_to_skip(ordered, Facts(), "OVNKubernetes") is None
