"""A service on a cluster in memory: objects with versions, watches, and an API that stops or is slow."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Self

from nodenet.cni.service import Identity, Service
from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.persistent_ips.model import ApiAway, Conflict, Expired, NotFound, Page
from nodenet.core.persistent_ips.pod import NETWORKS
from nodenet.loop.background import Background
from virtual_time import VirtualClock

CONFIG = {"cniVersion": "1.1.0", "name": "blue", "type": "bridge", "ipam": {"type": "nodenet-ipam"}}
SUBNETS = {"subnets": "192.0.2.0/24", "allowPersistentIPs": True}


class FakeApi:
    """The cluster; several services may have it."""

    def __init__(self) -> None:
        self.pods: dict[tuple[str, str], dict[str, Any]] = {}
        self.claims: dict[tuple[str, str], dict[str, Any]] = {}
        self.leases: dict[str, dict[str, Any]] = {}
        self.definitions: dict[tuple[str, str], dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.problem: NodenetError | None = None
        self.delay = 0.0
        self.page = 1000
        self.oldest = 0
        """A watch from an older version is answered with 410."""
        self.ends_watches = False
        """As a server does that is about to stop, and a proxy that allows no long answer."""
        self._history: list[tuple[int, dict[str, Any]]] = []
        self._changed = asyncio.Event()
        self._number = 0

    def number(self) -> str:
        self._number += 1
        return str(self._number)

    def put_pod(self, name: str, claim: str | None = None, machine: str = "", **more: Any) -> dict[str, Any]:
        element = {"name": "blue", "interface": "net1"} | ({"ipam-claim-reference": claim} if claim else {}) | more
        metadata = {"namespace": "vms", "name": name, "uid": f"pod-{self.number()}"}
        labels = {"vm.kubevirt.io/name": machine} if machine else {}
        annotations = {NETWORKS: json.dumps([element])}
        self.pods["vms", name] = {"metadata": {**metadata, "annotations": annotations, "labels": labels}}
        return self.pods["vms", name]

    def put_claim(self, name: str, network: str = "blue", status: Any = None) -> dict[str, Any]:
        metadata = {"namespace": "vms", "name": name, "uid": f"claim-{self.number()}", "resourceVersion": self.number()}
        made = {"metadata": metadata, "spec": {"network": network, "interface": ""}, "status": status or {}}
        self.claims["vms", name] = made
        self.tell("ADDED", made)
        return made

    def delete_claim(self, name: str) -> None:
        gone = self.claims.pop(("vms", name))
        gone["metadata"]["resourceVersion"] = self.number()
        self.tell("DELETED", gone)

    def tell(self, kind: str, item: dict[str, Any]) -> None:
        version = int(item["metadata"]["resourceVersion"])
        self._history.append((version, {"type": kind, "object": copy.deepcopy(item)}))
        self._changed.set()
        self._changed = asyncio.Event()

    def backup(self) -> tuple[Any, ...]:
        """Return the state of the database."""
        return copy.deepcopy((self.pods, self.claims, self.leases, self._number))

    def restore(self, backup: tuple[Any, ...]) -> None:
        """Let the database be as it was at *backup*; while it is restored the API does not answer."""
        self.pods, self.claims, self.leases, self._number = copy.deepcopy(backup)
        self._history.clear()

    async def _ask(self, what: str) -> None:
        self.requests.append(what)
        await asyncio.sleep(self.delay)
        if self.problem is not None:
            raise self.problem

    async def pod(self, namespace: str, name: str) -> Mapping[str, Any]:
        await self._ask("get pod")
        return self._found(self.pods, (namespace, name))

    async def definition(self, namespace: str, name: str) -> Mapping[str, Any]:
        await self._ask("get definition")
        return self._found(self.definitions, (namespace, name))

    async def claim(self, namespace: str, name: str) -> Mapping[str, Any]:
        await self._ask("get claim")
        return self._found(self.claims, (namespace, name))

    @staticmethod
    def _found(objects: Mapping[Any, dict[str, Any]], key: Any) -> dict[str, Any]:
        if key not in objects:
            raise NotFound(f"{key} is not there")
        return copy.deepcopy(objects[key])

    async def list_claims(self, following: str = "") -> Page:
        await self._ask("list claims")
        return self._page(list(self.claims.values()), following)

    def _page(self, items: list[dict[str, Any]], following: str) -> Page:
        first = int(following or 0)
        rest = first + self.page < len(items)
        listed = tuple(copy.deepcopy(items[first : first + self.page]))
        return Page(listed, str(self._number), str(first + self.page) if rest else "")

    async def watch_claims(self, resource_version: str) -> AsyncIterator[Mapping[str, Any]]:
        await self._ask("watch claims")
        after = int(resource_version)
        if after < self.oldest:
            raise Expired("too old")
        while self.problem is None:
            if self.ends_watches:
                return
            changed = self._changed
            for version, event in [one for one in self._history if one[0] > after]:
                after = version
                yield event
            await changed.wait()
        raise self.problem

    async def patch_claim_status(self, namespace: str, name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._ask("patch claim")
        self._found(self.claims, (namespace, name))
        claim = self.claims[namespace, name]
        for key in ("uid", "resourceVersion"):
            if claim["metadata"][key] != patch["metadata"][key]:
                raise Conflict(key)
        for key, value in patch["status"].items():
            if value is None:
                claim["status"].pop(key, None)
            else:
                claim["status"][key] = value
        claim["metadata"]["resourceVersion"] = self.number()
        self.tell("MODIFIED", claim)
        return copy.deepcopy(claim)

    async def create_lease(self, lease: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._ask("create lease")
        name = lease["metadata"]["name"]
        if name in self.leases:
            raise Conflict(name)
        made = copy.deepcopy(dict(lease))
        made["metadata"] |= {"uid": f"lease-{self.number()}", "resourceVersion": self.number()}
        self.leases[name] = made
        return copy.deepcopy(made)

    async def lease(self, name: str) -> Mapping[str, Any]:
        await self._ask("get lease")
        return self._found(self.leases, name)

    async def list_leases(self, selector: str, following: str = "") -> Page:
        await self._ask("list leases")
        wanted = dict(part.split("=") for part in selector.split(","))
        items = [one for one in self.leases.values() if wanted.items() <= one["metadata"]["labels"].items()]
        return self._page(items, following)

    async def patch_lease(self, name: str, operations: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        await self._ask("patch lease")
        self._found(self.leases, name)
        metadata = self.leases[name]["metadata"]
        for one in operations:
            *parts, key = (part.replace("~1", "/") for part in one["path"].split("/")[2:])
            found = metadata[parts[0]] if parts else metadata
            if one["op"] == "test" and found.get(key) != one["value"]:
                raise Conflict(name)
            found[key] = one["value"]
        metadata["resourceVersion"] = self.number()
        return copy.deepcopy(self.leases[name])

    async def delete_lease(self, name: str, uid: str, resource_version: str | None = None) -> None:
        await self._ask("delete lease")
        metadata = self._found(self.leases, name)["metadata"]
        if metadata["uid"] != uid or resource_version not in (None, metadata["resourceVersion"]):
            raise Conflict(name)
        del self.leases[name]

    async def create_event(self, namespace: str, event: Mapping[str, Any]) -> None:
        await self._ask("create event")
        self.events.append({"namespace": namespace, **event})

    async def close(self) -> None:
        pass


class FakeStore:
    """A store in a dictionary that a second service may open later."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], str] = {}
        self.fresh = True
        self.full = False
        self.delay = 0.0

    def load(self) -> Sequence[tuple[str, str, str]]:
        return [(kind, key, text) for (kind, key), text in self.rows.items()]

    def save(self, changes: Sequence[tuple[str, str, str | None]], *, later: bool = False) -> Awaitable[None]:  # noqa: ARG002 -- at once
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.full:
            done.set_exception(PublishFailed("No space left on device", remedy="Free space"))
            return done
        for kind, key, text in changes:
            if text is None:
                self.rows.pop((kind, key), None)
            else:
                self.rows[kind, key] = text
        asyncio.get_running_loop().call_later(self.delay, _succeed, done)
        return done

    def close(self) -> None:
        pass


def _succeed(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


class SteppedClock(VirtualClock):
    """The virtual clock; a test moves the wall clock by *step* seconds."""

    step = 0.0

    def unix(self) -> float:
        """Return the wall clock."""
        return super().unix() + self.step


class Rig:
    """One service, and the requests of the plugin."""

    def __init__(
        self,
        api: FakeApi,
        node: str = "node-a",
        store: FakeStore | None = None,
        boot: str = "b" * 32,
    ) -> None:
        self.api = api
        self.store = store or FakeStore()
        self.gone: set[str] = set()
        self.clock = SteppedClock()
        self.service = Service(Identity(node, boot), api, self.store, self.clock, self.gone.__contains__)
        self.background = Background()

    async def __aenter__(self) -> Self:
        self.service.start(self.background)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.service.end()
        await self.background.end()

    def request(self, verb: str, container: str, pod: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        args = ""
        if pod is not None:
            name = pod["metadata"]
            args = f"K8S_POD_NAMESPACE=vms;K8S_POD_NAME={name['name']};K8S_POD_UID={name['uid']}"
        return {
            "version": 1,
            "command": verb,
            "container_id": container,
            "netns": f"/run/netns/{container}",
            "ifname": "net1",
            "args": args,
            "path": "",
            "config": json.dumps({**CONFIG, **SUBNETS, **more}),
        }

    async def ask(self, verb: str, container: str = "", pod: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """Return the plugin's output, with its exit code where that is not 0."""
        answer = await self.service.verbs.answer(self.request(verb, container, pod, **more))
        found = json.loads(str(answer["stdout"])) if answer["stdout"] else {}
        return {**found, "exit": 1} if answer["exit"] else found

    async def add(self, container: str, pod: Mapping[str, Any] | None = None, **more: Any) -> list[str]:
        found = await self.ask("ADD", container, pod, **more)
        assert "exit" not in found, found
        return [one["address"] for one in found["ips"]]

    async def settled(self) -> None:
        """Wait until every chore that is due is done."""
        await until(lambda: self.service.chores.rested)


async def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for a state, looking more rarely the longer it takes."""
    pause = 0.002
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(pause)
            pause = min(pause * 1.05, 1.0)


def away() -> ApiAway:
    return ApiAway("The API does not answer")
