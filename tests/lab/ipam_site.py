"""A cluster whose API has IPAMClaims, and what a test makes in it: namespaces, claims, pods.

Everything is made through a real kube-apiserver. Objects of one test are in a namespace of their own, and so are its
networks' names: tests share the cluster and do not see each other.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ruamel.yaml import YAML

from harness import Lab, eventually
from harness import namespaces as ns
from harness.api_proxy import ApiProxy
from harness.kube import Cluster
from harness.kube_client import ApiError

MANIFESTS = Path(__file__).resolve().parents[2] / "packaging" / "cluster"
CRDS = ("crd-ipamclaims.yaml", "crd-network-attachment-definitions.yaml")
INSTALLED = tuple(f"persistent-ips/{name}.yaml" for name in ("namespace", "rbac", "policy"))
ACCOUNT_SPACE = ACCOUNT = LEASE_SPACE = "nodenet-ipam"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_SPACE}/leases"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
GROUP = "/apis/k8s.cni.cncf.io/v1alpha1"
CLAIM = "k8s.cni.cncf.io/v1alpha1"
PATIENCE = 60.0
PLUGIN = "nodenet-ipam"

Document = dict[str, Any]
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Network:
    """One network as its configuration describes it."""

    name: str
    subnets: str
    exclude: str = ""
    persistent: bool = True
    plugin: str = "bridge"
    version: str = "1.1.0"
    ipam: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def link(self) -> str:
        """The plugin's own keys: each network has a bridge of its own."""
        return f"b{self.name.rpartition('-')[2]}"

    def plugin_config(self) -> Document:
        """Return the plugin's part of the configuration."""
        links = {"bridge": {"bridge": self.link}, "macvlan": {"master": "eth0", "mode": "bridge"}}
        made: Document = {"type": self.plugin, **links.get(self.plugin, {}), "subnets": self.subnets}
        if self.exclude:
            made["excludeSubnets"] = self.exclude
        if self.persistent:
            made["allowPersistentIPs"] = True
        return {**made, "ipam": {"type": PLUGIN, **self.ipam}, **self.more}

    def conflist(self) -> str:
        """Return the file that a runtime reads."""
        return json.dumps({"cniVersion": self.version, "name": self.name, "plugins": [self.plugin_config()]})

    def stdin(self, **more: Any) -> str:
        """Return what a runtime gives to the plugin."""
        return json.dumps({"cniVersion": self.version, "name": self.name, **self.plugin_config(), **more})


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as the runtime names it to a plugin."""

    namespace: str
    name: str
    uid: str
    netns: str = ""
    """The network namespace's path, empty for a pod that no plugin gets a link in."""

    @property
    def sandbox(self) -> str:
        """Its container ID."""
        return f"sandbox-{self.uid}"

    @property
    def path(self) -> str:
        """Its path in the API."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    @property
    def args(self) -> str:
        """Return CNI_ARGS as runtimes set it."""
        named = {"NAMESPACE": self.namespace, "NAME": self.name, "INFRA_CONTAINER_ID": self.sandbox, "UID": self.uid}
        return ";".join(["IgnoreUnknown=1", *(f"K8S_POD_{key}={value}" for key, value in named.items())])


class Site:
    """The cluster with the product's manifests, and a proxy that can fail; a context manager."""

    def __init__(self, lab: Lab, *, proxy: bool = True) -> None:
        self.lab = lab
        self.lan = lab.lan(serve=False)
        self.cluster = Cluster(self.lan)
        self._with_proxy = proxy

    def __enter__(self) -> Self:
        self.cluster.__enter__()
        self.admin = self.cluster.admin
        for name in (*CRDS, *INSTALLED):
            self.admin.apply(*manifest(name))
        eventually(self._serves_claims, "the API to serve IPAMClaims", timeout=PATIENCE)
        if self._with_proxy:
            self.proxy = ApiProxy(self.cluster)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cluster.close()

    def kubeconfig(self, node: str, *, proxy: bool = True) -> str:
        """Return the kubeconfig of a node's service, through the proxy unless it is unwanted."""
        through = proxy and self._with_proxy
        authority = self.cluster.server.authority
        server = {"server": self.proxy.url if through else self.cluster.server.url}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "lab", "cluster": {**server, "certificate-authority": str(authority)}}],
                "users": [{"name": ACCOUNT, "user": {"token": self.token(node)}}],
                "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": ACCOUNT}}],
                "current-context": "lab",
            }
        )

    def space(self) -> Space:
        """Return a new namespace."""
        return Space(self, f"space-{next(_numbers)}")

    def network(self, subnets: str = "", **more: Any) -> Network:
        """Return a network that no other test has; its subnet is a /24 unless given."""
        number = next(_numbers)
        return Network(f"net-{number}", subnets or f"10.{200 + number // 250}.{number % 250}.0/24", **more)

    @staticmethod
    def unique() -> str:
        """Return a short word that no other call returns."""
        return f"u{next(_numbers)}"

    def leases(self, network: Network) -> list[Document]:
        """Return the Leases that reserve an address of a network."""
        name = re.compile(rf"(?<![\w-]){re.escape(network.name)}(?![\w-])")
        return [lease for lease in self.admin.get(LEASES)["items"] if name.search(json.dumps(lease))]

    def _serves_claims(self) -> bool:
        try:
            return "items" in self.admin.get(f"{GROUP}/ipamclaims")
        except ApiError:
            return False

    def token(self, node: str) -> str:
        """Return a token that is bound to the Node of this name, which is made; without a name, one that is not."""
        path = f"/api/v1/namespaces/{ACCOUNT_SPACE}/serviceaccounts/{ACCOUNT}/token"
        spec = {}
        if node:
            (made,) = self.admin.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
            spec = {
                "boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": node, "uid": made["metadata"]["uid"]}
            }
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return str(self.admin.create(path, wanted)["status"]["token"])


class Space:
    """One namespace of the cluster."""

    def __init__(self, site: Site, name: str) -> None:
        self.site, self.name, self.admin = site, name, site.admin
        self.admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
        # Admission wants it for every pod; the controller-manager, which makes it, does not run in most tests.
        accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
        if self.admin.find(f"{accounts}/default") is None:
            self.admin.create(accounts, {"metadata": {"name": "default"}})
        self._netns: list[str] = []

    def claim_path(self, name: str = "") -> str:
        """Return the path of a claim, or of all."""
        return f"{GROUP}/namespaces/{self.name}/ipamclaims" + (f"/{name}" if name else "")

    def claim(self, name: str, network: Network, **metadata: Any) -> Document:
        """Make a claim and return it."""
        return self.admin.create(self.claim_path(), claim_document(name, network, **metadata))

    def status(self, name: str) -> Document:
        """Return the status of a claim, empty without one."""
        return dict(self.admin.get(self.claim_path(name)).get("status") or {})

    def ips(self, name: str) -> list[str]:
        """Return the addresses in the status of a claim."""
        return list(self.status(name).get("ips") or [])

    def pod(self, name: str, *elements: Document, netns: bool = False, **metadata: Any) -> Pod:
        """Make a pod with the elements of its annotation; with *netns*, make its network namespace as well.

        One that references a claim is of the virtual machine of this name, unless it has other labels.
        """
        if claims := [one["ipam-claim-reference"] for one in elements if "ipam-claim-reference" in one]:
            metadata.setdefault("labels", {"vm.kubevirt.io/name": str(claims[0])[:63]})
        made = self.admin.create(f"/api/v1/namespaces/{self.name}/pods", pod_document(name, *elements, **metadata))
        path = ""
        if netns:
            space = f"nodenet-{self.site.lab.state.name}-{self.name}-{name}"
            ns.make_netns(space)
            self._netns.append(space)
            path = f"/run/netns/{space}"
        return Pod(self.name, name, made["metadata"]["uid"], path)

    def remove_pod(self, pod: Pod) -> None:
        """Delete a pod and its network namespace."""
        self.admin.delete(pod.path, gracePeriodSeconds="0")
        if pod.netns:
            ns.remove_netns(Path(pod.netns).name)

    def events(self, reason: str = "") -> list[Document]:
        """Return the Events of this namespace."""
        items = self.admin.get(f"/api/v1/namespaces/{self.name}/events")["items"]
        return [item for item in items if reason in item["reason"]]

    def close(self) -> None:
        """Remove the network namespaces of the pods that are left."""
        for name in self._netns:
            ns.remove_netns(name)


def element(network: Network, claim: str = "", interface: str = "net1", **more: Any) -> Document:
    """Return one element of a pod's annotation."""
    reference = {"ipam-claim-reference": claim} if claim else {}
    return {"name": network.name, "namespace": "default", "interface": interface, **reference, **more}


def claim_document(name: str, network: Network, **metadata: Any) -> Document:
    """Return a claim as the upstream controller makes it."""
    spec = {"network": network.name, "interface": ""}
    return {"apiVersion": CLAIM, "kind": "IPAMClaim", "metadata": {"name": name, **metadata}, "spec": spec}


def pod_document(name: str, *elements: Document, node: str = "", **metadata: Any) -> Document:
    """Return a pod that no kubelet runs; one of a *node* stays after its deletion, until it is removed there."""
    annotations = {NETWORKS: json.dumps(list(elements))} if elements else {}
    spec: Document = {"containers": [{"name": "main", "image": "none"}], "automountServiceAccountToken": False}
    spec |= {"nodeName": node} if node else {}
    annotations |= metadata.pop("annotations", {})
    return {"metadata": {"name": name, "annotations": annotations, **metadata}, "spec": spec}


def manifest(name: str) -> Sequence[Document]:
    """Return the objects of one of the product's manifests."""
    return [dict(document) for document in YAML(typ="safe").load_all(MANIFESTS / name) if document]


def addresses_of(answer: Mapping[str, Any]) -> list[str]:
    """Return the addresses in the result of an ADD."""
    return [entry["address"] for entry in answer["ips"]]


def freed(site: Site, network: Network, left: int = 0) -> None:
    """Wait until a network has only so many addresses taken."""
    eventually(lambda: len(site.leases(network)) == left, f"{left} leases of {network.name}", timeout=PATIENCE)


def duplicates(claims: Sequence[Document]) -> dict[str, list[str]]:
    """Return the addresses that more than one claim has, with the names of these."""
    holders: dict[str, list[str]] = {}
    for claim in claims:
        for address in (claim.get("status") or {}).get("ips") or []:
            key = f"{claim['spec']['network']} {address}"
            holders.setdefault(key, []).append(f"{claim['metadata']['namespace']}/{claim['metadata']['name']}")
    return {address: names for address, names in holders.items() if len(names) > 1}
