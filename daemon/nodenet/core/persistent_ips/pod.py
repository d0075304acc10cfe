"""What does a pod say of one of its interfaces: which claim does it reference, and what does the pod belong to?

Multus does not pass the reference to the plugin. It is in the pod's annotation, in the element of this interface
(Kubernetes Network Custom Resource Definition De-facto Standard 1.3, 4.1.2.1). Every user who may create pods
writes it, so nothing in it is trusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_interface
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.cni import CniError, Code, is_object_name
from nodenet.core.persistent_ips.model import PodName, PodReference, Workload, mapping, shown, text_of
from nodenet.core.value import frozen

NETWORKS = "k8s.v1.cni.cncf.io/networks"
MIRROR = "kubernetes.io/config.mirror"
REFERENCE = "ipam-claim-reference"
MOST_ANNOTATION = 1 << 20
MOST_ELEMENTS = 256
MOST_IPS = 16
FINISHED = ("Succeeded", "Failed")
_SHORT = re.compile(r"(?:([a-z0-9-]+)/)?([a-z0-9.-]+)(?:@(\S{1,15}))?")


@frozen
class Pod:
    """What is read of a pod."""

    name: PodName
    workload: Workload
    networks: str
    """The annotation, not yet read."""
    finished: bool
    """Its containers have ended, and do not start again."""
    static_uid: str = ""
    """A static pod has another UID at its node: the hash of its file, which is in an annotation."""


def parse(document: Mapping[str, Any]) -> Pod:
    """Return a pod as the API sends it; what is not as it should be is empty."""
    metadata = mapping(document.get("metadata"))
    labels, annotations = mapping(metadata.get("labels")), mapping(metadata.get("annotations"))
    workload = Workload(text_of(labels.get("kubevirt.io/created-by")), text_of(labels.get("vm.kubevirt.io/name")))
    name = PodName(text_of(metadata.get("namespace")), text_of(metadata.get("name")), text_of(metadata.get("uid")))
    phase = mapping(document.get("status")).get("phase")
    static = text_of(annotations.get(MIRROR))
    return Pod(name, workload, text_of(annotations.get(NETWORKS)), phase in FINISHED, static)


def reference(pod: Pod, ifname: str, network: str, uid: str) -> PodReference:
    """Return what *pod* says of the interface *ifname* on *network*; *uid* is what its node calls it.

    Raises CniError with code 7.
    """
    name = replace(pod.name, uid=uid)
    listed = elements(pod)
    element = _element(listed, ifname)
    source = f"{element['namespace']}/{element['name']}" if element else ""
    if element is None or REFERENCE not in element:
        return PodReference(name, ifname, network, "", pod.workload, source, _wished(pod, ifname, element or {}))
    claim = element[REFERENCE]
    if not isinstance(claim, str) or not is_object_name(claim):
        raise _wrong(pod, f"{REFERENCE} of interface {ifname} is {shown(claim)}, which is not a name of Kubernetes")
    if element.get("ips"):
        raise _wrong(pod, f"interface {ifname} has both ips and {REFERENCE}", "Keep one of them")
    return PodReference(name, ifname, network, claim, pod.workload, source)


def _wished(pod: Pod, ifname: str, element: Mapping[str, Any]) -> tuple[IPAddress, ...]:
    listed = element.get("ips")
    if listed is None:
        return ()
    found: list[IPAddress] = []
    for one in listed[: MOST_IPS + 1] if isinstance(listed, list) else [listed]:
        try:
            found.append(ip_interface(one if isinstance(one, str) else "").ip)
        except ValueError:
            raise _wrong(pod, f"ips of interface {ifname} has {shown(one)}, which is not an address") from None
    if len(found) > MOST_IPS:
        raise _wrong(pod, f"ips of interface {ifname} has more than {MOST_IPS} addresses")
    return tuple(found)


def elements(pod: Pod) -> list[Mapping[str, Any]]:
    """Return the elements of the annotation, each with name and namespace. Raises CniError with code 7."""
    text = pod.networks.strip()
    if len(text) > MOST_ANNOTATION:
        raise _wrong(pod, f"it has {len(text)} characters; {MOST_ANNOTATION} are the most")
    if not text.startswith(("[", "{")):
        return [_short(pod, part.strip()) for part in text.split(",") if part.strip()]
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        raise _wrong(pod, "it is not JSON") from None
    if not isinstance(listed, list) or len(listed) > MOST_ELEMENTS:
        raise _wrong(pod, f"it is not a list of at most {MOST_ELEMENTS} elements")
    found: list[Mapping[str, Any]] = []
    for element in listed:
        if not isinstance(element, dict) or not isinstance(element.get("name"), str):
            raise _wrong(pod, f"it has the element {shown(element)}, which has no name")
        if not isinstance(element.get("interface", ""), str) or not isinstance(element.get("namespace", ""), str):
            raise _wrong(pod, f"interface or namespace of the element {shown(element['name'])} is not a text")
        found.append({**element, "namespace": element.get("namespace") or pod.name.namespace})
    return found


def _short(pod: Pod, text: str) -> Mapping[str, Any]:
    found = _SHORT.fullmatch(text)
    if found is None:
        raise _wrong(pod, f"it has {shown(text)}; expected NAMESPACE/NAME@INTERFACE")
    namespace, name, interface = found.groups()
    return {"namespace": namespace or pod.name.namespace, "name": name, "interface": interface or ""}


def _element(listed: list[Mapping[str, Any]], ifname: str) -> Mapping[str, Any] | None:
    """Return the element of *ifname*: the one that names it, else by Multus' order net1, net2, …"""
    if named := next((element for element in listed if element.get("interface") == ifname), None):
        return named
    number = re.fullmatch(r"net([1-9][0-9]{0,3})", ifname)
    if number is None or int(number[1]) > len(listed):
        return None
    element = listed[int(number[1]) - 1]
    return None if element.get("interface") else element


def references_claim(pod: Pod, claim: str) -> bool:
    """Return whether any interface of *pod* references the claim of this name."""
    try:
        return any(element.get(REFERENCE) == claim for element in elements(pod))
    except CniError:
        return False


def may_share(one: Workload, other: Workload) -> bool:
    """Return whether two pods may have the addresses of one claim at the same time.

    They may when they have the same label of KubeVirt. Two replicas of another workload would answer for one address.
    """
    return same_instance(one, other) or bool(one.machine and one.machine == other.machine)


def same_instance(one: Workload, other: Workload) -> bool:
    """Return whether two pods are of one VirtualMachineInstance; another machine may have the name later."""
    return bool(one.created_by and one.created_by == other.created_by)


def _wrong(pod: Pod, text: str, details: str = "") -> CniError:
    return CniError(Code.CONFIGURATION, f"The annotation {NETWORKS} of pod {pod.name} is not valid: {text}", details)
