"""How are the steps of a verb carried out: against the API, the disk and the other verbs of this service?

Two verbs never have the same key (Hold) at the same time. A verb that is cancelled stops between two of its steps, as
if the process had been killed there; the repair of the next start knows how to go on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog

from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.persistent_ips import claim as claims
from nodenet.core.persistent_ips import lease as leases
from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips.book import Book, Put, place_of, row_of
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.effects import (
    Announce,
    AwaitClaim,
    CreateLease,
    DeleteLease,
    Effect,
    Hold,
    ListLeases,
    MoveLease,
    ReadClaim,
    ReadDefinition,
    ReadLease,
    ReadPod,
    Save,
    Steps,
    Sync,
    WriteStatus,
)
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import ApiAway, Expired
from nodenet.core.persistent_ips.network import definition_of
from nodenet.ports import Clock
from nodenet.ports.kubernetes import IpamApi, Store

log = structlog.get_logger()

API_SECONDS = 10.0
"""How long one request may take."""
LISTS = 3
"""How often a list of many pages is begun."""
T = TypeVar("T")
WaitForClaim = Callable[[str, str], Awaitable[Claim | None]]
Written = Awaitable[None]
"""A write of the store that its verb has not waited for."""


class Runner:
    """Carries out the steps of every verb of this service."""

    def __init__(  # noqa: PLR0913 -- what the service is made of
        self,
        api: IpamApi,
        store: Store,
        book: Book,
        clock: Clock,
        wait_for_claim: WaitForClaim,
        announce: Callable[[Announce], None],
    ) -> None:
        """*announce* shows something to people and returns at once."""
        self._api = api
        self._store = store
        self._book = book
        self._clock = clock
        self._wait_for_claim = wait_for_claim
        self._announce = announce
        self.saved: Callable[[], None] = lambda: None
        """Called after each change of what is known."""
        self.took: Callable[[Effect, float], None] = lambda _request, _seconds: None
        """Called with each request to the API and its seconds, also when it failed."""
        self._locks: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()
        self.store_problem: str | None = None
        """Why the last write failed, None since one succeeded."""
        self.doubts = asyncio.Event()
        """Set when a Lease may have been created or moved though no answer came."""

    async def run(self, steps: Steps[T], seconds: float | None = None) -> T:
        """Return what *steps* return. After *seconds* its requests are refused as if the API were away."""
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        async with contextlib.AsyncExitStack() as held:
            holding: set[tuple[str, ...]] = set()
            late: list[Written] = []
            with contextlib.closing(steps):
                try:
                    effect = next(steps)
                    while True:
                        try:
                            answer = None
                            if isinstance(effect, Hold):
                                await self._hold(effect.key, holding, held)
                            else:
                                answer = await self._do(effect, deadline, late)
                        except NodenetError as error:
                            effect = steps.throw(error)
                        else:
                            effect = steps.send(answer)
                except StopIteration as stop:
                    result: T = stop.value
                    return result

    @contextlib.asynccontextmanager
    async def holding(self, *key: str) -> AsyncIterator[None]:
        """Hold *key* for what is done inside."""
        lock = self._lock(key)
        async with lock:
            yield

    def is_held(self, *key: str) -> bool:
        """Return whether anything holds *key*."""
        lock = self._locks.get(key)
        return lock is not None and lock.locked()

    def _lock(self, key: tuple[str, ...]) -> asyncio.Lock:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    async def _hold(self, key: tuple[str, ...], holding: set[tuple[str, ...]], held: contextlib.AsyncExitStack) -> None:
        if key not in holding:
            await held.enter_async_context(self.holding(*key))
            holding.add(key)

    async def _do(self, effect: Effect, deadline: float | None, late: list[Written]) -> Any:  # noqa: ANN401
        match effect:
            case Save():
                return await self._save(effect, late)
            case Sync():
                return await self._sync(late)
            case Announce():
                return self._announce(effect)
            case AwaitClaim(namespace, name):
                return await self._wait_for_claim(namespace, name)
        began, seconds = asyncio.get_running_loop().time(), API_SECONDS
        if deadline is not None and (seconds := min(seconds, deadline - began)) <= 0:
            raise ApiAway("The API took too long for the whole request")
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(effect)
        except (TimeoutError, ApiAway) as error:
            if isinstance(effect, CreateLease | MoveLease):
                self.doubts.set()
            if isinstance(error, ApiAway):
                raise
            raise ApiAway(f"The API did not answer within {seconds:.0f} s") from error
        except (claims.ClaimInvalid, leases.LeaseInvalid) as error:
            raise ApiAway(f"The API's answer cannot be used: {error}") from error
        finally:
            self.took(effect, asyncio.get_running_loop().time() - began)

    async def _ask(self, effect: Effect) -> Any:  # noqa: ANN401, PLR0911
        api = self._api
        match effect:
            case ReadPod(namespace, name):
                return pods.parse(await api.pod(namespace, name))
            case ReadDefinition(namespace, name):
                return definition_of(await api.definition(namespace, name))
            case ReadClaim(namespace, name):
                return claims.parse(await api.claim(namespace, name))
            case CreateLease(lease):
                return leases.parse(await api.create_lease(leases.document(lease, self._clock.unix())))
            case ReadLease(name):
                return leases.parse(await api.lease(name))
            case ListLeases(selector):
                return await self._list(selector)
            case MoveLease(lease):
                return leases.parse(await api.patch_lease(lease.name, leases.move(lease)))
            case DeleteLease(name, uid, version):
                return await api.delete_lease(name, uid, version)
            case WriteStatus(claim, patch):
                return claims.parse(await api.patch_claim_status(claim.namespace, claim.name, patch))
        raise TypeError(f"{effect!r} is no request")

    async def _list(self, selector: str) -> tuple[Lease, ...]:
        for _ in range(LISTS):
            with contextlib.suppress(Expired):  # the token of a page was too old
                return await self._pages(selector)
        raise ApiAway("The API forgets the list of Leases while it is read")

    async def _pages(self, selector: str) -> tuple[Lease, ...]:
        found: list[Lease] = []
        following = ""
        while True:
            page = await self._api.list_leases(selector, following)
            for item in page.items:
                with contextlib.suppress(leases.LeaseInvalid):  # of another program: its name keeps the address taken
                    found.append(leases.parse(item))
            following = page.following
            if not following:
                return tuple(found)

    async def _save(self, effect: Save, late: list[Written]) -> None:
        if not effect.changes:
            return
        rows = [
            row_of(change.record) if isinstance(change, Put) else (*place_of(change.record), None)
            for change in effect.changes
        ]
        written = asyncio.ensure_future(self._store.save(rows, later=not (effect.wait or effect.soon)))
        if not effect.wait:
            written.add_done_callback(self._written_late)
            if effect.soon:
                late.append(written)
            self._book.take(effect.changes)
            self.saved()
            return
        try:
            await asyncio.shield(written)
        except PublishFailed as error:
            self._failed(error)
            raise
        self.store_problem = None
        self._book.take(effect.changes)
        self.saved()

    async def _sync(self, late: list[Written]) -> None:
        while late:
            await asyncio.shield(late.pop(0))  # a failure is noted by ``_written_late``

    def _written_late(self, written: asyncio.Future[None]) -> None:
        if written.cancelled():
            return
        error = written.exception()
        if isinstance(error, PublishFailed):
            self._failed(error)  # what is on the disk is older; the repair of the next start goes on from there
        elif error is None:
            self.store_problem = None

    def _failed(self, error: PublishFailed) -> None:
        if self.store_problem is None:
            log.error(error.cause, message=Message.IPAM_FAILED, cause=error.cause, remedy=error.remedy)
        self.store_problem = error.cause
