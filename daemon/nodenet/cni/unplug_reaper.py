"""Who deletes the claims that have lost their network? One node, off by default (``[ipam] unplug_reaper``)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import structlog

from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.persistent_ips import leader, unplug
from nodenet.core.persistent_ips.api import Conflict, NotFound, Page
from nodenet.core.persistent_ips.unplug import FINALIZER, UNPLUGGED_SECONDS, Unplugged

log = structlog.get_logger()

LOOK_SECONDS = 300.0
Document = Mapping[str, Any]


def uptime() -> float:
    """Return the seconds since the boot (clock_gettime(2), CLOCK_BOOTTIME)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class ReaperApi(Protocol):
    """What it needs of the API."""

    async def list_machines(self, following: str = "") -> Page:
        """Return a page of the VirtualMachines."""

    async def list_claims(self, following: str = "") -> Page:
        """Return a page of the claims."""

    async def pod(self, namespace: str, name: str) -> Document:
        """Return a pod. Raises NotFound."""

    async def patch_claim(self, namespace: str, name: str, operations: Sequence[Document]) -> Document:
        """Apply a JSON patch to a claim. Raises Conflict, NotFound."""

    async def delete_claim(self, namespace: str, name: str, uid: str, resource_version: str) -> Document:
        """Delete a claim as it was read. Raises Conflict, NotFound."""

    async def lease(self, name: str) -> Document:
        """Return a Lease. Raises NotFound."""

    async def create_lease(self, lease: Document) -> Document:
        """Create a Lease. Raises Conflict."""

    async def patch_lease(self, name: str, operations: Sequence[Document]) -> Document:
        """Apply a JSON patch to a Lease. Raises Conflict, NotFound."""


class UnplugReaper:
    """Looks at the claims from time to time, while it holds the Lease."""

    def __init__(self, api: ReaperApi, node: str, uptime: Callable[[], float] = uptime) -> None:
        """*node*: the holder in the Lease. *uptime*: seconds that do not depend on the wall clock."""
        self._api = api
        self._uptime = uptime
        self._node = node
        self._seen: leader.Seen | None = None
        self._since: dict[tuple[str, str], float] = {}
        self.problem: str | None = None
        """Why the last look failed, None after one that did not."""

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except NodenetError as error:
                if self.problem is None:
                    text = f"Claims of unplugged interfaces are not looked for: {error.cause}"
                    log.warning(text, message=Message.CLAIMS_UNREADABLE, cause=error.cause, remedy=error.remedy)
                self.problem = error.cause
            else:
                self.problem = None
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Delete what has been without its network for long enough. Raises ApiAway, Forbidden, Expired."""
        if not await self._leads():
            self._since.clear()
            return
        # The claims first: a claim that is made meanwhile is not among them, a network that is added meanwhile is seen.
        claims = [one async for one in _all(self._api.list_claims)]
        machines = [vm async for one in _all(self._api.list_machines) if (vm := unplug.machine(one)) is not None]
        now = self._uptime()
        found = list(unplug.unplugged(claims, machines))
        self._since = {one.key: self._since.get(one.key, now) for one in found}
        for one in found:
            if now - self._since[one.key] >= UNPLUGGED_SECONDS and await self._is_unused(one):
                await self._delete(one)

    async def _is_unused(self, one: Unplugged) -> bool:
        if not one.pod:
            return True
        try:
            pod = await self._api.pod(one.namespace, one.pod)
        except NotFound:
            return True
        status = pod.get("status")
        return isinstance(status, Mapping) and status.get("phase") in ("Succeeded", "Failed")

    async def _delete(self, one: Unplugged) -> None:
        """Delete a claim as it was read: one that changed is looked at again.

        The finalizer goes first: a claim that is deleted and keeps it would be busy until the machine is deleted.
        """
        version = one.version
        try:
            if FINALIZER in one.finalizers:
                kept = [name for name in one.finalizers if name != FINALIZER]
                test = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
                change = {"op": "replace", "path": "/metadata/finalizers", "value": kept}
                changed = await self._api.patch_claim(one.namespace, one.name, [test, change])
                version = leader.version_of(changed)
            await self._api.delete_claim(one.namespace, one.name, one.uid, version)
        except (Conflict, NotFound):
            return
        text = f"Claim {one.namespace}/{one.name} is deleted: its network left its virtual machine"
        log.info(text, message=Message.ADDRESS_RELEASED)

    async def _leads(self) -> bool:
        """Return whether this node does it now."""
        try:
            try:
                lease = await self._api.lease(leader.NAME)
            except NotFound:
                await self._api.create_lease(leader.new(self._node, time.time()))
                return True
            if not leader.may_take(lease, self._node, self._seen, self._uptime()):
                if self._seen is None or self._seen.version != leader.version_of(lease):
                    self._seen = leader.Seen(leader.version_of(lease), self._uptime())
                return False
            await self._api.patch_lease(leader.NAME, leader.take(lease, self._node, time.time()))
        except (Conflict, NotFound):
            return False  # another node was faster
        self._seen = None
        return True


async def _all(page: Callable[[str], Awaitable[Page]]) -> AsyncIterator[Document]:
    following = ""
    while True:
        found = await page(following)
        for item in found.items:
            yield item
        following = found.following
        if not following:
            return
