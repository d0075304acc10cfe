"""Does the ClusterOperator of OpenShift say what the object HostedNetServices says? Elsewhere there is no such kind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

from nodenet.core.errors import Forbidden, Unavailable
from nodenet.core.hosted_cluster import openshift
from nodenet.core.hosted_cluster.openshift import NEW, OPERATOR, PATH
from nodenet.core.messages import Message
from nodenet.core.persistent_ips.api import Conflict
from nodenet.ports.cluster_operator import Objects

log = structlog.get_logger()

LOOK_SECONDS = 900.0
"""How often it is read again, and how often a cluster is asked whether it has the kind."""
PAUSE_SECONDS = 20.0


class Announcement:
    """Keeps the ClusterOperator, where the cluster has such a kind and the role for it."""

    def __init__(self, api: Objects, version: str, leads: Callable[[], bool]) -> None:
        """*version*: that of nodenet. *leads* is asked before each write."""
        self._api = api
        self._version = version
        self._leads = leads
        self._wanted: dict[str, Any] | None = None
        self._changed = asyncio.Event()

    def take(self, conditions: Sequence[Mapping[str, Any]]) -> None:
        """Say this from now on."""
        wanted = openshift.status(conditions, self._version)
        if wanted != self._wanted:
            self._wanted = wanted
            self._changed.set()

    async def run(self) -> None:
        """Write what differs, until cancelled."""
        await self._changed.wait()
        while True:
            self._changed.clear()
            try:
                await self._bring()
            except Forbidden:  # no such kind here, or no role for it
                await asyncio.sleep(LOOK_SECONDS)
                continue
            except Conflict:
                self._changed.set()
            except Unavailable as error:
                log.warning(error.cause, message=Message.OPERATOR_API, cause=error.cause)
                self._changed.set()
            await asyncio.sleep(PAUSE_SECONDS)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _bring(self) -> None:
        """Write it where it differs. Raises Conflict, Forbidden, Unavailable."""
        found = await self._api.find(f"{PATH}/{OPERATOR}")
        if self._wanted is None or not self._leads():
            return
        if found is None:
            found = await self._api.create(PATH, NEW)
        before = found.get("status") or {}
        if any(before.get(key) != value for key, value in self._wanted.items()):
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            await self._api.merge(f"{PATH}/{OPERATOR}/status", {"metadata": version, "status": self._wanted})
            log.info(f"The ClusterOperator {OPERATOR} was written", message=Message.OPERATOR_WROTE)
