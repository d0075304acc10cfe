"""Which steps does this node still need to be adopted, or to be handed back? None: there is nothing to do.

The node can be switched off at each moment. Before the marker exists, the drop-ins have no effect; with it, all of them
have. So a node boots with the former chain or with nodenet, never with both or with none.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodenet.core.adoption.facts import ACTIVE, AdoptionFacts
from nodenet.core.adoption.former_chain import NETWORK_UNITS, RESOLVER_PATH
from nodenet.core.adoption.refusals import refuse_adoption, refuse_hand_back, refuse_unfinished
from nodenet.core.adoption.steps import Step
from nodenet.core.adoption.wording import (
    CHECK_ADOPTED,
    CHECK_HANDED_BACK,
    ENABLED,
    FORGOTTEN,
    MARKED,
    NOT_HELD,
    PREPENDER_STOPPED,
    RESOLV_CONF_GIVEN_BACK,
    RESOLV_CONF_KEPT,
    STARTED,
    bridge_in_memory,
    bridge_saved,
    drop_ins_removed,
    drop_ins_written,
    files_gone,
)
from nodenet.core.stage_name import StageName

NOTHING_TO_ADOPT = "This node is adopted already: there is nothing to do."
NOTHING_TO_HAND_BACK = "This node is not adopted: there is nothing to hand back."
HANDED_BACK = "nodenetd does not configure this node any more."
NOW = f"{HANDED_BACK} The former chain does, now and at every boot."
NEXT_BOOT = (
    f"{HANDED_BACK} The former chain does from the next boot on. Until then br-ex stays as it is, and "
    f"{' and '.join(NETWORK_UNITS)} do not start."
)
NOT_IN_THIS_BOOT = (
    f"{HANDED_BACK} The former chain does from the next boot on. No node IP was published in this boot, and kubelet "
    "waits for one: reboot the node."
)
BACKWARD = {step: step.undone or step for step in (ENABLED, MARKED, PREPENDER_STOPPED, STARTED, NOT_HELD)}


def adoption(facts: AdoptionFacts) -> tuple[Step, ...]:
    """Return the steps that are left. Raises AdoptionRefused."""
    steps = tuple(_adoption(facts))
    if steps and not facts.marker:
        refuse_adoption(facts)
    return (*steps, CHECK_ADOPTED) if steps else ()


def hand_back(facts: AdoptionFacts) -> tuple[Step, ...]:
    """Return the steps that are left. Raises AdoptionRefused."""
    steps = tuple(_hand_back(facts))
    if steps and facts.marker:
        refuse_hand_back(facts)
    return (*steps, CHECK_HANDED_BACK) if steps else ()


def uninstall(facts: AdoptionFacts) -> tuple[Step, ...]:
    """Return the steps before nodenet is removed: the node is handed back, or loses what nodenetd published.

    A node whose former chain is gone keeps nothing of nodenet. Raises AdoptionRefused.
    """
    steps: tuple[Step, ...] = ()
    if (facts.marker or facts.present) and facts.former:  # also what a hand-back that was killed has left
        refuse_unfinished(facts)
        return (*_hand_back(facts), CHECK_HANDED_BACK)
    if facts.marker or facts.present:
        steps = (BACKWARD[MARKED], drop_ins_removed(facts.former))
    # Drop-ins of another program, which does that stage, are the same to the byte.
    files = () if facts.former else (files_gone(drop_ins=facts.builtin(StageName.NODEIP)),)
    return (BACKWARD[STARTED], *steps, *files) if facts.runs else (*steps, *files)


def handed_back(facts: AdoptionFacts, steps: tuple[Step, ...]) -> str:
    """Return what is so after *steps* of a hand-back or an uninstallation; *facts* are those of before."""
    if CHECK_HANDED_BACK in steps and not facts.published and facts.builtin(StageName.NODEIP):
        return NOT_IN_THIS_BOOT
    if BACKWARD[NOT_HELD] in steps or (CHECK_HANDED_BACK in steps and facts.held):
        return NEXT_BOOT
    return NOW if CHECK_HANDED_BACK in steps else HANDED_BACK


def _adoption(facts: AdoptionFacts) -> Iterator[Step]:
    if facts.missing:
        yield drop_ins_written(facts.former, adopted=facts.marker)
    if not facts.enabled:
        yield ENABLED
    if in_memory := tuple(bridge.name for bridge in facts.ours if bridge.in_memory):
        yield bridge_saved(in_memory)
    if facts.remembered and not facts.ours and not facts.marker:
        yield FORGOTTEN
    if RESOLVER_PATH in facts.former and facts.unit(RESOLVER_PATH).active == ACTIVE:
        yield PREPENDER_STOPPED  # before the marker: what undoes it can start the unit only without the marker
    if not facts.marker:
        yield MARKED
    if facts.held:
        yield NOT_HELD  # only now: without the marker, these units would delete the br-ex that nodenetd made
    if not facts.runs:
        yield RESOLV_CONF_KEPT
        yield STARTED


def _hand_back(facts: AdoptionFacts) -> Iterator[Step]:
    if not (facts.marker or facts.present):
        return
    if facts.runs:
        yield BACKWARD[STARTED]
    if facts.ours and not facts.held:
        yield BACKWARD[NOT_HELD]
    if on_disk := tuple(bridge.name for bridge in facts.ours if bridge.on_disk):
        yield bridge_in_memory(on_disk)
    if facts.marker:
        yield BACKWARD[MARKED]
    if facts.enabled:
        yield BACKWARD[ENABLED]
    yield RESOLV_CONF_GIVEN_BACK
    if RESOLVER_PATH in facts.former:
        yield BACKWARD[PREPENDER_STOPPED]
    yield drop_ins_removed(facts.former)  # last: without them there is nothing to hand back any more
