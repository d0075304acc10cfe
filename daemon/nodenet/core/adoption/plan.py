"""Which steps does this node still need to be adopted, or to be handed back? None: there is nothing to do.

The node can be switched off at each moment. Before the marker exists, the drop-ins have no effect; with it, all of them
have. So a node boots with the former chain or with nodenet, never with both or with none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

from nodenet.core.adoption.former_chain import (
    MAIN,
    MARKER,
    MTU_MIGRATION,
    NETWORK_UNITS,
    NODENETD,
    RESOLVER_PATH,
    UNITS,
    adopted_units,
)
from nodenet.core.adoption.steps import (
    ACTIVE,
    CHECK_ADOPTED,
    CHECK_HANDED_BACK,
    ENABLED,
    ENABLED_STATES,
    FAILED,
    FORGOTTEN,
    LOADED,
    MARKED,
    MASKED,
    NOT_HELD,
    PREPENDER_STOPPED,
    RESOLV_CONF_GIVEN_BACK,
    RESOLV_CONF_KEPT,
    RUNNING,
    STARTED,
    AdoptionFacts,
    Step,
    bridge_in_memory,
    bridge_saved,
    drop_ins_removed,
    drop_ins_written,
    files_gone,
)
from nodenet.core.br_ex.condition import Owner
from nodenet.core.errors import NodenetError
from nodenet.core.stage_name import StageName

# Is the node in a state that can be adopted or handed back? If not, why, and what helps?
#
# Nothing was changed when one of these is raised: it is asked before the first step.

NOT_BACK = "this node cannot be handed back"
_WORD = re.compile(r"[0-9a-fA-F.:]+")


class AdoptionRefused(NodenetError):
    """The node is not in a state that can be adopted or handed back: nothing was changed."""

    exit_code = 1


def refuse_adoption(facts: AdoptionFacts) -> None:
    """Raise AdoptionRefused where *facts* are not those of a node on which the former chain has done its work."""
    questions = (_no_program, _nothing_to_adopt, _resets, _unsettled, _addresses, _bridge, _name_servers, _node_file)
    for question in questions:
        for cause, remedy in question(facts):
            raise AdoptionRefused(f"this node cannot be adopted: {cause}", remedy=remedy)


def refuse_hand_back(facts: AdoptionFacts) -> None:
    """Raise AdoptionRefused where the former chain could not take the node back."""
    for question in (_nothing_to_go_back_to, _would_not_start, _hosts):
        for cause, remedy in question(facts):
            raise AdoptionRefused(f"{NOT_BACK}: {cause}", remedy=remedy)
    refuse_unfinished(facts)


def refuse_unfinished(facts: AdoptionFacts) -> None:
    """Raise AdoptionRefused where br-ex cannot be handed back now, or a trial would be cut off."""
    for cause, remedy in _unfinished(facts):
        raise AdoptionRefused(f"{NOT_BACK}: {cause}", remedy=remedy)


_Answers = Iterator[tuple[str, str]]


def _no_program(facts: AdoptionFacts) -> _Answers:
    state = facts.unit(NODENETD).load
    if state == MASKED:
        yield f"{NODENETD} is masked", f"Run `systemctl unmask {NODENETD}`"
    elif state != LOADED:
        yield f"systemd has no {NODENETD}", "Install nodenet whole, then run `systemctl daemon-reload`"


def _nothing_to_adopt(facts: AdoptionFacts) -> _Answers:
    if not facts.former:
        yield (
            "it has no unit of the former chain that does a stage of nodenetd",
            f"Run `systemctl enable --now {NODENETD}`; see also [stages] in `nodenetctl settings`",
        )


def _resets(facts: AdoptionFacts) -> _Answers:
    for path in facts.resets:
        yield (
            f"{path} has an empty condition, which voids that of an adoption",
            f"Remove the empty `Condition…=` from {path}, then run `systemctl daemon-reload`",
        )


def _unsettled(facts: AdoptionFacts) -> _Answers:
    for name in facts.former:
        state = facts.unit(name).active
        if facts.unit(name).job:
            yield (
                f"{name} is about to be started or stopped",
                "Wait until `systemctl list-jobs` does not name it",
            )
        if state == FAILED:
            yield f"{name} has failed", f"Look at `systemctl status {name}`, and repair the node first"
        if state in RUNNING and state != ACTIVE:
            yield f"{name} has not ended ({state})", f"Wait until it has: `systemctl status {name}`"
    if facts.unit(MTU_MIGRATION).file in ENABLED_STATES:
        yield f"{MTU_MIGRATION} is enabled: the MTU of the cluster is being changed", "Wait for the end of that change"


def _addresses(facts: AdoptionFacts) -> _Answers:
    if not facts.builtin(StageName.NODEIP):
        return
    if not facts.published:
        files = "/run/nodeip-configuration/primary-ip"
        yield f"no node IP is published in this boot ({files})", "Look at `systemctl status nodeip-configuration`"
    for address in facts.published:
        if address not in facts.addresses:
            yield f"the published node IP {address} is not on this node", "Look at `ip address`; reboot the node"


def _bridge(facts: AdoptionFacts) -> _Answers:
    if not facts.builtin(StageName.CONFIGURE_OVS):
        return
    for bridge in facts.bridges:
        if bridge.owner in {Owner.FOREIGN, Owner.LEFT_OVER}:
            yield (
                f"{bridge.name} was not made by the former chain, by a node file or by nodenet",
                f"Remove it with the program that made it; see `ovs-vsctl list bridge {bridge.name}`",
            )
    made = next((bridge.name for bridge in facts.bridges if bridge.owner is Owner.OLD_SCRIPT), None)
    if made and facts.network_type != "OVNKubernetes":
        yield (
            f"it has {made}, and nodenetd would not make it again: `network_type` is {facts.network_type!r}",
            'Set `network_type = "OVNKubernetes"` in /etc/nodenet/nodenet.toml',
        )


def _name_servers(facts: AdoptionFacts) -> _Answers:
    if not facts.builtin(StageName.RESOLV_PREPENDER) or facts.vips:
        return
    if facts.unit(RESOLVER_PATH).load == LOADED:
        known = vips_of(facts)
        named = f" (nodeip-configuration.service names {', '.join(known)})" if known else ""
        yield (
            f"{RESOLVER_PATH} writes resolv.conf for the VIPs of the cluster, and the settings name no VIPs{named}",
            "Set `api_vips`, `ingress_vips`, `cluster_domain` and `platform` in /etc/nodenet/nodenet.toml",
        )


def vips_of(facts: AdoptionFacts) -> tuple[str, ...]:
    """Return the addresses that the former chain's unit gives to its program: VIPs, and hints."""
    found: dict[str, None] = {}
    for unit in UNITS[StageName.NODEIP]:
        for word in _WORD.findall(facts.unit(unit).command):
            try:
                found[str(ip_address(word))] = None
            except ValueError:
                continue
    return tuple(found)


def _node_file(facts: AdoptionFacts) -> _Answers:
    if facts.node_file and facts.builtin(StageName.NMSTATE):
        yield (
            f"the node file {facts.node_file} is not what the former chain applied, and nodenetd would apply it",
            "Reboot the node, or restore the file as it was; change it after the adoption",
        )


def _nothing_to_go_back_to(facts: AdoptionFacts) -> _Answers:
    if not facts.former:
        yield (
            "the units of the former chain are gone, and without them it has no node IP in the next boot",
            f"Install them again, or leave the node to nodenet: {MARKER} does no harm",
        )


def _would_not_start(facts: AdoptionFacts) -> _Answers:
    units = adopted_units(facts.present)
    needed = [(StageName.NODEIP, "node IP")]
    if any(bridge.owner in {Owner.OURS, Owner.OLD_SCRIPT} for bridge in facts.bridges):
        needed.append((StageName.CONFIGURE_OVS, "br-ex"))
    for stage, what in needed:
        some = [unit for unit in MAIN[stage] if unit in units]
        if some and facts.builtin(stage) and not any(facts.unit(unit).starts for unit in some):
            state = facts.unit(some[0]).load
            how = {LOADED: "enable", MASKED: "unmask"}.get(state)
            why = "not enabled" if state == LOADED else state
            yield (
                f"{some[0]} is {why}, and without it the node has no {what} in the next boot",
                f"Run `systemctl {how} {some[0]}`" if how else "Install it again, or leave the node to nodenet",
            )


def _hosts(facts: AdoptionFacts) -> _Answers:
    if facts.hosts:
        yield (
            f"{facts.hosts} runs here for the cluster, and the former chain has no such unit",
            'Set `enabled = "no"` under [hosted] in the settings and reload nodenetd',
        )


def _unfinished(facts: AdoptionFacts) -> _Answers:
    if facts.trial:
        yield facts.trial, "End it with `nodenetctl confirm` or `nodenetctl rollback`"
    if facts.unfinished:
        yield facts.unfinished, "Look at `nodenetctl status`, and try again when configure-ovs is done"


# Which steps does it still need? None: there is nothing to do.

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
