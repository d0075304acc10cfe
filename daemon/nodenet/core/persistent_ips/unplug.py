"""Which claims have lost their network: the interface was unplugged from the virtual machine, and the claim was left?

KubeVirt's controller of claims makes one for each network of a VirtualMachine and deletes none when the network leaves
it. Such a claim keeps its addresses until the machine is deleted. Here is decided, from the claim and the machine as
they are, whether it may go. In doubt it stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FINALIZER = "kubevirt.io/persistent-ipam"
"""The controller of claims takes it away only with the machine."""
LABEL = "kubevirt.io/vm"
UNPLUGGED_SECONDS = 900.0
"""A network that comes back within this time finds its claim."""
LONGEST_NAME, CERTAIN = 253, 100
"""The longest name of an object; of one that was cut, so much is compared."""
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Machine:
    """A VirtualMachine (kubevirt.io/v1), as far as its networks matter."""

    namespace: str
    name: str
    uid: str
    deleting: bool
    networks: frozenset[str]
    """The names of its networks, also of those whose interface is being unplugged."""


@dataclass(frozen=True, slots=True)
class Unplugged:
    """A claim without a network, as it was read."""

    namespace: str
    name: str
    uid: str
    version: str
    pod: str
    """The pod that its status names; the claim is deleted only when this pod is gone. Empty without one."""
    finalizers: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The claim, and its state: any change begins a new wait."""
        return self.uid, self.version


def machine(document: object) -> Machine | None:
    """Return a VirtualMachine as the API sends it, None for one that cannot be understood."""
    metadata = _mapping(_mapping(document).get("metadata"))
    template = _mapping(_mapping(_mapping(document).get("spec")).get("template"))
    spec = template.get("spec")
    if not isinstance(spec, Mapping):
        return None
    listed = spec.get("networks", [])
    devices = _mapping(_mapping(spec.get("domain")).get("devices"))
    interfaces = devices.get("interfaces", [])
    identity = [metadata.get(key) for key in ("namespace", "name", "uid")]
    if not isinstance(listed, list) or not isinstance(interfaces, list) or not all(map(_is_text, identity)):
        return None
    names = [_mapping(entry).get("name") for entry in (*listed, *interfaces)]
    if not all(map(_is_text, names)):
        return None
    namespace, name, uid = map(str, identity)
    return Machine(namespace, name, uid, bool(metadata.get("deletionTimestamp")), frozenset(map(str, names)))


def unplugged(claims: Iterable[Document], machines: Iterable[Machine]) -> Iterator[Unplugged]:
    """Yield the claims whose machine is there and has no network for them."""
    known = {found.uid: found for found in machines}
    for claim in claims:
        metadata = _mapping(claim.get("metadata"))
        owner = known.get(_owner(metadata))
        if owner is not None and _has_lost_its_network(metadata, owner):
            pod = _mapping(_mapping(claim.get("status")).get("ownerPod")).get("name")
            finalizers = metadata.get("finalizers")
            yield Unplugged(
                owner.namespace,
                str(metadata["name"]),
                str(metadata["uid"]),
                str(metadata["resourceVersion"]),
                pod if isinstance(pod, str) else "",
                tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
            )


def _has_lost_its_network(metadata: Document, owner: Machine) -> bool:
    name, labels = metadata.get("name"), _mapping(metadata.get("labels"))
    if not all(map(_is_text, (name, metadata.get("uid"), metadata.get("resourceVersion")))):
        return False
    if owner.deleting or metadata.get("deletionTimestamp") or metadata.get("namespace") != owner.namespace:
        return False
    own = f"{_plain(owner.name)}."
    if labels.get(LABEL) != owner.name or not _plain(str(name)).startswith(own):
        return False  # not made by the controller for this machine: its name has another meaning
    return all(not _same(f"{owner.name}.{network}", str(name)) for network in owner.networks)


def _same(key: str, name: str) -> bool:
    """Return whether the controller may have called a claim *name* for *key*: it replaces and cuts what is no name."""
    cut = len(key) >= LONGEST_NAME and _plain(key).startswith(_plain(name)[:CERTAIN])
    return cut or _plain(key) == _plain(name)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", ".", text.lower()).strip(".")


def _owner(metadata: Document) -> str:
    """Return the UID of the VirtualMachine that controls a claim, empty without one."""
    listed = metadata.get("ownerReferences")
    for entry in listed if isinstance(listed, list) else ():
        found = _mapping(entry)
        kind = (found.get("kind"), str(found.get("apiVersion", "")).partition("/")[0], found.get("controller"))
        if kind == ("VirtualMachine", "kubevirt.io", True):
            return str(found.get("uid") or "")
    return ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""
