"""How is one kind of object followed: listed, watched from there, listed again when the server has forgotten?

After an error the next attempt comes after a back-off, and reads the credentials again. What is known is kept.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from nodenet.core.errors import Forbidden, Postponed, Unavailable
from nodenet.core.hosted_services.nodes import Expired, Known, Slim, WatchInvalid, after, listed
from nodenet.core.since import backoff, spread
from nodenet.core.value import frozen
from nodenet.ports.kubernetes import Api, Cluster

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 60.0
LONGEST_ASKED = 300.0
"""A proxy may ask for any pause."""
REFUSED_SECONDS = 300.0
"""What the credentials may not read, or the cluster does not have, is asked for again that rarely."""
PAGE = "100"
"""A Node with all its images has some 50 KB, and the JSON of a page is read in one piece."""
QUICK_SECONDS = 5.0
"""A watch that ended sooner counts as a failure: a server that ends them at once is not asked without a pause."""


@frozen
class Kind:
    """What is followed: its path, the name of the one object that is wanted (empty: all), and what is kept of each."""

    path: str
    slim: Slim
    name: str = ""

    @property
    def selector(self) -> dict[str, str]:
        """The query that selects it."""
        return {"fieldSelector": f"metadata.name={self.name}"} if self.name else {}


class Follower:
    """Follows one kind."""

    def __init__(
        self, cluster: Cluster, kind: Kind, taken: Callable[[Known], None], failed: Callable[[str | None], None]
    ) -> None:
        """*taken* gets what is known after each change, *failed* why nothing is heard and None when it is again."""
        self._cluster = cluster
        self._kind = kind
        self._taken = taken
        self._failed = failed

    async def run(self) -> None:
        """Follow until cancelled. Raises Forbidden when the API refuses."""
        failures, known = 0, Known()
        while True:
            asked = 0.0
            try:
                async with self._cluster.connect() as api:
                    failures, known = await self._follow(api, known, failures)
            except Forbidden:
                raise
            except (Unavailable, WatchInvalid, RecursionError) as error:  # an object may be nested as deep as it likes
                failures, known = failures + 1, Known()
                asked = error.seconds if isinstance(error, Postponed) else 0.0
                self._failed(str(error))
            await asyncio.sleep(pause(failures, asked))

    async def _follow(self, api: Api, known: Known, failures: int) -> tuple[int, Known]:
        """Watch from *known*, which is listed if it is empty; return the failures since and what is known.

        It returns when the server has forgotten the version, and after a watch of a provisional connection.
        """
        if not known.resource_version:
            known = await self._list(api)
            self._taken(known)
            self._failed(None)
        time = asyncio.get_running_loop().time
        while True:
            began = time()
            try:
                known = await self._watch(api, known)
            except Expired:
                return failures + 1, Known()
            failures = 0 if time() - began > QUICK_SECONDS else failures + 1
            if api.provisional:
                return failures, known
            await asyncio.sleep(pause(failures) if failures else 0)

    async def _list(self, api: Api) -> Known:
        known, following = Known(), ""
        while True:
            query = {"limit": PAGE, **self._kind.selector, **({"continue": following} if following else {})}
            known, following = listed(known, await api.get(self._kind.path, query), self._kind.slim)
            if not following:
                return known

    async def _watch(self, api: Api, known: Known) -> Known:
        query = {"resourceVersion": known.resource_version, **self._kind.selector}
        async for event in api.watch(self._kind.path, query):
            before, known = known, after(known, event, self._kind.slim)
            if known.objects is not before.objects:
                self._taken(known)
        return known


def pause(failures: int, asked: float = 0.0) -> float:
    """Return the seconds to wait after *failures* failures in a row; they differ from node to node.

    *asked*: the pause that the server asks for. It is kept, up to ``LONGEST_ASKED``.
    """
    share = random.SystemRandom().random()
    own = spread(backoff(failures, FIRST_SECONDS, LONGEST_SECONDS), share)
    return max(own, min(asked, LONGEST_ASKED) * (1 + share / 2))
