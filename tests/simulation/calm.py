"""Is all as it should be on a node that has been ready for a while in a fair world?"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any

from nodenet.core.boot.stages import Health
from nodenet.core.messages import Message
from nodenet.core.node_ip.published_files import BRIDGE_UP
from nodenet.core.status.document import BootStatus, document
from nodenet.stages.apply.pipeline import UNANSWERED
from nodenet.stages.br_ex.duplicate_checks import ACCEPT_DAD, NO_PROBE
from nodenet.stages.br_ex.stage import TRIES
from nodenet.stages.resolver import RELOAD_OWED
from simulation.asked_for import look_at_what_was_asked_for
from simulation.cut_off import look_at_way_out
from simulation.nmstate import SILENT
from simulation.renamed import KINDS as RENAMED
from simulation.renamed import look_at_renamed
from simulation.rules import UNSEEN_SECONDS
from simulation.swapped import look_at_uplink
from simulation.trials import look_at_trials

if TYPE_CHECKING:
    from simulation.run import Run

FINE = frozenset({"", "dhcp", "other-lease", "static", "bridge", "empty"})
"""What a node file may ask for on a node that can do it."""
REFUSED = frozenset({"missing-nic", "invalid", "unknown-type"})
LEAVE_NOTHING = frozenset(
    {
        *(
            "power-cut",
            "daemon-killed",
            "daemon-stopped",
            "nic-renamed",
            "nics-swapped",
            "wall-clock-steps",
            "dhcp-slow",
        ),
        *("notifications-lost", "gateway-dead", "bus-down", "vip-comes", "other-profile", "systemd-silent"),
        *("systemd-refuses-reload", "cable-out", "dhcp-silent", "ovs-database-down", "ovs-switch-hangs"),
        *("events-flood", "router-silent", "unit-slow", "hosted-fails", "boots-cut-short"),
        *("boot-without-dhcp", "boot-without-carrier", "boot-beside-a-stray"),
    }
)
"""Kinds of faults after which a node is as good as new, some time after they are over."""
HARMLESS = frozenset({"events-flood", "wall-clock-steps", "other-profile", "vip-comes"})
"""Kinds of faults that are no reason to wait."""
PROMPT_SECONDS = 90.0
"""Within which a node of which nothing is wrong is ready: a second NIC may wait 45 s for its DHCP server."""


BRIDGE_FAILED = "br-ex could not be made"


def status_of(run: Run) -> BootStatus:
    """Return the status of the process that runs."""
    assert run.process is not None
    assert run.process.reconciler is not None
    return run.process.reconciler.status


CUT_OFF = frozenset(
    {
        *("gateway-dead", "router-silent", "cable-out", "dhcp-silent", "dhcp-slow", "bus-down"),
        *("ovs-database-down", "ovs-switch-hangs", "boot-without-dhcp", "boot-without-carrier", "boot-beside-a-stray"),
    }
)
"""Faults during which a gateway does not answer."""
PROBED = ("answered before the apply", "before an earlier apply of this file", "has no carrier any more")
"""How the cause ends of a file that was rolled back by its probes."""


def is_fine(run: Run) -> bool:
    """Whether nothing is wrong with what the node was given."""
    node = run.scenario.node
    return node.file in FINE and node.kernel_datapath and not run.world.disk.torn


def is_degraded_for_nothing(run: Run) -> bool:
    """Whether the node is not ok, though nothing is wrong with its inputs and nothing was refused."""
    node, struck = run.scenario.node, run.struck
    tried = {"file-tried"} if not run.world.rules.trials.may_be_confirmed else set()
    renamed = bool(struck.keys() & RENAMED) and (node.file != "" or node.profile == "static")
    # A file whose result is not as asked for is refused until a reload.
    unlike = bool(struck["ovs-database-down"] or struck["ovs-switch-hangs"] or struck["cable-out"])
    refused = node.file == "bridge" and unlike
    # So is one with which the gateway fell silent, whatever the reason was. A restarted nodenetd has the words alone.
    silent = any(
        problem.message is Message.PROBE_FAILED or problem.cause.endswith(PROBED)
        for _, problem in status_of(run).problems
    )
    # And one that NetworkManager has not answered about for five minutes: kubelet runs since.
    unanswered = any(
        UNANSWERED in problem.cause or problem.cause.endswith(SILENT) for _, problem in status_of(run).problems
    )
    refused = refused or unanswered or ((silent or _waits_for_the_uplink(run)) and bool(struck.keys() & CUT_OFF))
    run.world.rules.checked["P3"] += 1
    fine = is_fine(run) and set(struck) <= LEAVE_NOTHING | tried and not (renamed or refused)
    return fine and status_of(run).health is not Health.OK


def _waits_for_the_uplink(run: Run) -> bool:
    """Whether br-ex has failed, and nodenetd has not seen since that a lost way out is back: an order tries again.

    So it does after so many tries in a row.
    """
    rules, problems = run.world.rules, status_of(run).problems
    failed = [problem.cause for _, problem in problems if problem.cause.startswith(BRIDGE_FAILED)]
    given_up = any(cause.startswith(f"{BRIDGE_FAILED} in {TRIES} tries") for cause in failed)
    return given_up or (bool(failed) and rules.uplink_back_at < rules.bridge_tried_at)


def is_late(run: Run) -> bool:
    """Whether a node that nothing keeps from it has not got ready in time."""
    node, world = run.scenario.node, run.world
    disturbed = run.second_run or not set(run.struck) <= HARMLESS or node.named_after or node.unit
    return is_fine(run) and not disturbed and world.now - world.boot_began > PROMPT_SECONDS


def look_at_status(run: Run) -> None:
    """P8: what the status says is so; P9: what was changed for a move is as before."""
    rules, world, node = run.world.rules, run.world, run.scenario.node
    shown = document(status_of(run))
    _look_at_node_ips(run, shown)
    bridge = shown["bridge"]
    if bridge and shown["health"] == "ok":
        row = world.ovs.rows.get(bridge)
        rules.hold("P8", f"{bridge} is said to be there", holds=row is not None and bridge in world.kernel.links)
    content = world.disk.content.get("/run/nodenet/state.json")
    shown_there = marshal.loads(content) if content else {}  # noqa: S302  (this run has written it)
    rules.hold("P8", "state.json is not that of now", holds=shown_there.get("ready") is True)
    if is_fine(run) and not run.scenario.faults:
        rules.hold("P8", f"no faults, and not ok: {shown['problems']}", holds=shown["health"] == "ok")
    if node.file in REFUSED and not world.disk.torn:
        rules.hold("P8", "a file that cannot be applied, and health ok", holds=shown["health"] != "ok")
    if shown["health"] == "ok":
        flag = str(BRIDGE_UP) in world.disk.content
        rules.hold("P9", f"{BRIDGE_UP} is left of a bridge that was removed", holds=bool(bridge) or not flag)
        usual = world.kernel.defaults[ACCEPT_DAD]
        rules.hold("P9", f"accept_dad of new links is {usual}", holds=usual == "1")
        rules.hold("P9", f"{NO_PROBE} is left", holds=str(NO_PROBE) not in world.disk.content)
        rules.hold("P8", "systemd-resolved has not read its drop-in", holds=str(RELOAD_OWED) not in world.disk.content)
    if node.on_failure == "wait" and node.file in REFUSED and not world.disk.torn:
        rules.hold("P3", f"READY with a {node.file} node file and on_failure = wait", holds=False)
    look_at_what_was_asked_for(run, shown)
    look_at_way_out(run, shown)
    look_at_renamed(run)
    look_at_trials(run, shown)
    look_at_uplink(run, shown)
    rules.look_at_others()
    for uuid in rules.foreign_profiles:
        there = uuid in world.manager.memory.profiles
        rules.hold("P5", f"the profile {uuid} of another program is gone", holds=there)


def _look_at_node_ips(run: Run, shown: dict[str, Any]) -> None:
    rules, world = run.world.rules, run.world
    held = {str(one) for link in world.kernel.links.values() for one in link.addresses}
    if (not held.issuperset(shown["node_ips"])) is shown["node_ips_missing"]:
        rules.unlike_since = None
    else:
        rules.unlike_since = rules.unlike_since or world.now
    unseen = world.now - (rules.unlike_since or world.now)
    said = f"node IPs {shown['node_ips']} are missing: {shown['node_ips_missing']}, and the node has {sorted(held)}"
    rules.hold("P8", said, holds=unseen < UNSEEN_SECONDS)
    published = (world.disk.content.get("/run/nodeip-configuration/primary-ip") or b"").decode()
    unwritten = shown["health"] != "ok" and not published  # a problem that names the file, and the reload it needs
    same = unwritten or published in shown["node_ips"]
    rules.hold("P8", f"{published!r} is published, {shown['node_ips']} said", holds=same)
