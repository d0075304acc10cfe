"""The nodeip stage: which addresses are the node IPs of this node?

Read the kernel → select → bind-test → publish → read back. If nothing is eligible, wait for the kernel's next event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

import structlog

from nodenet.core.boot.outcome import Done, Facts, Outcome, Problem, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import NodenetError, NotAFile, PublishFailed, SettingsInvalid, Unavailable
from nodenet.core.ip import family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_ip import last_published, published_files
from nodenet.core.node_ip.explain import summary
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.patience import Seen, wait
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, PolicyReading, noted, read_policy
from nodenet.core.node_ip.published_files import USERS, Publication
from nodenet.core.node_ip.select import Selection, select_bindable
from nodenet.core.settings.model import OnFailure, Settings
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Files, Kernel, Profiles, Systemd
from nodenet.stage_edges import Presence, StageEdges
from nodenet.stages.apply.records import Records
from nodenet.stages.node_ip.publish import (
    LOOK_AGAIN_SECONDS,
    Confirmation,
    Publisher,
    conflicting,
    family_missing,
    held,
    listed,
    lost_family,
    no_longer_selected,
    not_back,
    override,
    unwritten,
)

log = structlog.get_logger()

STARTING = frozenset({Topic.KERNEL, Topic.NETWORK_MANAGER})
SETTLING_SECONDS = 2.0
"""After which NetworkManager is asked again: not every step of an activation is an event."""


class Waits:
    """The waits of one boot, by its clock."""

    def __init__(self, clock: Clock, profiles: Profiles, node_ip_wait: float = 0.0) -> None:
        """*node_ip_wait*: for how many seconds the last node IP is waited for; 0: without a limit."""
        self._clock = clock
        self._profiles = profiles
        self._node_ip_wait = node_ip_wait
        self._eligible = NEVER
        """Since when there is something to publish."""
        self._away = NEVER
        """Since when the last node IP is waited for."""
        self.given_up = False
        """Whether the last look gave the last node IP up, after *node_ip_wait*."""

    def nothing(self) -> None:
        """Take note that there is nothing to publish."""
        self._eligible = NEVER

    async def left(self, seen: Seen, state: ManagerState) -> Waiting | None:
        """Return the wait for what NetworkManager has not settled, or for the last node IP; None: publish *seen*."""
        if seen.record is None or seen.record.addresses != seen.selection.node_ips:
            seen = replace(seen, found=await self._inventory(), starting=state is not ManagerState.READY)
        awaited, now = wait(seen), self._clock.boottime()
        self.given_up = False
        if awaited is None:
            return None
        if awaited.seconds is None:
            self._eligible = NEVER  # what came meanwhile is not published for that
            self._away = self._away.holds(now)
            left = self._away.left(now, self._node_ip_wait) if self._node_ip_wait else SETTLING_SECONDS
            self.given_up = left <= 0
        else:
            self._away = NEVER
            self._eligible = self._eligible.holds(now)
            left = self._eligible.left(now, awaited.seconds)
        return Waiting(awaited.reason, STARTING, min(left, SETTLING_SECONDS)) if left > 0 else None

    async def _inventory(self) -> Inventory:
        """Return what NetworkManager says of its links; nothing where it does not answer."""
        try:
            return await self._profiles.inventory()
        except Unavailable as error:
            log.debug("It is not known what NetworkManager does", stage="nodeip", cause=error.cause)
            return Inventory()


KERNEL = frozenset({Topic.KERNEL})
BUS = frozenset({Topic.BUS})
ABSENT = frozenset({ManagerState.ABSENT, ManagerState.SILENT, ManagerState.NO_BUS})
BACK_SECONDS = 10.0
"""How long a node IP that kubelet runs with may be away before it is reported: its link may be activating again."""
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""After each failure of systemd to read the drop-ins; the last one from then on."""


class NodeipStage:
    """Selects the node IPs and publishes them."""

    def __init__(  # noqa: PLR0913  (six edges and the boot)
        self,
        kernel: Kernel,
        files: Files,
        systemd: Systemd,
        clock: Clock,
        presence: Presence,
        waits: Waits,
        wishes: Callable[[], PolicyReading],
        boot_id: str,
        *,
        holds: bool = True,
    ) -> None:
        """*wishes* reads the policy again at each attempt: the hint files are not the daemon's.

        *holds*: whether a node file that failed keeps kubelet from starting with another address than those of the last
        boot.
        """
        self._kernel = kernel
        self._files = files
        self._records = Records(files)
        self._systemd = systemd
        self._publisher = Publisher(files, systemd)
        self._confirmation = Confirmation(kernel, systemd, self._publisher)
        self._clock = clock
        self._presence = presence
        self._waits = waits
        self._wishes = wishes
        self._boot_id = boot_id
        self._holds = holds
        self._lost = NEVER
        """When what kubelet runs with was first seen to be gone."""
        self._facts = Facts()
        """Those of the last attempt: what the node file names counts unless it failed."""
        self._kept = False
        """Whether the last attempt did not change the publication, because kubelet or CRI-O runs with it."""
        self._unread = 0
        """How often in a row systemd did not read the drop-ins."""
        self._logged: set[str] = set()

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return Done once the node IPs are published, Waiting with the reason before."""
        self._kept = False
        self._facts = facts
        wishes = self._asked()
        for problem in wishes.problems:
            self._warn_once(str(problem), Message.NOTE)
        published = await self._adopted()
        record = None if request.reselect else published
        (state, words), (snapshot, selection) = await self._look(wishes, record)
        if published and not request.reselect and await self._in_use(published, selection):
            return self._keep(published, selection, snapshot, facts)
        self._lost = NEVER
        if selection.conflict:
            return conflicting(selection.conflict, facts)
        if not selection.node_ips:
            return self._none(selection, words if state in ABSENT else "")
        if facts.file_failure and self._holds and not request.reselect:
            known = self._known(wishes, published, (snapshot, selection))
            if known is None:
                return held(facts.file_failure, selection.node_ips)
            snapshot, selection = known
        seen = Seen(selection, snapshot, wishes.policy, record)
        if waiting := await self._waits.left(seen, state):
            return waiting
        for note in selection.notes:
            self._warn_once(note, Message.NOTE)
        return await self._publish(selection, snapshot, facts, record)

    def explain(self, *, ignore_published: bool) -> Selection:
        """Return what a selection would find now; nothing is published. *ignore_published*: as a reselection does."""
        record = None if ignore_published else self._published()
        return self._choice(self._asked(), record)[1]

    def drift(self, facts: Facts) -> Problem | None:
        """Return the problem of published node IPs that are gone; they are never changed under a running kubelet.

        Raises Unavailable when the kernel does not answer.
        """
        return self._confirmation.drift(facts)

    async def confirm(self, facts: Facts) -> str | None:
        """Return why kubelet must not start with what is published, None when it may: asked right before READY."""
        return await self._confirmation.of_files(facts, kept=self._kept)

    async def confirm_of_unit(self, facts: Facts) -> str | None:
        """Return the same where a unit publishes."""
        return await self._confirmation.of_unit(facts)

    def _asked(self) -> PolicyReading:
        """Return the policy as it is written now, with the families and addresses that the node file names."""
        wishes, facts = self._wishes(), self._facts
        if facts.file_failure:
            return wishes
        policy = replace(wishes.policy, named=facts.file_families, stated=facts.file_addresses)
        return replace(wishes, policy=policy)

    async def _look(
        self, wishes: PolicyReading, record: LastPublished | None
    ) -> tuple[tuple[ManagerState, str], tuple[Snapshot, Selection]]:
        """Return NetworkManager's state (READY if the last choice is kept), the snapshot, and the selection."""
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
        self._waits.nothing()
        reason = selection.waiting or "no address is eligible"
        if absent:
            return Waiting(f"{absent}; {reason}", STARTING)
        return Waiting(reason, STARTING, LOOK_AGAIN_SECONDS)

    def _known(
        self, wishes: PolicyReading, last: LastPublished | None, found: tuple[Snapshot, Selection]
    ) -> tuple[Snapshot, Selection] | None:
        """Return *found* without node IPs that the node did not have last; None where that leaves no primary one."""
        kept = [address for address in found[1].node_ips if last and address in last.addresses]
        if not last or last.addresses[0] not in kept:
            return None
        if len(kept) == len(found[1].node_ips):
            return found
        families = tuple(family_of(address) for address in kept)
        return self._choice(replace(wishes, policy=replace(wishes.policy, families=families)), last)

    async def _in_use(self, published: LastPublished, selection: Selection) -> bool:
        """Return whether kubelet or CRI-O may run with a node IP of this boot that *selection* would take away."""
        going = published.this_boot and not set(published.addresses) <= set(selection.node_ips)
        return going and await self._systemd.any_runs(USERS) is not False

    def _keep(self, published: LastPublished, selection: Selection, snapshot: Snapshot, facts: Facts) -> Outcome:
        """Do not change the publication; ``drift`` reports lost node IPs until they are back."""
        before = facts.selection or self._as_published(published, snapshot)
        facts = replace(facts, selection=replace(before, node_ips=published.addresses, notes=selection.notes))
        running = f"{listed(published.addresses)}, which kubelet or CRI-O runs with"
        problem = None
        # In the snapshot of the selection: an address that came later was not refused.
        if last_published.lost(published.addresses, snapshot):
            now = self._clock.boottime()
            self._lost = self._lost.holds(now)
            if (left := self._lost.left(now, BACK_SECONDS)) > 0:
                return Waiting(f"{running}, to be back", KERNEL, left)
        else:
            self._lost = NEVER
            refused = [address for address in published.addresses if address not in selection.node_ips]
            problem = no_longer_selected(refused)
        self._kept = True
        # A full disk may have refused some of these files when they were published.
        lost = self._publisher.write_rest(Publication(published.addresses, before.remote_worker))
        record = self._record()
        if record is None or record.addresses != published.addresses:
            try:
                self._remember(replace(before, node_ips=published.addresses), snapshot)
            except PublishFailed as error:
                lost.append(error)
        problem = problem or (unwritten(lost[0]) if lost else None)
        return Done(f"Kept {running}", facts, Message.NOTE, problem)

    def _as_published(self, published: LastPublished, snapshot: Snapshot) -> Selection:
        """Return what an earlier daemon of this boot published, on the link that has it or had it."""
        places = {item.address: item.link for item in snapshot.addresses}
        its = [link.name for link in snapshot.links if link.hardware_mac == published.permanent_mac]
        on_it = [places[address] for address in published.addresses if address in places]
        remote = published_files.REMOTE_WORKER.name in self._files.listing(published_files.RUN)
        return Selection(published.addresses, next(iter(on_it + its[-1:]), None), remote_worker=remote)

    async def _publish(
        self, selection: Selection, snapshot: Snapshot, facts: Facts, last: LastPublished | None
    ) -> Outcome:
        """Write what differs, keep the choice for later boots, and have systemd read the drop-ins."""
        wanted = Publication(selection.node_ips, selection.remote_worker)
        await self._publisher.look()
        lost, complete = self._publisher.write(wanted, bridge=facts.brings_bridge)
        if not complete:
            # With the drop-in of an earlier boot kubelet would start with an address that is not the node's.
            return self._blocked(lost[0])
        gave_up = last and (self._waits.given_up or (last.this_boot and last.wanted) or lost_family(last, selection))
        wanted_again = last if gave_up else None
        try:  # right behind the drop-ins: if this boot is cut short now, the next one knows the NIC that it waits for
            self._remember(selection, snapshot, wanted_again)
        except PublishFailed as error:
            lost.append(error)
        try:
            overridden = await self._publisher.let_systemd_read(wanted)
        except (PublishFailed, Unavailable) as error:
            return self._not_read(error)
        self._unread = 0
        problem = override(overridden) or (unwritten(lost[0]) if lost else family_missing(selection))
        wanted_before = (wanted_again.wanted or wanted_again.addresses) if wanted_again else ()
        if wanted_before and wanted_before[0] not in selection.node_ips and problem is None:
            problem = not_back(wanted_before, selection.node_ips)
        detail = f"Selected {summary(selection)}"
        return Done(detail, replace(facts, selection=selection), Message.NODE_IP_SELECTED, problem)

    def _blocked(self, error: NodenetError) -> Waiting:
        """Return the wait for a drop-in that cannot be written."""
        self._log_once(error)
        return Waiting(f"{error.cause}; kubelet must not start with the address of an earlier boot")

    def _not_read(self, error: NodenetError) -> Waiting:
        """Return the wait for systemd to read the drop-ins: until then it starts kubelet with earlier ones."""
        self._log_once(error)
        seconds = RETRY_SECONDS[min(self._unread, len(RETRY_SECONDS) - 1)]
        self._unread += 1
        return Waiting(f"{error.cause} (try {self._unread}, next in {seconds:.0f} s)", BUS, seconds)

    async def _adopted(self) -> LastPublished | None:
        """Return the last publication; of this boot, if kubelet or CRI-O runs already."""
        published = self._published()
        if published and not published.this_boot and await self._systemd.any_runs(USERS):
            return replace(published, this_boot=True)
        return published

    def _published(self) -> LastPublished | None:
        """Return the last publication, and whether it is of this boot."""
        return last_published.last_publication(self._record(), self._publisher.contents())

    def _record(self) -> LastPublished | None:
        try:
            return self._records.load(
                last_published.SELECTION, lambda content: last_published.parse(content, self._boot_id)
            )
        except PublishFailed as error:  # what is published is believed first
            self._warn_once(f"{error.cause}; the node IP is selected without that record", error.message)
            return None

    def _remember(self, selection: Selection, snapshot: Snapshot, wanted: LastPublished | None = None) -> None:
        """Keep the choice for later boots, or what it was *wanted* to be; an unchanged one is not written again."""
        before = self._record()
        link = next((link for link in snapshot.links if link.name == selection.link), None)
        vlan = (before or LastPublished(())).vlan_of(link) if link else ""
        record = LastPublished(selection.node_ips, link.hardware_mac if link else None, self._boot_id, vlan=vlan)
        if wanted and (again := wanted.wanted or wanted.addresses) != selection.node_ips:
            record = replace(record, permanent_mac=wanted.permanent_mac, vlan=wanted.vlan, wanted=again)
        if before is None or replace(before, boot_id=self._boot_id, this_boot=False) != record:
            self._records.save(last_published.SELECTION, last_published.render(record))

    def _warn_once(self, text: str, message: Message) -> None:
        if text not in self._logged:
            self._logged.add(text)
            log.warning(text, message=message, stage="nodeip")

    def _log_once(self, error: NodenetError) -> None:
        if error.cause not in self._logged:
            self._logged.add(error.cause)
            fields = {"stage": "nodeip", "cause": error.cause, "remedy": error.remedy}
            log.error(error.cause, message=error.message, **fields)


HINT_PATH = PurePath(HINT_FILE)


def _wishes(settings: Settings, files: Files) -> PolicyReading:
    """Return the policy as it is written now. Raises PublishFailed where the hint file cannot be read.

    A directory in its place holds no hint: it is a problem beside the policy, and the node IP is selected.
    """
    try:
        return read_policy(settings, files.read(HINT_PATH))
    except NotAFile as error:
        reading = read_policy(settings, None)
        return replace(reading, problems=(SettingsInvalid(error.cause, remedy=error.remedy), *reading.problems))


def build(edges: StageEdges, settings: Settings) -> NodeipStage:
    """Return the stage for *settings*; it reads the policy again at each attempt."""
    return NodeipStage(
        edges.kernel,
        edges.files,
        edges.systemd,
        edges.clock,
        edges.presence,
        Waits(edges.clock, edges.profiles, settings.node_ip_wait),
        lambda: _wishes(settings, edges.files),
        edges.boot_id,
        holds=settings.on_failure is OnFailure.AUTO,
    )
