"""Why is a stage not run, or a request of an administrator refused?"""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.stage_state import StageState
from nodenet.core.boot.stages import BUILT
from nodenet.core.errors import BridgeForeign, NodenetError, Unavailable
from nodenet.core.stage_name import StageName


def removal_refused(stage: StageState, facts: Facts) -> BridgeForeign | None:
    """Return why the bridges of *stage*, configure-ovs, cannot be removed on request; None when they can."""
    if facts.brings_bridge:
        cause = f"{facts.node_file or 'the node file'} defines br-ex itself, so nodenetd does not remove it"
        return BridgeForeign(cause, remedy="Take br-ex out of the node file, then run `nodenetctl reload --wait`")
    if not stage.provider.startswith("unit:"):
        return None
    unit = stage.provider.removeprefix("unit:")
    cause = f"{unit} makes br-ex (configure-ovs = {stage.provider!r}), so nodenetd does not remove it"
    return BridgeForeign(cause, remedy='Set configure-ovs = "builtin" or "skip" and reload, then try again')


def removal_failed(stage: StageState, facts: Facts) -> NodenetError | None:
    """Return why the bridges of *stage* are there once an ordered removal is over; None where they are not.

    Where the removal itself failed, a later attempt may have kept the bridge, and succeeded. The node file may not have
    been known when it was ordered.
    """
    refused = removal_refused(stage, facts)
    if refused or facts.bridge is None:
        return refused
    cause = f"{facts.bridge} could not be removed, and a later attempt has kept it"
    return Unavailable(cause, remedy="Look at `journalctl -u nodenetd`, then run `nodenetctl bridge remove` again")


def not_done(stage: StageState, facts: Facts, *, removal: bool) -> NodenetError | None:
    """Return why what was ordered of *stage*, as the *removal* of br-ex, was not done; None where it was."""
    return _not_run(stage) or (removal_failed(stage, facts) if removal else None)


def _not_run(stage: StageState) -> Unavailable | None:
    """Return why nothing that was ordered of *stage* was done once the boot goes no further; None where it was run."""
    if stage.over:
        return None
    cause = f'{stage.name} is not run: a stage before it failed, and on_failure is "wait"'
    return Unavailable(cause, remedy="Look at `nodenetctl status`, and try again once that stage is done")


def reason_to_skip(stage: StageState, facts: Facts, network_type: str) -> str | None:
    """Return why *stage* is not run at all, or None when it is."""
    if stage.request.remove_bridge:  # when it was ordered, the node file may not have been known yet
        return f"{facts.node_file} defines br-ex itself, so br-ex stays" if facts.brings_bridge else None
    if stage.provider == "skip":
        return "switched off in the settings"
    if stage.name is StageName.CONFIGURE_OVS:
        if facts.brings_bridge:
            return f"{facts.node_file} defines br-ex itself"
        if not network_type and stage.provider == "builtin":
            return 'network_type is not set: br-ex is made where it is "OVNKubernetes"'
        if network_type not in ("", "OVNKubernetes"):
            return f"the network type is {network_type}"
    return None if stage.name in BUILT or stage.provider != "builtin" else "not built in this version"
