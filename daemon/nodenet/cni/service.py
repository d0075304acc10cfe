"""Which parts is the service made of? Built here from edges; every task is supervised."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import structlog

from nodenet.cni.carry_out import Runner
from nodenet.cni.follower import Follower
from nodenet.cni.upkeep import Chores, Upkeep
from nodenet.cni.verbs import Verbs
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.persistent_ips.book import Book, RecordInvalid, record_of
from nodenet.core.persistent_ips.claim import Claim, Reason
from nodenet.core.persistent_ips.effects import Announce, Here, event_document
from nodenet.core.persistent_ips.model import Record
from nodenet.core.persistent_ips.repair import LEASE_LOST
from nodenet.core.persistent_ips.reserve import MISSING
from nodenet.core.value import frozen
from nodenet.loop.background import Background
from nodenet.ports import Clock
from nodenet.ports.kubernetes import IpamApi, Store

log = structlog.get_logger()

CLAIM_SECONDS = 10.0
"""How long an ADD waits for a claim that does not exist yet."""
EVENT_SECONDS = 300.0
"""The same Event is not sent again before that."""
MOST_EVENTS = 1000
MESSAGES = {
    str(Reason.EXHAUSTED): Message.SUBNET_EXHAUSTED,
    str(Reason.CONFLICT): Message.CLAIM_CONFLICT,
    MISSING: Message.CLAIM_REJECTED,
    LEASE_LOST: Message.IPAM_STORE_REBUILT,
}
FRESH = "The store of addresses is new; what this node has given is read from the Leases"


@frozen
class Identity:
    """The node and its boot."""

    node: str
    boot_id: str
    ignore_not_allowed: bool = False


class Service:
    """nodenet-ipam without its process."""

    def __init__(
        self, identity: Identity, api: IpamApi, store: Store, clock: Clock, netns_gone: Callable[[str], bool]
    ) -> None:
        """Read the store. Raises PublishFailed."""
        self._identity = identity
        self._api = api
        self._clock = clock
        self._sent: dict[tuple[str, str], float] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self.book = Book(_records(store))
        self.chores = Chores()
        self.follower = Follower(api, self.book, self._changed, self._gone, self._listed)
        self.runner = Runner(api, store, self.book, clock, self._wait_for_claim, self.announce)
        self.upkeep = Upkeep(self.runner, self.chores, self.book, self.here, netns_gone)
        self.verbs = Verbs(self.runner, self.chores, self.upkeep, self.book, self.here, lambda: self.follower.problem)
        if store.fresh:
            log.info(FRESH, message=Message.IPAM_STORE_REBUILT)

    def here(self) -> Here:
        """Return what a verb gets that begins now."""
        own, clock = self._identity, self._clock
        return Here(
            self.book,
            own.node,
            own.boot_id,
            clock.unix(),
            clock.boottime(),
            held=self.follower.held,
            ignore_not_allowed=own.ignore_not_allowed,
        )

    def start(self, background: Background) -> None:
        """Begin all tasks."""
        self.upkeep.begin()
        background.start("the chores of persistent IPs", self.chores.run)
        background.start("the watch of the claims", self.follower.run)
        background.start("the doubtful Leases", self._doubts)

    async def end(self) -> None:
        """Let what was begun end."""
        await self.verbs.end()
        for task in self._sending:
            task.cancel()

    @property
    def problems(self) -> list[str]:
        """What is wrong at the moment."""
        return [one for one in (self.runner.store_problem, self.follower.problem, self.upkeep.problem) if one]

    def announce(self, announced: Announce) -> None:
        """Log, and send an Event without waiting for it."""
        kind = MESSAGES.get(announced.reason, Message.CLAIM_CONFLICT)
        log.warning(announced.text, message=kind, cause=announced.text)
        made = event_document(announced, self._identity.node, self._clock.unix())
        if made is None:
            return
        namespace, event = made
        key = str(event["involvedObject"]["uid"] or event["involvedObject"]["name"]), announced.reason
        now = self._clock.boottime()
        if now - self._sent.get(key, -EVENT_SECONDS) < EVENT_SECONDS or len(self._sending) > MOST_EVENTS:
            return
        if len(self._sent) > MOST_EVENTS:
            self._sent.clear()
        self._sent[key] = now
        task = asyncio.ensure_future(self._send(namespace, event))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, namespace: str, event: dict[str, object]) -> None:
        with contextlib.suppress(NodenetError):  # the journal has it
            await self._api.create_event(namespace, event)

    async def _wait_for_claim(self, namespace: str, name: str) -> Claim | None:
        return await self.follower.wait(namespace, name, CLAIM_SECONDS)

    def _changed(self, claim: Claim) -> None:
        self.upkeep.changed(claim)

    def _gone(self, claim: Claim, certain: bool) -> None:  # noqa: FBT001
        self.upkeep.gone(claim, certain)

    def _listed(self) -> None:
        self.upkeep.listed()

    async def _doubts(self) -> None:
        while True:
            await self.runner.doubts.wait()
            self.runner.doubts.clear()
            self.upkeep.doubtful()


def _records(store: Store) -> list[Record]:
    found = []
    for row in store.load():
        try:
            record = record_of(row)
        except RecordInvalid as error:
            # Its Lease is still there: the repair reads it as after a lost store.
            log.error(f"The store has a record that cannot be read: {error}", message=Message.IPAM_FAILED)
            continue
        if record is not None:
            found.append(record)
    return found


STORE, SOCKET = Path("/var/lib/nodenet/ipam.sqlite"), Path("/run/nodenet/ipam.sock")
