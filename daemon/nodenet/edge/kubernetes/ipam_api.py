"""How does nodenet-ipam read and change pods, claims, Leases and Events? Fits ``ports.kubernetes.IpamApi``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nodenet.core.errors import NodenetError
from nodenet.core.persistent_ips.model import ApiAway, Conflict, Forbidden, NotFound, Page, TooLarge
from nodenet.edge.kubernetes.session import UNPROCESSABLE, Answer, Session, event_error

CLAIMS = "/apis/k8s.cni.cncf.io/v1alpha1"
DEFINITIONS = "/apis/k8s.cni.cncf.io/v1"
LEASES = "/apis/coordination.k8s.io/v1"
WHEREABOUTS = "/apis/whereabouts.cni.cncf.io/v1alpha1"
PAGE, SMALL_PAGE = "1000", "8"
"""How many objects a page has; no object has more than 1.5 MiB."""
MERGE_PATCH, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
Document = Mapping[str, Any]


class KubernetesIpam:
    """The cluster that a kubeconfig names."""

    def __init__(self, kubeconfig: str, lease_namespace: str, weak: Callable[[tuple[str, ...]], None]) -> None:
        """*weak* gets the weaknesses of the kubeconfig whenever it is read."""
        self.session = Session(kubeconfig, weak)
        self._leases = f"{LEASES}/namespaces/{quote(lease_namespace, safe='')}/leases"

    async def pod(self, namespace: str, name: str) -> Document:
        """Return a pod. Raises NotFound."""
        return await self._get(_path("/api/v1", namespace, "pods", name))

    async def definition(self, namespace: str, name: str) -> Document:
        """Return a NetworkAttachmentDefinition. Raises NotFound."""
        return await self._get(_path(DEFINITIONS, namespace, "network-attachment-definitions", name))

    async def definitions(self) -> list[Document]:
        """Return the NetworkAttachmentDefinitions of all namespaces."""
        return await self._all(f"{DEFINITIONS}/network-attachment-definitions")

    async def configure(self, namespace: str, name: str, version: str, configuration: str) -> None:
        """Write another configuration into the definition that has this resourceVersion. Raises Conflict, NotFound."""
        path = _path(DEFINITIONS, namespace, "network-attachment-definitions", name)
        patch = {"metadata": {"resourceVersion": version}, "spec": {"config": configuration}}
        answer = await self.session.request("PATCH", path, body=patch, kind=MERGE_PATCH)
        _document(answer, f"The API refuses to change {path}")

    async def whereabouts_pools(self) -> list[Document]:
        """Return the pools of whereabouts of all namespaces. Raises Forbidden if the cluster has no such kind."""
        return await self._all(f"{WHEREABOUTS}/ippools")

    async def node(self, name: str) -> Document:
        """Return a Node. Raises NotFound."""
        return await self._get(f"/api/v1/nodes/{_segment(name)}")

    async def claims(self) -> list[Document]:
        """Return the claims of all namespaces."""
        return await self._all(f"{CLAIMS}/ipamclaims")

    async def claim(self, namespace: str, name: str) -> Document:
        """Return a claim as it is now. Raises NotFound."""
        return await self._get(_path(CLAIMS, namespace, "ipamclaims", name))

    async def list_claims(self, following: str = "") -> Page:
        """Return a page of the claims of all namespaces. Raises Expired."""
        return await self._page(f"{CLAIMS}/ipamclaims", {}, following)

    async def watch_claims(self, resource_version: str) -> AsyncIterator[Document]:
        """Yield the events since *resource_version*, bookmarks too. Raises Expired."""
        path = f"{CLAIMS}/ipamclaims"
        async for event in self.session.watch(path, {"resourceVersion": resource_version}):
            if isinstance(event, Answer):
                raise event.error(f"The API refuses the watch of {path}", {404: Forbidden})
            if error := event_error(event):
                raise error
            yield event

    async def patch_claim_status(self, namespace: str, name: str, patch: Document) -> Document:
        """Merge *patch* into the status; return the claim. Raises Conflict, NotFound."""
        path = _path(CLAIMS, namespace, "ipamclaims", name) + "/status"
        answer = await self.session.request("PATCH", path, body=patch, kind=MERGE_PATCH)
        return _document(answer, f"The API refuses to change {path}")

    async def create_lease(self, lease: Document) -> Document:
        """Create a Lease and return it. Raises Conflict when the name is taken."""
        answer = await self.session.request("POST", self._leases, body=lease)
        return _document(answer, f"The API refuses a Lease in {self._leases}", {404: Forbidden})

    async def lease(self, name: str) -> Document:
        """Return a Lease as it is now. Raises NotFound."""
        return await self._get(f"{self._leases}/{_segment(name)}")

    async def list_leases(self, selector: str, following: str = "") -> Page:
        """Return a page of the Leases with these labels. Raises Expired."""
        return await self._page(self._leases, {"labelSelector": selector} if selector else {}, following)

    async def patch_lease(self, name: str, operations: Sequence[Document]) -> Document:
        """Apply a JSON patch and return the Lease. Raises Conflict when a ``test`` fails, NotFound."""
        path = f"{self._leases}/{_segment(name)}"
        answer = await self.session.request("PATCH", path, body=list(operations), kind=JSON_PATCH)
        return _document(answer, f"The API refuses to change {path}", {UNPROCESSABLE: Conflict})

    async def delete_lease(self, name: str, uid: str, resource_version: str | None = None) -> None:
        """Delete a Lease, if it has this UID and version. Raises Conflict, NotFound."""
        conditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        path = f"{self._leases}/{_segment(name)}"
        _document(await self.session.request("DELETE", path, body=options), f"The API refuses to delete {path}")

    async def create_event(self, namespace: str, event: Document) -> None:
        """Create an Event; one of the same name that is there already is enough."""
        path = f"/api/v1/namespaces/{_segment(namespace)}/events"
        answer = await self.session.request("POST", path, body=event)
        if answer.status != 409:
            _document(answer, f"The API refuses an Event in {path}", {404: Forbidden})

    async def close(self) -> None:
        """Close the connections."""
        await self.session.close()

    async def _get(self, path: str) -> Document:
        answer = await self.session.request("GET", path)
        if answer.status == 404 and not _names_an_object(answer):
            raise answer.error(f"The API has no objects like {path}", {404: Forbidden})
        return _document(answer, f"The API refuses {path}")

    async def _all(self, path: str) -> list[Document]:
        """Return all objects of a kind. Raises Expired if the list takes too long."""
        page = await self._page(path, {}, "")
        found = list(page.items)
        while page.following:
            page = await self._page(path, {}, page.following)
            found += page.items
        return found

    async def _page(self, path: str, parameters: Mapping[str, str], following: str) -> Page:
        asked = {**parameters, "limit": PAGE, **({"continue": following} if following else {})}
        try:
            answer = await self.session.request("GET", path, asked)
        except TooLarge:  # every user who may create claims decides how long they are
            answer = await self.session.request("GET", path, {**asked, "limit": SMALL_PAGE})
        found = _document(answer, f"The API refuses to list {path}", {404: Forbidden})
        items, metadata = found.get("items"), found.get("metadata")
        if not isinstance(items, list) or not isinstance(metadata, dict):
            raise ApiAway(f"The API's list of {path} has no items")
        return Page(tuple(items), str(metadata.get("resourceVersion", "")), str(metadata.get("continue") or ""))


def _document(answer: Answer, what: str, others: Mapping[int, type[NodenetError]] | None = None) -> Document:
    if not 200 <= answer.status < 300:
        raise answer.error(what, others)
    found: Document = answer.document
    return found


def _names_an_object(answer: Answer) -> bool:
    """Return whether a 404 is about one object: where the whole kind is missing, it is no Status object."""
    return b'"Status"' in answer.content


def _path(base: str, namespace: str, plural: str, name: str) -> str:
    return f"{base}/namespaces/{_segment(namespace)}/{plural}/{_segment(name)}"


def _segment(name: str) -> str:
    """Return *name* as one segment of a path. Raises NotFound for what no object is called."""
    if name in ("", ".", ".."):
        raise NotFound(f"No object of the API is called {name!r}")
    return quote(name, safe="")
