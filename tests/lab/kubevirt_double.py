"""The part of KubeVirt, and of the controller that makes claims, that persistent IPs meet; acted step by step.

Both are played from their documented behaviour: a machine has an instance, an instance has a pod (two in a migration),
and each network of a machine that allows persistent IPs has a claim `MACHINE.NETWORK`. Its owner is the machine, or the
instance where there is no machine. A finalizer keeps the claim until the instance is gone. Garbage collection by
owner references is that of the real controller-manager.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from harness import eventually
from harness.kube_client import ApiError, custom_resource
from ipam_site import PATIENCE, Document, Network, Pod, Site, Space, element

GROUP = "kubevirt.io"
VERSION = "v1"
API = f"/apis/{GROUP}/{VERSION}"
KINDS = {"VirtualMachine": "virtualmachines", "VirtualMachineInstance": "virtualmachineinstances"}
CLAIM_FINALIZER = "kubevirt.io/persistent-ipam"
INSTANCE_FINALIZER = "foregroundDeleteVirtualMachine"
CONTROLLERS = "--controllers=garbage-collector-controller"


def definitions() -> list[Document]:
    """Return resource definitions of machines and instances, whose content is not checked."""
    return [custom_resource(GROUP, VERSION, kind) for kind in KINDS]


def define(site: Site) -> None:
    """Let the API serve machines and instances."""
    site.admin.apply(*definitions())
    for plural in KINDS.values():
        eventually(functools.partial(_served, site, plural), f"the API to serve {plural}", timeout=PATIENCE)


def install(site: Site) -> None:
    """Define machines, then start the garbage collector, which learns of kinds when it starts."""
    define(site)
    site.cluster.start_controller_manager(CONTROLLERS)


class Machine:
    """A virtual machine, its instance and its pods; without a machine object, an instance alone."""

    def __init__(self, space: Space, name: str, networks: Mapping[str, Network], *, alone: bool = False) -> None:
        self.space, self.name, self.admin = space, name, space.admin
        self.networks = dict(networks)
        """Interface → its network."""
        self.machine: Document | None = None if alone else self._make("VirtualMachine", [])
        self.instance: Document | None = None
        self.pods: list[Pod] = []
        if alone:
            self.begin()
        self.reconcile()

    def claim_name(self, network: Network) -> str:
        """Return the name of the claim of a network."""
        return f"{self.name}.{network.name}".lower()

    def reconcile(self) -> None:
        """Make the claims that are missing, as the controller does. Raises ForeignOwner where another owner has one."""
        owner = self.machine or self.instance
        assert owner is not None
        for network in self.networks.values():
            if not network.persistent:
                continue
            found = self.admin.find(self.space.claim_path(self.claim_name(network)))
            if found is None:
                self.space.claim(
                    self.claim_name(network),
                    network,
                    finalizers=[CLAIM_FINALIZER],
                    labels={"kubevirt.io/vm": self.name},
                    ownerReferences=[_owner(owner)],
                )
            elif found["metadata"]["ownerReferences"][0]["uid"] != owner["metadata"]["uid"]:
                raise ForeignOwner(self.claim_name(network))

    def begin(self) -> None:
        """Make the instance, as a start of the machine does."""
        self.instance = self._make(
            "VirtualMachineInstance", [_owner(self.machine)] if self.machine else [], finalizers=[INSTANCE_FINALIZER]
        )

    def pod(self, name: str) -> Pod:
        """Make a pod of the instance: the first one, or the target of a migration."""
        if self.instance is None:
            self.begin()
        assert self.instance is not None
        elements = [
            element(network, self.claim_name(network) if network.persistent else "", interface)
            for interface, network in self.networks.items()
        ]
        labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": self.instance["metadata"]["uid"]}
        labels["vm.kubevirt.io/name"] = self.name
        owners = [_owner(self.instance)]
        made = self.space.pod(name, *elements, netns=True, node="any", labels=labels, ownerReferences=owners)
        self.pods.append(made)
        return made

    def pod_gone(self, pod: Pod) -> None:
        """Remove a pod whose sandbox has been torn down."""
        self.pods.remove(pod)
        self.space.remove_pod(pod)

    def instance_gone(self) -> None:
        """Remove the instance; its pods are gone."""
        assert self.instance is not None
        path = self._path("VirtualMachineInstance")
        if self.admin.find(path) is not None:
            self.admin.delete(path)
            if self.admin.find(path) is not None:
                self.admin.patch(path, {"metadata": {"finalizers": None}})
        eventually(lambda: self.admin.find(path) is None, f"{path} to go", timeout=PATIENCE)
        self.instance = None

    def delete(self, policy: str = "Background") -> None:
        """Delete the machine, or the instance where there is none."""
        kind = "VirtualMachine" if self.machine else "VirtualMachineInstance"
        self.admin.delete(self._path(kind), propagationPolicy=policy)

    def finalize(self) -> list[str]:
        """Take the finalizers from the claims that may go, as the controller does; return the names of these."""
        freed = []
        for claim in self._claims():
            if self._may_go() and claim["metadata"].get("finalizers"):
                path = self.space.claim_path(claim["metadata"]["name"])
                left = [one for one in claim["metadata"]["finalizers"] if one != CLAIM_FINALIZER]
                self.admin.patch(path, {"metadata": {"finalizers": left or None}})
                freed.append(claim["metadata"]["name"])
        return freed

    def _may_go(self) -> bool:
        machine = self.admin.find(self._path("VirtualMachine"))
        instance = self.admin.find(self._path("VirtualMachineInstance"))
        if machine is not None:
            return instance is None and "deletionTimestamp" in machine["metadata"]
        return instance is None or ("deletionTimestamp" in instance["metadata"] and not self.pods)

    def _claims(self) -> Sequence[Document]:
        query = {"labelSelector": f"kubevirt.io/vm={self.name}"}
        return list(self.admin.get(self.space.claim_path(), **query)["items"])

    def _path(self, kind: str) -> str:
        return f"{API}/namespaces/{self.space.name}/{KINDS[kind]}/{self.name}"

    def _make(self, kind: str, owners: list[Document], **metadata: Any) -> Document:
        document = {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "spec": {}}
        document["metadata"] = {"name": self.name, "ownerReferences": owners, **metadata}
        return self.admin.create(f"{API}/namespaces/{self.space.name}/{KINDS[kind]}", document)


class ForeignOwner(Exception):
    """A claim of this name belongs to another machine, such as an older one of the same name."""


def _owner(document: Document) -> Document:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": document["kind"],
        "name": document["metadata"]["name"],
        "uid": document["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _served(site: Site, plural: str) -> bool:
    try:
        return "items" in site.admin.get(f"{API}/{plural}")
    except ApiError:
        return False
