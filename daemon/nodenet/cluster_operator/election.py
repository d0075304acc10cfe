"""Does this operator lead? It holds the Lease ``nodenet-operator`` and renews it; another one waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_cluster import leases
from nodenet.core.hosted_cluster.leases import DEADLINE_SECONDS, NAME, RENEW_SECONDS, Step, Watched
from nodenet.core.messages import Message
from nodenet.core.persistent_ips.api import Conflict
from nodenet.ports.cluster_operator import Objects

log = structlog.get_logger()

WAIT_SECONDS = 5.0
"""Between two looks of one that does not lead."""


class Election:
    """This operator's part in the election."""

    def __init__(self, api: Objects, namespace: str, me: str, clock: Callable[[], str]) -> None:
        """*me*: the name of this operator, which no other one has. *clock* returns the time as the API writes it."""
        self._api = api
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._me = me
        self._clock = clock
        self._watched = Watched()
        self._renewed: float | None = None
        """When the Lease was written last, None for one that does not lead."""

    @property
    def leads(self) -> bool:
        """Whether this operator leads at this moment."""
        return self._renewed is not None and _now() - self._renewed < DEADLINE_SECONDS

    async def won(self) -> None:
        """Return when this operator leads."""
        while not self.leads:
            await self._look()
            if not self.leads:
                await asyncio.sleep(WAIT_SECONDS)
        log.info(f"{self._me} leads", message=Message.OPERATOR_LEADS)

    async def lost(self) -> None:
        """Renew the Lease; return when another operator may lead."""
        while self.leads:
            await asyncio.sleep(RENEW_SECONDS)
            await self._look()
        self._renewed = None
        cause = f"{self._me} leads no longer: its Lease could not be renewed, or another operator has it"
        log.warning(cause, message=Message.OPERATOR_LOST, cause=cause)

    async def give_back(self) -> None:
        """Let another operator begin at once."""
        if self._renewed is None:
            return
        self._renewed = None
        try:
            lease = await self._api.find(f"{self._leases}/{NAME}")
            if lease is not None and (lease.get("spec") or {}).get("holderIdentity") == self._me:
                await self._write(lease, {"holderIdentity": ""})
        except (Unavailable, Conflict) as error:
            log.info(f"The Lease was not given back: {error.cause}", message=Message.OPERATOR_STOPPED)

    async def _look(self) -> None:
        """Read the Lease, and do what follows."""
        asked = _now()
        try:
            lease = await self._api.find(f"{self._leases}/{NAME}")
            self._watched = leases.seen(self._watched, lease, asked)
            what = leases.step(self._me, lease, self._watched, asked)
            if what is Step.WAIT:
                self._renewed = None
                return
            await self._write(lease, leases.spec(self._me, lease, what, self._clock()))
        except Conflict:  # another one has written it in the meantime
            return
        except Unavailable as error:
            log.warning(error.cause, message=Message.OPERATOR_API, cause=error.cause, remedy=error.remedy)
            return
        self._renewed = asked

    async def _write(self, lease: Any, spec: dict[str, Any]) -> None:  # noqa: ANN401
        if lease is None:
            made = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME}, "spec": spec}
            await self._api.create(self._leases, made)
            return
        version = {"resourceVersion": lease["metadata"]["resourceVersion"]}
        await self._api.merge(f"{self._leases}/{NAME}", {"metadata": version, "spec": spec})


def _now() -> float:
    return asyncio.get_running_loop().time()
