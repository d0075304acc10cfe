"""An API of the test's own: objects by path, versions, watches, conflicts, and a time without an answer."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from ipaddress import ip_address
from typing import Any

from nodenet.cluster_operator.steward import LEASES, NODES, RESOURCES
from nodenet.core.errors import Forbidden, Unavailable
from nodenet.core.hosted_cluster.node_report import ANNOTATION, NodeReport, Stack, render
from nodenet.core.hosted_services.model import Mode
from nodenet.core.hosted_services.report import HostedHealth
from nodenet.core.persistent_ips.model import Conflict

RESOURCE = f"{RESOURCES}/cluster"
OWN_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
OWN_LEASE = f"{OWN_LEASES}/nodenet-operator"
LISTS = (NODES, RESOURCES, LEASES, OWN_LEASES)


class FakeApi:
    """Fits ``ports.kubernetes.Objects``."""

    provisional = False

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.version = 0
        self.away = False
        self.forbidden: set[str] = set()
        self.writes: list[tuple[str, str]] = []
        self.events: list[Mapping[str, Any]] = []
        self.requests = 0
        self.before_write: Callable[[str], None] = lambda _: None
        self._watches: list[tuple[str, asyncio.Queue[Any]]] = []

    def _ask(self, path: str) -> None:
        self.requests += 1
        if self.away:
            raise Unavailable("connection refused")
        if any(path.startswith(one) for one in self.forbidden):
            raise Forbidden(f"The API refuses {path}")

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[FakeApi]:
        yield self

    def of(self, path: str) -> list[dict[str, Any]]:
        found = [one for place, one in self.objects.items() if place.rpartition("/")[0] == path]
        return copy.deepcopy(found)

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:  # noqa: ARG002
        self._ask(path)
        return {"metadata": {"resourceVersion": str(self.version)}, "items": self.of(path)}

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:  # noqa: ARG002
        self._ask(path)
        queue = self.queue(path)
        while True:
            event = await queue.get()
            if event is None:
                raise Unavailable("the watch broke")
            yield event

    def queue(self, path: str) -> asyncio.Queue[Any]:
        """Return the events of a list from now on; None is the end."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        self._watches.append((path, queue))
        return queue

    async def find(self, path: str) -> Any:
        self._ask(path)
        return copy.deepcopy(self.objects.get(path))

    async def items(self, path: str) -> Any:
        self._ask(path)
        return self.of(path)

    async def create(self, path: str, document: Mapping[str, Any]) -> Any:
        self._ask(path)
        if document["kind"] == "Event":
            self.events.append(document)
            return document
        self.before_write(path)
        place = f"{path}/{document['metadata']['name']}"
        if place in self.objects:
            raise Conflict(f"{place} is there")
        self.writes.append(("create", place))
        return self.put(place, dict(document))

    async def merge(self, path: str, change: Mapping[str, Any]) -> Any:
        self._ask(path)
        self.before_write(path)
        place = path.removesuffix("/status")
        now = self.objects[place]
        wanted = change["metadata"]["resourceVersion"]
        if wanted != now["metadata"]["resourceVersion"]:
            raise Conflict(f"{place} has another version")
        self.writes.append(("merge", path))
        rest = {key: value for key, value in change.items() if key != "metadata"}
        return self.put(place, {**now, **{key: {**now.get(key, {}), **value} for key, value in rest.items()}})

    def put(self, place: str, document: dict[str, Any]) -> dict[str, Any]:
        """Replace an object and let the watches know."""
        self.version += 1
        kind = "MODIFIED" if place in self.objects else "ADDED"
        before = self.objects.get(place, {})
        metadata = {**document["metadata"], "resourceVersion": str(self.version)}
        changed = document.get("spec") != before.get("spec")
        metadata["generation"] = before.get("metadata", {}).get("generation", 0) + changed
        metadata["uid"] = before.get("metadata", {}).get("uid", f"uid-{self.version}")
        made = {**copy.deepcopy(document), "metadata": metadata}
        self.objects[place] = made
        self._emit(place, kind, made)
        return copy.deepcopy(made)

    def remove(self, place: str) -> None:
        self.version += 1
        gone = self.objects.pop(place)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._emit(place, "DELETED", gone)

    def _emit(self, place: str, kind: str, made: dict[str, Any]) -> None:
        for path, queue in self._watches:
            if path == place.rpartition("/")[0]:
                queue.put_nowait({"type": kind, "object": copy.deepcopy(made)})

    def break_watches(self) -> None:
        for _, queue in self._watches:
            queue.put_nowait(None)
        self._watches.clear()

    def node(self, name: str, report: NodeReport | str | None = None, *, role: str = "control-plane") -> None:
        """Make or change a Node with the report that it has written."""
        text = render(report) if isinstance(report, NodeReport) else report
        number = int(name[1:])
        self.put(
            f"{NODES}/{name}",
            {
                "metadata": {
                    "name": name,
                    "labels": {f"node-role.kubernetes.io/{role}": ""},
                    "annotations": {ANNOTATION: text} if text is not None else {},
                },
                "status": {"addresses": [{"type": "InternalIP", "address": str(ip_address("192.0.2.10") + number)}]},
            },
        )

    async def beat(self, *names: str) -> None:
        """Renew the Leases of nodes every ten seconds."""
        while True:
            for name in names:
                spec = {"renewTime": f"T{self.version}", "leaseDurationSeconds": 40}
                self.put(f"{LEASES}/{name}", {"metadata": {"name": name}, "spec": spec})
            await asyncio.sleep(10)

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.objects.get(RESOURCE, {}).get("status", {}))

    @property
    def states(self) -> dict[str, str]:
        return {one["type"]: one["status"] for one in self.status.get("conditions", [])}


def well(**changes: Any) -> NodeReport:
    given = {"api": True, "generation": 1, **changes}
    return NodeReport(Mode.SELF_HOSTED, given.pop("health", HostedHealth.OK), Stack.NODENET, **given)


@contextlib.asynccontextmanager
async def tasks(*works: Coroutine[Any, Any, None]) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Run coroutines until the block ends."""
    running = [asyncio.ensure_future(work) for work in works]
    try:
        yield running
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
