"""Which chores follow from what happened: a claim that changed or is gone, a sandbox that ended, a restart?"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial

import structlog

from nodenet.cni.carry_out import Runner
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.persistent_ips import release as releases
from nodenet.core.persistent_ips import repair
from nodenet.core.persistent_ips.book import Book, Drop
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.effects import Here, ListLeases, Save, Steps, ask
from nodenet.core.persistent_ips.lease import Lease, all_selector, node_selector
from nodenet.core.persistent_ips.model import ApiAway, Attachment, Forbidden, Owner, OwnerKind, PodName, Reservation
from nodenet.core.persistent_ips.release import (
    ORPHAN_SECONDS,
    detach,
    is_gone,
    pod_is_gone,
    release,
    release_pending,
    take_over,
    unnamed,
)
from nodenet.core.persistent_ips.repair import is_settled, settle
from nodenet.core.since import backoff

# What is done beside the verbs, each once it is due, and again later while it fails?

log = structlog.get_logger()

FIRST_SECONDS, LONGEST_SECONDS = 0.5, 60.0
AT_ONCE = 8
Work = Callable[[], Awaitable[object]]


@dataclass
class Chore:
    """One thing to do."""

    work: Work
    due: float
    failures: int = 0


class Chores:
    """Things to do by name: one that is added again before it began is done once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._chores: dict[tuple[str, ...], Chore] = {}
        self._order: list[tuple[float, tuple[str, ...]]] = []
        self._changed = asyncio.Event()
        self._working: set[asyncio.Task[None]] = set()

    def add(self, name: tuple[str, ...], work: Work, seconds: float = 0.0) -> None:
        """Do *work* in *seconds*; earlier, if it was to be done earlier."""
        due = asyncio.get_running_loop().time() + seconds
        old = self._chores.get(name)
        failures = old.failures if old is not None else 0
        if old is not None and old.due <= due:
            due = old.due
        self._chores[name] = Chore(work, due, failures)
        heapq.heappush(self._order, (due, name))
        self._changed.set()

    def hurry(self) -> None:
        """Do what has failed now: the reason may have passed."""
        for name, chore in list(self._chores.items()):
            if chore.failures:
                chore.failures = 0
                self.add(name, chore.work)

    @property
    def rested(self) -> bool:
        """Whether nothing is being done, and nothing is due."""
        now = asyncio.get_running_loop().time()
        return not self._working and all(chore.due > now for chore in self._chores.values())

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                await self._wait()
                while len(self._working) < AT_ONCE and (due := self._next()) is not None:
                    task = asyncio.ensure_future(self._do(*due))
                    self._working.add(task)
                    task.add_done_callback(self._ended)
        finally:
            for task in self._working:
                task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._changed.set()

    async def _wait(self) -> None:
        """Wait until something is due and there is room for it."""
        pause = None
        if self._order and len(self._working) < AT_ONCE:
            pause = max(self._order[0][0] - asyncio.get_running_loop().time(), 0.0)
        if pause == 0.0:
            return
        self._changed.clear()
        try:
            async with asyncio.timeout(pause):
                await self._changed.wait()
        except TimeoutError:
            return

    def _next(self) -> tuple[tuple[str, ...], Chore] | None:
        now = asyncio.get_running_loop().time()
        while self._order and self._order[0][0] <= now:
            due, name = heapq.heappop(self._order)
            chore = self._chores.get(name)
            if chore is not None and chore.due == due:
                del self._chores[name]
                return name, chore
        return None

    async def _do(self, name: tuple[str, ...], chore: Chore) -> None:
        try:
            await chore.work()
        except NodenetError as error:
            chore.failures += 1
            if not isinstance(error, ApiAway) and chore.failures == 1:  # that the API is away is said elsewhere
                log.warning(error.cause, message=Message.CLAIM_REJECTED, cause=error.cause, remedy=error.remedy)
            self._again(name, chore)
        except Exception as error:  # whatever it is, the service goes on and the chore comes back
            chore.failures += 1
            log.exception(f"{name[0]} failed: {error!r}", message=Message.WATCHER_FAILED)  # noqa: TRY401
            self._again(name, chore)

    def _again(self, name: tuple[str, ...], chore: Chore) -> None:
        if name in self._chores:
            self._chores[name].failures = chore.failures
            return
        due = asyncio.get_running_loop().time() + backoff(chore.failures, FIRST_SECONDS, LONGEST_SECONDS)
        self._chores[name] = Chore(chore.work, due, chore.failures)
        heapq.heappush(self._order, (due, name))


# Which chores follow from what happened?

SWEEP_SECONDS = (60.0, 300.0)
"""Between these, by chance, after claims of other nodes were deleted: so not all nodes look at the same time."""
REAP_SECONDS = 600.0
"""A sandbox that ended without DEL is found within this time after its pod is gone; sooner after a start."""
YOUNG_SECONDS = 60.0
"""The sandbox of a younger attachment is not looked at: the runtime may still be making it."""
USED_SECONDS = 60.0
"""After so long it is asked again whether a pod of another node has the address of a claim that is gone."""
DOUBT_SECONDS = 5.0
NAMESAKE = "Give each machine its own name (`[kubernetes] node_name`), then restart nodenet-ipam on both"
MOST_PODS = 1000
"""So many pods are asked for at each reaping: more than a node starts in the meantime."""


class Upkeep:
    """Finds the chores and adds them."""

    def __init__(
        self, runner: Runner, chores: Chores, book: Book, here: Callable[[], Here], netns_gone: Callable[[str], bool]
    ) -> None:
        """*netns_gone*: whether the network namespace of a sandbox is gone."""
        self._runner = runner
        self._chores = chores
        self._book = book
        self._here = here
        self._netns_gone = netns_gone
        self._sweeping = False
        self._listed: set[str] | None = None
        """The UIDs of the Leases of this node as far as they were listed; None before the first list."""
        self.problem: str | None = None
        """That another machine has the name of this node, None while nothing says so."""

    def begin(self) -> None:
        """Add what a start has to do."""
        for attachment in repair.dead_sandboxes(self._book, self._here().boot_id):
            self._chores.add(("dead sandbox", *attachment.key), partial(self.detach, attachment))
        self._leftovers()
        self._chores.add(("repair",), self.repair)
        self._chores.add(("missed deletions",), self._missed, YOUNG_SECONDS)  # by then, none of the store is young
        self._chores.add(("reap",), self.reap, REAP_SECONDS)

    def changed(self, claim: Claim) -> None:
        """A claim is new or changed."""
        if self._book.reservations_of(claim.owner) and not is_settled(self._book, claim):
            self._chores.add(("settle", claim.uid), partial(self._settle, claim.key))

    def gone(self, claim: Claim, certain: bool) -> None:  # noqa: FBT001
        """A claim is gone."""
        if self._book.reservations_of(claim.owner):
            self.claim_gone(claim.owner, certain=certain)
        elif claim.ips and not self._sweeping:
            self._sweeping = True
            self._chores.add(("sweep",), self.sweep, random.uniform(*SWEEP_SECONDS))  # noqa: S311

    def listed(self) -> None:
        """All claims were read again: what this node has may be of claims that are gone, and the API answers again.

        Its database may have been restored from a backup that has not the Leases of this node.
        """
        self._chores.add(("repair",), self.repair)
        self._leftovers()
        for owner in self._book.claim_owners():
            self._look_at(owner)
        self._chores.hurry()

    def _look_at(self, owner: Owner) -> None:
        """See whether the status of a claim agrees with the records."""
        if (claim := self._book.claims.get(owner.namespace, owner.name)) is not None and claim.uid == owner.uid:
            self.changed(claim)

    def _leftovers(self) -> None:
        """Free what an interrupted ADD or DEL left: on its way back, without a sandbox, or of a claim that is gone."""
        for owner in (*repair.pending_owners(self._book), *repair.idle_pods(self._book)):
            self.free(owner)
        for owner in repair.absent_claims(self._book):
            self.claim_gone(owner, certain=False)

    def claim_gone(self, owner: Owner, *, certain: bool) -> None:
        """Free what a claim had, once the API confirms that it is gone."""
        self._chores.add(("free", owner.kind, owner.uid), partial(self._free_claim, owner, certain=certain))

    def free(self, owner: Owner) -> None:
        """Free what is on its way back."""
        self._chores.add(("free", owner.kind, owner.uid), partial(self._free, owner))

    def detached(self, owner: Owner) -> None:
        """A sandbox of *owner* ended."""
        if owner.kind is OwnerKind.POD:
            self.free(owner)
            return
        claim = self._book.claims.get(owner.namespace, owner.name)
        if claim is not None and claim.uid == owner.uid:
            self.changed(claim)
        elif self._book.claims.complete:
            self.claim_gone(owner, certain=False)

    def _restore(self, row: Reservation) -> None:
        self._chores.add(("restore", row.network, str(row.address)), partial(self._run, repair.restore, row))

    def attached(self, attachment: Attachment) -> None:
        """An address that this node had before is attached again: the node becomes responsible for its Leases."""
        self._chores.add(("take over", *attachment.key), partial(self._run, take_over, attachment))

    def doubtful(self) -> None:
        """A Lease may have been created though no answer came."""
        self._chores.add(("repair",), self.repair, DOUBT_SECONDS)

    async def _run(self, steps: Callable[..., Steps[object]], *arguments: object) -> None:
        await self._runner.run(steps(self._here(), *arguments))

    async def _free(self, owner: Owner) -> None:
        if owner.kind is OwnerKind.CLAIM or not await self._runner.run(release(self._here(), owner)):
            await self._runner.run(release_pending(self._here(), owner))

    async def _settle(self, key: tuple[str, str]) -> None:
        if (claim := self._book.claims.get(*key)) is not None:
            await self._runner.run(settle(self._here(), claim))

    async def _free_claim(self, owner: Owner, *, certain: bool) -> None:
        if self._book.attachments_of(owner):
            return  # its DEL comes back to this
        if not certain and not await self._runner.run(is_gone(owner)):
            return
        rows = self._book.reservations_of(owner)
        if not await self._runner.run(release(self._here(), owner)):
            free = partial(self._free_claim, owner, certain=certain)
            self._chores.add(("free", owner.kind, owner.uid), free, USED_SECONDS)
        elif rows:
            addresses = ", ".join(str(row.address) for row in rows)
            log.info(f"{addresses} of {owner} is free again", message=Message.ADDRESS_RELEASED)

    async def detach(self, attachment: Attachment) -> None:
        """Forget an attachment, and do what follows. Raises PublishFailed."""
        await self._runner.run(detach(self._here(), attachment))
        self.detached(attachment.owner)

    async def repair(self) -> None:
        """Compare the Leases of this node with the records. Raises ApiAway, Forbidden."""
        leases = await self._runner.run(ask(ListLeases(node_selector(self._here().node))))
        others = self._others(leases)
        changed = repair.changed_leases(self._book, leases, self._here().boot_id)
        for lease in (*repair.unknown_leases(self._book, leases), *changed):
            if lease not in others:
                self._chores.add(("adopt", lease.uid), partial(self._adopt, lease))
        for row in repair.lost_leases(self._book, leases):
            self._restore(row)
        for attachment in unnamed(self._book, leases):
            self.attached(attachment)

    async def _adopt(self, lease: Lease) -> None:
        await self._run(repair.adopt, lease)
        self._look_at(lease.owner)

    def _others(self, leases: Iterable[Lease]) -> tuple[Lease, ...]:
        """Return the Leases that a machine with the same node name has made, and report it once."""
        here = self._here()
        known, self._listed = self._listed, {*(self._listed or ()), *(lease.uid for lease in leases)}
        others = repair.of_a_namesake(self._book, leases, known, here.boot_id) if known is not None else ()
        if others and self.problem is None:
            found = f"it has {others[0].address} of network {others[0].network}"
            self.problem = f"Another machine uses the node name {here.node}: {found}"
            log.error(self.problem, message=Message.NODE_NAME_SHARED, cause=self.problem, remedy=NAMESAKE)
        return others

    async def sweep(self) -> None:
        """Look for Leases of other nodes that have no owner any more. Raises ApiAway, Forbidden."""
        self._sweeping = False
        leases = await self._runner.run(ask(ListLeases(all_selector())))
        suspects = releases.suspects(self._here(), leases)
        for lease in suspects:
            self._chores.add(("sweep", lease.uid), partial(self._sweep, lease))
        if suspects and not self._sweeping:
            self._sweeping = True
            self._chores.add(("sweep",), self.sweep, ORPHAN_SECONDS + random.uniform(*SWEEP_SECONDS))  # noqa: S311

    async def _sweep(self, lease: Lease) -> None:
        if await self._runner.run(releases.sweep(self._here(), lease)):
            text = f"{lease.address} of {lease.owner} is free again: its node {lease.node} left it"
            log.info(text, message=Message.ADDRESS_RELEASED)

    async def reap(self) -> None:
        """Look for lost Leases, for sandboxes that ended without DEL, and for pods that need not be remembered."""
        self._chores.add(("reap",), self.reap, REAP_SECONDS)
        self._chores.add(("repair",), self.repair)
        self._leftovers()
        await self._missed()
        for pod in repair.gone_pods(self._book)[:MOST_PODS]:
            self._chores.add(("forget", pod.uid), partial(self._forget, pod))

    async def _missed(self) -> None:
        """Look for sandboxes that ended without DEL."""
        now = self._here().now
        for attachment in list(self._book.attachments()):
            old = not 0 <= now - attachment.since < YOUNG_SECONDS
            # Without a network namespace: it was read from its Lease, and its DEL may have come before that.
            if old and attachment.pod is not None and (not attachment.netns or self._netns_gone(attachment.netns)):
                self._chores.add(("reap", *attachment.key), partial(self._reap, attachment))

    async def _reap(self, attachment: Attachment) -> None:
        pod = attachment.pod
        if pod is None or not await self._runner.run(pod_is_gone(pod)):
            return
        text = f"Pod {pod} is gone and was never detached: its attachment {attachment.ifname} is removed"
        log.info(text, message=Message.ADDRESS_RELEASED)
        await self.detach(attachment)

    async def _forget(self, pod: PodName) -> None:
        try:
            if not await self._runner.run(pod_is_gone(pod)):
                return
        except (ApiAway, Forbidden):
            return  # the next reaping asks again
        gone = [one for one in self._book.pod_references() if one.pod.uid == pod.uid]
        await self._runner.run(_drop(tuple(Drop(one) for one in gone)))


def _drop(changes: tuple[Drop, ...]) -> Steps[None]:
    yield Save(changes, wait=False)
