"""What takes the place of the addresses and definitions of whereabouts? (kinds of whereabouts.cni.cncf.io/v1alpha1)

A pool of whereabouts names for each address the container, the interface and the pod. A Lease says the same, so each
node takes running pods over like its own after the loss of its store: no address changes, and no pod is restarted.
What cannot be taken over is a problem, because nodenet-ipam would give its address a second time.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface, ip_network, summarize_address_range
from typing import Any

from nodenet.core.ip import IPAddress, IPNetwork
from nodenet.core.persistent_ips import claim as claims
from nodenet.core.persistent_ips import network as networks
from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips.claim import Claim, ClaimInvalid
from nodenet.core.persistent_ips.cni import CONTAINER_ID, IFNAME, CniError, is_object_name
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import (
    MOST_SHOWN,
    Interface,
    Owner,
    OwnerKind,
    PodName,
    Sandbox,
    mapping,
    shown,
    text_of,
)
from nodenet.core.persistent_ips.network import Network
from nodenet.core.value import frozen

PLUGIN, OURS = "whereabouts", "nodenet-ipam"
STATUS = "k8s.v1.cni.cncf.io/network-status"
KEPT = ("routes", "dns", "gateway")
"""Keys of ``ipam`` that mean the same here."""
MOST_ALLOCATIONS = 1 << 17
APART = "write a `name` of its own into each configuration"
TOGETHER = "write one `name` and one range into both configurations"


class NotTaken(ValueError):
    """Something of whereabouts cannot be taken over; the text says what, and why."""


@frozen
class Definition:
    """A NetworkAttachmentDefinition whose addresses whereabouts gives."""

    namespace: str
    name: str
    version: str
    """resourceVersion."""
    pools: tuple[str, ...]
    """The names of its pools."""
    scope: str
    """Its ``network_name``: whereabouts gives an address once in each."""
    overlaps: bool
    """Whether ranges may overlap within the scope: ``enable_overlapping_ranges`` is false."""
    network: Network
    """As nodenet-ipam reads *configuration*."""
    configuration: str
    """The one that takes the place of its own."""

    def __str__(self) -> str:
        """As people read it."""
        return f"{self.namespace}/{self.name}"


@frozen
class Given:
    """An address in use, as a pool names it."""

    pool: str
    address: Interface
    container_id: str
    pod: PodName
    """Without a UID."""
    ifname: str
    """Empty in pools of old releases."""
    claim: str
    """The name of the claim that has it, empty for none; in the pod's namespace."""


# A definition


def definition(document: Mapping[str, Any]) -> Definition | None:
    """Return a definition as the API sends it; None if another plugin gives its addresses. Raises NotTaken."""
    metadata = mapping(document.get("metadata"))
    namespace, name = text_of(metadata.get("namespace")), text_of(metadata.get("name"))
    try:
        found = json.loads(networks.definition_of(document) or "{}")
    except (ValueError, RecursionError):
        return None  # no plugin reads it either
    if not isinstance(found, dict):
        return None
    plugins = found.get("plugins")
    listed = plugins if isinstance(plugins, list) else [found]
    own = [one for one in listed if isinstance(one, dict) and mapping(one.get("ipam")).get("type") == PLUGIN]
    if not own:
        return None
    whole = {**found, "name": found.get("name") or name}  # as Multus does it
    try:
        part, pools = _converted(own)
        allowed = {networks.PERSISTENT: True} if found.get(networks.PERSISTENT) is True else {}
        network = networks.parse({**part, **allowed, "name": whole["name"]})
    except (CniError, ValueError) as error:
        text = error.text if isinstance(error, CniError) else error
        raise NotTaken(f"The definition {namespace}/{name} is not taken over: {text}") from None
    if isinstance(plugins, list):
        made = {**whole, "plugins": [part if one is own[0] else one for one in plugins]}
    else:
        made = {**part, "name": whole["name"]}
    version, ipam = text_of(metadata.get("resourceVersion")), mapping(own[0].get("ipam"))
    scope, overlaps = text_of(ipam.get("network_name")), ipam.get("enable_overlapping_ranges") is False
    return Definition(namespace, name, version, pools, scope, overlaps, network, json.dumps(made, indent=2))


def _converted(own: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a plugin's part of a configuration for nodenet-ipam, and the names of its pools.

    *own*: the parts that ask whereabouts. Raises NotTaken, ValueError.
    """
    if len(own) > 1:
        raise NotTaken("two of its plugins ask whereabouts")
    plugin, ipam = own[0], mapping(own[0].get("ipam"))
    if ipam.get("node_slice_size"):
        raise NotTaken("node_slice_size gives each node a part of the range, and nodenet-ipam has no such parts")
    if ipam.get("datastore") == "etcd" or ipam.get("etcd_host"):
        raise NotTaken("its pools are in an etcd of their own, and not in the API")
    listed = [ipam] if ipam.get("range") else []
    more = ipam.get("ipRanges")
    listed += [one for one in more if isinstance(one, dict)] if isinstance(more, list) else []
    if not listed:
        raise NotTaken("it has no range; write the one of the nodes' whereabouts.conf into it")
    ranges = [_range(one) for one in listed]
    prefix = f"{scope}-" if (scope := text_of(ipam.get("network_name"))) else ""
    excluded = sorted({str(one) for _, holes in ranges for one in holes})
    part = {key: value for key, value in plugin.items() if key != "ipam"}
    part[networks.SUBNETS] = ",".join(dict.fromkeys(str(subnet) for subnet, _ in ranges))
    if excluded:
        part[networks.EXCLUDED] = ",".join(excluded)
    part["ipam"] = {"type": OURS, **{key: ipam[key] for key in KEPT if ipam.get(key)}}
    pools = tuple(prefix + str(subnet).replace(":", "-").replace("/", "-") for subnet, _ in ranges)
    return part, pools


def _range(found: Mapping[str, Any]) -> tuple[IPNetwork, tuple[IPNetwork, ...]]:
    """Return the subnet of a range, and the parts of it that whereabouts does not give. Raises NotTaken, ValueError."""
    text = text_of(found.get("range"))
    start, dash, rest = text.partition("-")
    subnet = ip_network(rest if dash else text, strict=False)
    first: object = start if dash else found.get("range_start")
    last: object = rest.partition("/")[0] if dash else found.get("range_end")
    listed = found.get("exclude")
    holes = [ip_network(one, strict=False) for one in listed] if isinstance(listed, list) else []
    ends = [ip_address(text_of(one)) if one else None for one in (first, last)]
    if any(one is not None and one not in subnet for one in ends):
        raise NotTaken(f"the range {text[:MOST_SHOWN]!a} begins or ends outside {subnet}")
    holes += _between(subnet.network_address, ends[0] - 1) if ends[0] else []
    holes += _between(ends[1] + 1, subnet.broadcast_address) if ends[1] else []
    return subnet, tuple(holes)


def _between(first: IPAddress, last: IPAddress) -> list[IPNetwork]:
    """Return the subnets from *first* to *last*, none if *last* is before *first*."""
    if isinstance(first, IPv4Address) and isinstance(last, IPv4Address):
        return list(summarize_address_range(first, last)) if first <= last else []
    if isinstance(first, IPv6Address) and isinstance(last, IPv6Address):
        return list(summarize_address_range(first, last)) if first <= last else []
    return []


def contradictions(definitions: Sequence[Definition]) -> Iterator[str]:
    """Yield why definitions cannot be taken over together: nodenet-ipam knows a network by its name.

    Two names would give an address twice that whereabouts gives once, and one name has one configuration.
    """
    for one, other in itertools.combinations(definitions, 2):
        same = one.network.name == other.network.name
        if same and one.network.digest != other.network.digest:
            yield f"The definitions {one} and {other} of network {one.network.name} have different addresses: {APART}"
        elif not same and _give_alike(one, other):
            yield f"The definitions {one} and {other} give the same addresses, and their names differ: {TOGETHER}"


def _give_alike(one: Definition, other: Definition) -> bool:
    """Return whether whereabouts never gives pods of both definitions the same address."""
    if set(one.pools) & set(other.pools):
        return True
    pairs = itertools.product(one.network.pools, other.network.pools)
    apart = one.scope != other.scope or one.overlaps or other.overlaps
    return not apart and any(networks.overlap(mine.subnet, its.subnet) for mine, its in pairs)


# A pool


def given(document: Mapping[str, Any]) -> tuple[list[Given], list[str]]:
    """Return the addresses in use that a pool names, and a sentence for each entry that cannot be read."""
    name = text_of(mapping(document.get("metadata")).get("name"))
    spec = mapping(document.get("spec"))
    allocations = mapping(spec.get("allocations"))
    if len(allocations) > MOST_ALLOCATIONS:
        return [], [f"The pool {name} has {len(allocations)} addresses; {MOST_ALLOCATIONS} are the most"]
    try:
        start = ip_interface(text_of(spec.get("range")))
    except ValueError:
        return [], [f"The pool {name} has the range {shown(spec.get('range'))}, which is not a subnet"]
    found: list[Given] = []
    problems: list[str] = []
    for offset, one in allocations.items():
        try:
            found.append(_given(name, start, offset, mapping(one)))
        except NotTaken as error:
            problems.append(f"The pool {name} has an address at {shown(offset)} that cannot be read: {error}")
    return sorted(found, key=lambda one: int(one.address.ip)), problems


def _given(pool: str, start: Interface, offset: str, found: Mapping[str, Any]) -> Given:
    if not (offset.isascii() and offset.isdigit() and len(offset) < 40):
        raise NotTaken("it is not a number")
    try:
        address = ip_interface(f"{start.ip + int(offset)}/{start.network.prefixlen}")
    except ValueError:
        raise NotTaken(f"it is outside {start.network}") from None
    if address.ip not in start.network:
        raise NotTaken(f"it is outside {start.network}")
    namespace, slash, name = text_of(found.get("podref")).partition("/")
    container_id, ifname = text_of(found.get("id")), text_of(found.get("ifname"))
    if not slash or not is_object_name(namespace) or not is_object_name(name):
        raise NotTaken(f"podref is {shown(found.get('podref'))}, which is not NAMESPACE/NAME")
    if not CONTAINER_ID.fullmatch(container_id) or (ifname and not IFNAME.fullmatch(ifname)):
        raise NotTaken(f"id {shown(container_id)} or ifname {shown(ifname)} is not one of CNI")
    claim = text_of(found.get("ipamclaimref")).rpartition("/")[2]
    return Given(pool, address, container_id, PodName(namespace, name), ifname, claim)


# An address


def lease_of(
    one: Given, network: Network, document: Mapping[str, Any], boot_id: str, listed: Sequence[Mapping[str, Any]]
) -> Lease | None:
    """Return the Lease that takes *one* over; None if its pod has ended.

    *document*: its pod as the API sends it. *boot_id*: of the pod's node. *listed*: the claims of the pod's namespace.
    Raises NotTaken.
    """
    pod = pods.parse(document)
    node = text_of(mapping(document.get("spec")).get("nodeName"))
    if pod.finished:
        return None
    if not node or not boot_id:
        raise NotTaken(f"{one.address.ip} is not taken over: the node of pod {one.pod} is not known")
    if refusal := network.refusal(one.address):
        raise NotTaken(f"{one.address.ip} of pod {one.pod} is not taken over: it is one {refusal}")
    uid = pod.static_uid or pod.name.uid
    said = _ifname(document, one.address.ip)
    ifname = one.ifname or said
    if not ifname:
        raise NotTaken(f"{one.address.ip} is not taken over: no interface of pod {one.pod} is said to have it")
    name = PodName(one.pod.namespace, one.pod.name, uid)
    owner = Owner(OwnerKind.POD, name.namespace, name.name, f"{uid}/{ifname}")
    # An entry may be left over from an earlier pod of the name: its address is not given, but no claim keeps it.
    if network.persistent and said == ifname and (found := _claim(one, network, pod, ifname, listed)) is not None:
        owner = found.owner
    made = Lease(network.name, one.address, owner, node, None)
    return made.held_by(Sandbox(node, boot_id, one.container_id, ifname, name))


def _ifname(document: Mapping[str, Any], address: IPAddress) -> str:
    """Return the interface that has *address*, as Multus wrote it into the pod's annotation; empty if none has."""
    annotations = mapping(mapping(document.get("metadata")).get("annotations"))
    try:
        listed = json.loads(text_of(annotations.get(STATUS)) or "[]")
    except (ValueError, RecursionError):
        return ""
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and isinstance(one.get("ips"), list) and str(address) in one["ips"]:
            ifname = text_of(one.get("interface"))
            return ifname if IFNAME.fullmatch(ifname) else ""
    return ""


def _claim(
    one: Given, network: Network, pod: pods.Pod, ifname: str, listed: Sequence[Mapping[str, Any]]
) -> Claim | None:
    """Return the claim that keeps the address: the referenced one, else that of the pod's machine. Raises NotTaken."""
    try:
        name = one.claim or pods.reference(pod, ifname, network.name, pod.name.uid).claim
    except CniError:
        name = ""
    found = []
    for document in listed:
        try:
            claim = claims.parse(document)
        except ClaimInvalid:
            continue
        if claim.network == network.name and (claim.name == name if name else _is_of(document, pod)):
            found.append(claim)
    if len(found) > 1:
        text = f"{one.address.ip} of pod {one.pod} is not taken over: network {network.name} has {len(found)} claims of"
        raise NotTaken(f"{text} its machine. Write the address into `status.ips` of the right one")
    return found[0] if found else None


def _is_of(document: Mapping[str, Any], pod: pods.Pod) -> bool:
    owners = mapping(document.get("metadata")).get("ownerReferences")
    return bool(pod.workload.machine) and any(
        isinstance(owner, dict) and owner.get("kind") == "VirtualMachine" and owner.get("name") == pod.workload.machine
        for owner in (owners if isinstance(owners, list) else ())
    )


def boot_id_of(document: Mapping[str, Any]) -> str:
    """Return the boot id of a Node as the API sends it, empty without one."""
    return text_of(mapping(mapping(document.get("status")).get("nodeInfo")).get("bootID"))


def addresses_of_claims(leases: Iterable[Lease]) -> Iterator[tuple[Owner, tuple[Lease, ...]]]:
    """Yield each claim among the owners of *leases*, and its Leases: they are reported in one status."""
    found: dict[tuple[str, ...], list[Lease]] = {}
    for lease in leases:
        if lease.owner.kind is OwnerKind.CLAIM:
            found.setdefault((lease.owner.uid, lease.network), []).append(lease)
    for listed in found.values():
        yield listed[0].owner, tuple(listed)
