"""How are the claims of the cluster followed: listed, watched from there, listed again when the server has forgotten?

What is known stays known while the API is away. A claim that a list does not have any more, or that an event deletes,
is reported as gone; after a list the API has to confirm it, because a claim may have been made while the list was read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.persistent_ips.book import Book
from nodenet.core.persistent_ips.claim import Claim, ClaimInvalid, parse
from nodenet.core.persistent_ips.model import ApiAway, Expired, Forbidden, NotFound
from nodenet.core.since import backoff
from nodenet.ports.kubernetes import Claims, Document

log = structlog.get_logger()

FIRST_SECONDS, LONGEST_SECONDS = 0.5, 15.0
REFUSED_SECONDS = 60.0
QUIET_SECONDS = 45.0
"""After the API was away, no new address is given for so long: a backup of its database may have been restored, and
every node makes its lost Leases again first. A node hears of the API after half a minute at the latest."""
BREAK_SECONDS = 2.0
"""A watch that breaks, and is there again sooner, is no sign of another database."""
UNREAD = "The API was away, and its claims are not read again yet: no new address is given until then"
QUIET = "The API was away until just now: nodes make lost Leases again, and no new address is given for some seconds"
QUICK_SECONDS = 5.0
"""A watch that ended sooner counts as a failure: a server that ends each at once is not asked without a pause."""


class Follower:
    """Keeps ``book.claims`` true."""

    def __init__(
        self,
        api: Claims,
        book: Book,
        changed: Callable[[Claim], None],
        gone: Callable[[Claim, bool], None],
        listed: Callable[[], None],
    ) -> None:
        """*changed*: a claim is new or changed. *gone*: and whether that is certain. *listed*: all were read again."""
        self._api = api
        self._book = book
        self._changed = changed
        self._gone = gone
        self._listed = listed
        self._waiting: dict[tuple[str, str], list[asyncio.Future[Claim]]] = {}
        self.problem: str | None = None
        """Why the API does not answer, None while it does."""
        self._away_since: float | None = None
        """When the watch broke, if the claims were not listed since."""
        self._read = 0.0
        """When the claims were listed last."""
        self._quiet_until = 0.0
        self._watched = self._ended = 0.0
        """When the last watch began, and when the server ended the one before it."""

    @property
    def held(self) -> str:
        """Why no new address may be given, empty while one may."""
        if self._away_since is not None:
            return UNREAD
        return QUIET if asyncio.get_running_loop().time() < self._quiet_until else ""

    async def run(self) -> None:
        """Follow until cancelled."""
        failures = 0
        while True:
            pause = 0.0
            try:
                version = await self._list()
                failures = await self._follow(version, failures)
            except Expired:
                failures += 1
            except (Forbidden, NotFound) as error:
                self._report(error)
                if self._book.claims.complete:  # an API server that starts knows neither kinds nor roles for a moment
                    failures = self._failed(failures)
                else:
                    pause = REFUSED_SECONDS
            except (ApiAway, ClaimInvalid) as error:
                failures = self._failed(failures)
                self._report(error)
            await asyncio.sleep(pause or backoff(failures, FIRST_SECONDS, LONGEST_SECONDS))

    def _failed(self, failures: int) -> int:
        """Note that the API is away; return how often that was so in a row."""
        now = asyncio.get_running_loop().time()
        lasted = self._away_since is None and now - self._read > QUICK_SECONDS
        if self._away_since is None:
            self._away_since = self._ended if self._ended and now - self._watched < QUICK_SECONDS else now
        return 1 if lasted else failures + 1

    async def wait(self, namespace: str, name: str, seconds: float) -> Claim | None:
        """Return the claim of this name once the watch has it, None after *seconds*."""
        waiting = self._waiting.setdefault((namespace, name), [])
        found: asyncio.Future[Claim] = asyncio.get_running_loop().create_future()
        waiting.append(found)
        try:
            if (known := self._book.claims.get(namespace, name)) is not None:
                return known
            async with asyncio.timeout(seconds):
                return await found
        except TimeoutError:
            return None
        finally:
            waiting.remove(found)
            if not waiting:
                self._waiting.pop((namespace, name), None)

    async def _list(self) -> str:
        """Read all claims; return the version from which a watch continues."""
        known, answered = self._book.claims, 0.0
        unseen = {claim.key: claim for claim in known.all()}
        following = ""
        while True:
            page = await self._api.list_claims(following)
            answered = answered or asyncio.get_running_loop().time()  # an API that starts may let a request wait
            for item in page.items:
                claim = self._take(item)
                if claim is not None:
                    unseen.pop(claim.key, None)
            following = page.following
            if not following:
                break
        for claim in unseen.values():
            known.remove(claim)
            self._gone(claim, False)  # noqa: FBT003
        now = asyncio.get_running_loop().time()
        if self._away_since is not None and answered - self._away_since > BREAK_SECONDS:
            self._quiet_until = now + QUIET_SECONDS
        known.complete, self._away_since, self._ended, self._read = True, None, 0.0, now
        self._report(None)
        self._listed()
        return page.resource_version

    async def _follow(self, version: str, failures: int) -> int:
        """Watch from *version* until the server has forgotten it; return the failures since. Raises ApiAway."""
        time = asyncio.get_running_loop().time
        while True:
            self._watched = time()
            async for event in self._api.watch_claims(version):
                version = self._event(event) or version
            self._ended = time()
            if self._ended - self._watched > QUICK_SECONDS:
                failures = 0
                continue
            failures += 1
            # A server that ends its watches may stop now. It must not be back, with another database, unnoticed.
            await asyncio.sleep(backoff(failures, FIRST_SECONDS, BREAK_SECONDS))

    def _event(self, event: Document) -> str:
        """Take one event; return its version. Raises ClaimInvalid."""
        kind, item = event.get("type"), event.get("object")
        metadata = item.get("metadata") if isinstance(item, dict) else None
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        if kind == "DELETED":
            claim = parse(item)
            self._book.claims.remove(claim)
            self._gone(claim, True)  # noqa: FBT003
        elif kind in ("ADDED", "MODIFIED"):
            self._take(item)
        elif kind != "BOOKMARK":
            raise ClaimInvalid(f"the watch has an event of type {str(kind)[:40]!a}")
        return version if isinstance(version, str) else ""

    def _take(self, item: object) -> Claim | None:
        try:
            claim = parse(item)
        except ClaimInvalid:
            return None  # without an identity it is nothing that a pod can reference
        replaced = self._book.claims.put(claim)
        if replaced is not None:
            self._gone(replaced, True)  # noqa: FBT003  (one name, one claim: the older one was deleted)
        self._changed(claim)
        for waiting in self._waiting.get(claim.key, ()):
            if not waiting.done():
                waiting.set_result(claim)
        return claim

    def _report(self, error: NodenetError | ClaimInvalid | None) -> None:
        before, self.problem = self.problem, None if error is None else str(error)
        if error is not None and before is None:
            cause, remedy = (error.cause, error.remedy) if isinstance(error, NodenetError) else (str(error), "")
            log.warning(cause, message=Message.API_FAILED, cause=cause, remedy=remedy)
        if error is None and before is not None:
            log.info("The API answers about claims again")
