"""Is the node in a state that can be adopted or handed back? If not, why, and what helps?

Nothing was changed when one of these is raised: it is asked before the first step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

from nodenet.core.adoption.facts import ACTIVE, ENABLED, FAILED, LOADED, MASKED, RUNNING, AdoptionFacts
from nodenet.core.adoption.former_chain import (
    MAIN,
    MARKER,
    MTU_MIGRATION,
    NODENETD,
    RESOLVER_PATH,
    UNITS,
    adopted_units,
)
from nodenet.core.br_ex.condition import Owner
from nodenet.core.errors import NodenetError
from nodenet.core.stage_name import StageName

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
    if facts.unit(MTU_MIGRATION).file in ENABLED:
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
