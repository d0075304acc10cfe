"""The nodeip stage: which addresses is this node known by, and who is told?

Read the kernel → select → bind-test → publish. Nothing eligible: wait for the kernel's next event, never guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Outcome, Problem, Topic, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.errors import PublishFailed
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.node_ip import last_published, published_files
from nodenet.core.node_ip.explain import summary
from nodenet.core.node_ip.first_boot import unanswered, undecided_links
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.pending import Pending
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.policy_from_settings import PolicyReading, noted
from nodenet.core.node_ip.published_files import Publication
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Selection, select_bindable
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Files, Kernel, Systemd
from nodenet.stage_edges import Presence
from nodenet.stages.apply.records import Records
from nodenet.stages.node_ip.publish import Publisher

log = structlog.get_logger()

KERNEL = frozenset({Topic.KERNEL})
STARTING = KERNEL | {Topic.NETWORK_MANAGER}
ABSENT = frozenset({ManagerState.ABSENT, ManagerState.NO_BUS})
LOOK_AGAIN_SECONDS = 30.0
"""Without any event: a lost one costs no more than this."""
SETTLE_SECONDS = 5.0
"""How long is waited for what would still change the selection (duplicate address detection, a router's answer)."""
ANSWERS = {Family.IPV6: "an IPv6 router", Family.IPV4: "a DHCP server"}
ANSWER_SECONDS = {Family.IPV6: SETTLE_SECONDS, Family.IPV4: 10.0}
"""How long those may take once the other family is there: a lost DHCP request is repeated after 4 s (RFC 2131, 4.1)."""
BEGUN_SECONDS = 3.0
"""How much longer what has begun by then may take: an address that came of a late answer is being checked."""
PATH_SECONDS = 60.0
"""The same where VIPs or hints point to another link, which may still get its address; not in every boot anew."""
BACK_SECONDS = 10.0
"""How long a node IP that kubelet runs with may be away before its loss is told: its link may be activated anew."""
WISHED = frozenset({Rule.HINT, Rule.VIP_SUBNET})
FAMILY_SECONDS = 60.0
"""How long a family that the settings name is waited for once the other one is there."""
USERS = (published_files.KUBELET, published_files.CRIO)
RESELECT = "drain the node, run `nodenetctl reselect`, restart CRI-O and kubelet"


class NodeipStage:
    """Selects the node IPs and publishes them."""

    def __init__(  # noqa: PLR0913  (six edges and the boot)
        self,
        kernel: Kernel,
        files: Files,
        systemd: Systemd,
        clock: Clock,
        presence: Presence,
        wishes: Callable[[], PolicyReading],
        boot_id: str,
    ) -> None:
        """*wishes* reads the policy anew at each attempt: the hint files are not the daemon's."""
        self._kernel = kernel
        self._files = files
        self._records = Records(files)
        self._systemd = systemd
        self._publisher = Publisher(files, systemd)
        self._clock = clock
        self._presence = presence
        self._wishes = wishes
        self._boot_id = boot_id
        self._eligible = NEVER
        self._lost = NEVER
        """When what kubelet runs with was first seen to be gone."""
        self._told: set[str] = set()

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return Done once the node IPs are published, Waiting with the reason before."""
        wishes = self._wishes()
        for problem in wishes.problems:
            self._tell(str(problem), Message.HINT_IGNORED)
        published = self._published()
        record = None if request.reselect else published
        (state, words), (snapshot, selection) = await self._look(wishes, record)
        if published and not request.reselect and await self._in_use(published, selection):
            return self._keep(published, selection, snapshot, facts)
        self._lost = NEVER
        if not selection.node_ips:
            return self._none(selection, words if state in ABSENT else "")
        if state is not ManagerState.READY and (waiting := self._other_links(snapshot, wishes.policy, selection)):
            return waiting
        asked = unanswered(snapshot, wishes.policy, selection.link, selection.selected)
        if (patience := self._patience(selection, wishes.policy, record, asked)) > 0:
            pending = "; ".join(item.reason for item in _hoped(selection, record))
            question = f"no answer from {ANSWERS[asked]} on {selection.link} yet" if asked else ""
            reason = selection.waiting or pending or question
            return Waiting(reason, KERNEL, min(patience, LOOK_AGAIN_SECONDS))
        for note in selection.notes:
            self._tell(note, Message.NODE_IP_NOTE)
        return await self._publish(selection, snapshot, facts, published)

    def explain(self, *, anew: bool) -> Selection:
        """Return the selection as it would be made now, *anew*: by a reselection; nothing is published."""
        record = None if anew else self._published()
        return self._choice(self._wishes(), record)[1]

    def drift(self, facts: Facts) -> Problem | None:
        """Return the problem of published node IPs that are gone; they are never changed under a running kubelet."""
        published = facts.selection.node_ips if facts.selection else ()
        gone = [address for address in published if not self._kernel.can_bind(address, 0)]
        if not gone:
            return None
        cause = f"{_listed(gone)}, published as node IP, is no longer on this node"
        return Problem(Message.NODE_IP_DRIFT, cause, f"Bring the address back; or {RESELECT}")

    async def _look(
        self, wishes: PolicyReading, record: LastPublished | None
    ) -> tuple[tuple[ManagerState, str], tuple[Snapshot, Selection]]:
        """Return how far NetworkManager is (READY where the last choice stands), what there is, and the choice."""
        if record:
            choice = self._choice(wishes, record)
            if choice[1].node_ips == record.addresses:
                return (ManagerState.READY, ""), choice
        # Asked before the kernel is: what NetworkManager has finished is then in the snapshot.
        return await self._presence.look(), self._choice(wishes, record)

    def _choice(self, wishes: PolicyReading, record: LastPublished | None) -> tuple[Snapshot, Selection]:
        snapshot = self._kernel.snapshot()
        return snapshot, noted(select_bindable(snapshot, wishes.policy, record, self._kernel.can_bind), wishes)

    def _none(self, selection: Selection, absent: str) -> Waiting:
        """Return the wait for an address; where NetworkManager is *absent* none will come, so that is said first."""
        self._eligible = NEVER
        reason = selection.waiting or "no address is eligible"
        if absent:
            return Waiting(f"{absent}; {reason}", STARTING)
        return Waiting(reason, STARTING, LOOK_AGAIN_SECONDS)

    def _patience(
        self, selection: Selection, policy: Policy, record: LastPublished | None, asked: Family | None
    ) -> float:
        """Return the seconds that are left to wait for something better; not positive: publish.

        *asked*: what somebody was asked for. What did not come in the boot before is not waited for in every boot anew.
        """
        waited = self._waited()
        if selection.missing:
            return FAMILY_SECONDS - waited
        as_before = record is not None and record.addresses == selection.node_ips
        waits = [ANSWER_SECONDS[asked]] if asked and not as_before else []
        if hoped := _hoped(selection, record):
            asked_for = any(item.asked for item in hoped)
            elsewhere = asked_for or (bool(policy.vips or policy.hints) and selection.selected[0].rule not in WISHED)
            begun = BEGUN_SECONDS if any(item.begun for item in hoped) else 0.0
            waits.append(PATH_SECONDS if elsewhere and not as_before else SETTLE_SECONDS + begun)
        return max(waits) - waited if waits else 0.0

    def _other_links(self, snapshot: Snapshot, policy: Policy, selection: Selection) -> Waiting | None:
        """Return the wait for links that NetworkManager has not finished, until another choice is made."""
        undecided = undecided_links(snapshot, policy, selection.selected)
        patience = SETTLE_SECONDS - self._waited()
        if not undecided or patience <= 0:
            return None
        reason = f"NetworkManager is starting, and {undecided[0]} may still get a better address"
        return Waiting(reason, STARTING, patience)

    def _waited(self) -> float:
        """Return for how many seconds there has been something to publish."""
        now = self._clock.boottime()
        self._eligible = self._eligible.holds(now)
        return self._eligible.lasted(now)

    async def _in_use(self, published: LastPublished, selection: Selection) -> bool:
        """Tell whether somebody runs with a node IP of this boot that *selection* would take away."""
        going = published.this_boot and not set(published.addresses) <= set(selection.node_ips)
        return going and await self._systemd.any_runs(USERS)

    def _keep(self, published: LastPublished, selection: Selection, snapshot: Snapshot, facts: Facts) -> Outcome:
        """Leave the publication as it is; what is lost of it is told by ``drift``, until it is back."""
        before = facts.selection or self._as_published(published, snapshot)
        facts = replace(facts, selection=replace(before, node_ips=published.addresses, notes=selection.notes))
        running = f"{_listed(published.addresses)}, which kubelet or CRI-O runs with"
        problem = None
        if self.drift(facts):
            now = self._clock.boottime()
            self._lost = self._lost.holds(now)
            if (patience := self._lost.left(now, BACK_SECONDS)) > 0:
                return Waiting(f"{running}, to be back", KERNEL, patience)
        else:
            self._lost = NEVER
            refused = [address for address in published.addresses if address not in selection.node_ips]
            cause = f"{_listed(refused)}, published as node IP, would not be chosen any more"
            remedy = f"Look at `nodenetctl explain node-ip --anew`; {RESELECT}"
            problem = Problem(Message.NODE_IP_DRIFT, cause, remedy)
        return Done(f"Kept {running}", facts, Message.NODE_IP_NOTE, problem)

    def _as_published(self, published: LastPublished, snapshot: Snapshot) -> Selection:
        """Return what an earlier daemon of this boot published, on the link that has it or had it."""
        places = {item.address: item.link for item in snapshot.addresses}
        its = [link.name for link in snapshot.links if link.hardware_mac == published.permanent_mac]
        on_it = [places[address] for address in published.addresses if address in places]
        remote = self._files.read(published_files.REMOTE_WORKER) is not None
        return Selection(published.addresses, next(iter(on_it + its[-1:]), None), remote_worker=remote)

    async def _publish(
        self, selection: Selection, snapshot: Snapshot, facts: Facts, published: LastPublished | None
    ) -> Outcome:
        """Write what differs, let systemd read it, remember the choice."""
        wanted = Publication(selection.node_ips, selection.remote_worker)
        lost, complete = self._publisher.write(wanted, bridge=facts.brings_bridge)
        if not complete:
            # With the drop-in of an earlier boot kubelet would start with an address that is not the node's.
            return self._blocked(lost[0])
        try:
            await self._publisher.let_systemd_read()
            self._remember(selection, snapshot, published)
        except PublishFailed as error:
            lost.append(error)
        problem = Problem.of(lost[0]) if lost else self._missing(selection)
        detail = f"Selected {summary(selection)}"
        return Done(detail, replace(facts, selection=selection), Message.NODE_IP_SELECTED, problem)

    def _blocked(self, error: PublishFailed) -> Waiting:
        if error.cause not in self._told:
            self._told.add(error.cause)
            fields = {"stage": "nodeip", "cause": error.cause, "remedy": error.remedy}
            log.error(error.cause, message=error.message, **fields)
        return Waiting(f"{error.cause}; kubelet must not start with the address of an earlier boot")

    def _published(self) -> LastPublished | None:
        """Return the last publication, and whether it is of this boot."""
        record = self._records.load(
            last_published.SELECTION, lambda content: last_published.parse(content, self._boot_id)
        )
        return last_published.still_published(record, self._files.read(published_files.PRIMARY))

    def _remember(self, selection: Selection, snapshot: Snapshot, before: LastPublished | None) -> None:
        """Keep the choice for later boots; an unchanged one is not written again."""
        mac = next((link.hardware_mac for link in snapshot.links if link.name == selection.link), None)
        in_vain = tuple(item.reason for item in selection.pending)
        record = LastPublished(selection.node_ips, mac, self._boot_id, in_vain=in_vain)
        if before is None or replace(before, boot_id=self._boot_id, this_boot=False) != record:
            self._records.save(last_published.SELECTION, last_published.render(record))

    def _missing(self, selection: Selection) -> Problem | None:
        """Return the problem of a family that was asked for and did not come."""
        if not selection.missing:
            return None
        families = " and ".join(str(family) for family in selection.missing)
        cause = f"No {families} node IP within {FAMILY_SECONDS:.0f} s: {selection.waiting}"
        remedy = "Look at `nodenetctl explain node-ip`; take the family out of `families` if it is not wanted"
        return Problem(Message.NODE_IP_INCOMPLETE, cause, remedy)

    def _tell(self, text: str, message: Message) -> None:
        """Tell something once."""
        if text not in self._told:
            self._told.add(text)
            log.warning(text, message=message, stage="nodeip")


def _hoped(selection: Selection, record: LastPublished | None) -> list[Pending]:
    """Return what may come, without what did not come in the boot before."""
    return [item for item in selection.pending if record is None or item.reason not in record.in_vain]


def _listed(addresses: Iterable[IPAddress]) -> str:
    return " and ".join(map(str, addresses))
