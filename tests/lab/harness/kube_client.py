"""How does a test talk to kube-apiserver?

By HTTP with JSON, as one user. The server is in a network namespace, where this process is not: each connection is made
by a thread that enters the namespace for that moment (setns(2) is per thread).
"""

import base64
import contextlib
import ctypes
import http.client
import json
import os
import socket
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from harness import host
from harness import namespaces as ns

CLONE_NEWNET = 0x40000000
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"
FIELD_MANAGER = "lab"
TIMEOUT = 30.0

Document = dict[str, Any]
ANYTHING: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def custom_resource(
    group: str, version: str, kind: str, schema: Document = ANYTHING, *, namespaced: bool = True
) -> Document:
    """Return the definition of a kind of object; its content is checked by *schema*, and not at all without one."""
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


class ApiError(host.LabError):
    """kube-apiserver refused a request."""

    def __init__(self, request: str, status: int, reply: Document) -> None:
        self.status = status
        self.reason = str(reply.get("reason", ""))
        super().__init__(f"{request}: {status} {reply.get('message', reply)}")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client certificate: who asks."""

    user: str
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Server:
    """Where kube-apiserver listens."""

    netns: str
    address: str
    port: int
    authority: Path
    """The certificate that its own is verified with."""

    @property
    def url(self) -> str:
        """Its URL, as a kubeconfig has it."""
        return f"https://{self.address}:{self.port}"


class Client:
    """Requests of one user; every method raises ApiError if the server refuses."""

    def __init__(self, server: Server, credentials: Credentials) -> None:
        self.server = server
        self.credentials = credentials
        self._resources: dict[str, dict[str, Document]] = {}

    def get(self, path: str, **query: str) -> Document:
        """Return the object, or the list, at a path such as `/api/v1/nodes`."""
        return self._request("GET", _with(path, query))

    def find(self, path: str) -> Document | None:
        """Return the object at a path, None if there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == http.client.NOT_FOUND:
                return None
            raise

    def apply(self, *documents: Document) -> list[Document]:
        """Create or change objects, as `kubectl apply --server-side` does; return them as the server has them."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return [
            self._request("PATCH", _with(self.path_of(document), query), document, kind=APPLY) for document in documents
        ]

    def patch(self, path: str, change: Document) -> Document:
        """Change an object by a merge patch (RFC 7386): null removes a key."""
        return self._request("PATCH", path, change, kind=MERGE)

    def create(self, path: str, document: Document) -> Document:
        """Create an object in the collection at a path, or one of its subresources such as a token."""
        return self._request("POST", path, document, kind=JSON)

    def delete(self, path: str, **query: str) -> Document:
        """Delete an object; `propagationPolicy` may be `Foreground`, `Background` or `Orphan`."""
        return self._request("DELETE", _with(path, query))

    def path_of(self, document: Document) -> str:
        """Return the path of an object by its apiVersion, kind, namespace (`default`) and name."""
        version, metadata = str(document["apiVersion"]), document["metadata"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resource = self._resource(base, str(document["kind"]))
        space = f"/namespaces/{metadata.get('namespace', 'default')}" if resource["namespaced"] else ""
        return f"{base}{space}/{resource['name']}/{quote(metadata['name'])}"

    def raw(self, path: str) -> str:
        """Return what the server answers to GET, whatever type it has; `/readyz` is plain text."""
        status, body = self._exchange("GET", path, None, "")
        if status >= http.client.BAD_REQUEST:
            raise ApiError(f"GET {path}", status, {"message": body})
        return body

    def kubeconfig(self) -> str:
        """Return a kubeconfig that contains everything: the server, its authority, the user's certificate and key."""
        parts = {
            "certificate-authority-data": self.server.authority,
            "client-certificate-data": self.credentials.certificate,
            "client-key-data": self.credentials.key,
        }
        data = {name: base64.b64encode(path.read_bytes()).decode() for name, path in parts.items()}
        authority = {"certificate-authority-data": data.pop("certificate-authority-data")}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {"server": self.server.url, **authority}}],
            "users": [{"name": self.credentials.user, "user": data}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": self.credentials.user}}],
            "current-context": "lab",
        }
        return json.dumps(document, indent=1)

    def _resource(self, base: str, kind: str) -> Document:
        if kind not in self._resources.get(base, {}):  # a CRD may have come since
            found = self.get(base)["resources"]
            self._resources[base] = {item["kind"]: item for item in found if "/" not in item["name"]}
        try:
            return self._resources[base][kind]
        except KeyError:
            raise host.LabError(f"the server has no kind {kind} in {base}") from None

    def _request(self, method: str, path: str, body: Document | None = None, kind: str = "") -> Document:
        status, text = self._exchange(method, path, body, kind)
        try:
            reply: Document = json.loads(text)
        except ValueError:
            reply = {"message": text}
        if status >= http.client.BAD_REQUEST:
            raise ApiError(f"{method} {path}", status, reply)
        return reply

    def connection(self) -> http.client.HTTPConnection:
        """Return a connection of this user; it serves one request after the other until it is closed."""
        connection = http.client.HTTPConnection(self.server.address, self.server.port, timeout=TIMEOUT)
        connection.sock = self._secured(connect(self.server.netns, self.server.address, self.server.port))
        return connection

    def _exchange(self, method: str, path: str, body: Document | None, kind: str) -> tuple[int, str]:
        with contextlib.closing(self.connection()) as connection:
            headers = {"Accept": "application/json", **({"Content-Type": kind} if kind else {})}
            try:
                connection.request(method, path, None if body is None else json.dumps(body), headers)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except (OSError, http.client.HTTPException) as error:
                raise host.LabError(f"{method} {self.server.url}{path}: {error}") from error

    def _secured(self, plain: socket.socket) -> socket.socket:
        context = ssl.create_default_context(cafile=str(self.server.authority))
        context.load_cert_chain(self.credentials.certificate, self.credentials.key)
        try:
            return context.wrap_socket(plain, server_hostname=self.server.address)
        except OSError as error:
            plain.close()
            raise host.LabError(f"TLS with {self.server.url}: {error}") from error


def connect(netns: str, address: str, port: int) -> socket.socket:
    """Return a TCP connection that was made inside a network namespace; raise LabError if there is none."""
    made: list[socket.socket] = []
    errors: list[OSError] = []

    def enter_and_connect() -> None:
        try:
            _enter(ns.NETNS / netns)
            made.append(socket.create_connection((address, port), timeout=TIMEOUT))
            made[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # header and body are two packets
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=enter_and_connect)
    thread.start()
    thread.join()
    if errors:
        raise host.LabError(f"no connection to {address}:{port} in {netns}: {errors[0]}") from errors[0]
    return made[0]


def _enter(netns: Path) -> None:
    """Let the calling thread, and it alone, use a network namespace from now on."""
    with netns.open("rb") as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(netns))


def _with(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
