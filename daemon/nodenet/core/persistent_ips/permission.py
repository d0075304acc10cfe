"""Does the configuration of a network fit the pod, and the other networks of this node?"""

from __future__ import annotations

from collections.abc import Iterable

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.api import Forbidden, NotFound
from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.effects import Announce, Here, ReadDefinition, Steps, ask
from nodenet.core.persistent_ips.model import Attachment, NetworkSeen, PodReference
from nodenet.core.persistent_ips.network import Network, list_allows
from nodenet.core.persistent_ips.reserve import Asked

MISSING = "ClaimMissing"
MOST_NAMED = 3


def may_reference(here: Here, asked: Asked, reference: PodReference) -> Steps[bool]:
    """Return whether the pod gets the addresses of a claim. Raises CniError for a reference that is not allowed."""
    name = asked.network.name
    if not reference.claim:
        if asked.network.persistent and reference.workload.is_machine:
            text = (
                f"Pod {reference.pod} of a virtual machine references no IPAMClaim on network {name}: its address "
                "changes with its next start. Set allowPersistentIPs at the top level of the configuration"
            )
            yield Announce(MISSING, text, pod=reference.pod)
        return False
    if asked.network.persistent or list_allows((yield from _definition(reference.source)) or ""):
        return True
    if here.ignore_not_allowed:
        return False
    raise CniError(
        Code.CONFIGURATION,
        f"Pod {reference.pod} references IPAMClaim {reference.claim} on network {name}, "
        "which does not allow persistent IPs",
        'Set "allowPersistentIPs": true at the top level of its configuration, or remove ipam-claim-reference',
    )


def _definition(source: str) -> Steps[str | None]:
    """Return the configuration in the NetworkAttachmentDefinition *source*; None if there is none, "" if unknown."""
    try:
        return (yield from ask(ReadDefinition(*source.split("/")))) if source else ""
    except NotFound:
        return None
    except Forbidden:
        return ""


def check_wishes(network: Network, wished: tuple[IPAddress, ...]) -> None:
    """Refuse addresses that no pod of *network* can have. Raises CniError."""
    pools = []
    for address in wished:
        pool = next((one for one in network.pools if address in one.subnet), None)
        refusal = "" if pool is None else network.refusal(pool.interface(address))
        if pool is None or refusal:
            text = refusal or f"which is in no subnet of network {network.name}"
            raise CniError(Code.CONFIGURATION, f"The pod asks for {address} (ips of its annotation), {text}")
        if pool in pools:
            raise CniError(
                Code.CONFIGURATION, f"The pod asks for two addresses of {pool.subnet} (ips of its annotation)"
            )
        pools.append(pool)


def seen_as(network: Network, source: str) -> NetworkSeen:
    """Return what is recorded of a network that is used."""
    subnets = tuple(pool.subnet for pool in network.pools)
    return NetworkSeen(network.name, network.digest, source, subnets, network.never_given, network.segment)


def check_configuration(here: Here, asked: Asked, reference: PodReference | None) -> Steps[None]:
    """Refuse a second configuration of a network in use, and a second network on its subnet. Raises CniError."""
    _check_segment(here, asked.network)
    seen, source = here.book.network(asked.network.name), reference.source if reference else ""
    if seen is None or seen.digest == asked.network.digest or not source or not seen.source or seen.source == source:
        return  # an edited configuration is taken
    using = [one for one in here.book.attachments() if one.network == asked.network.name]
    if not using or (yield from _definition(seen.source)) is None:
        return
    raise CniError(
        Code.CONFIGURATION,
        f"NetworkAttachmentDefinitions {seen.source} and {source} configure network {asked.network.name} "
        f"in different ways, and {_named(using)} of this node has the first",
        "Give both the same subnets, excludeSubnets and allowPersistentIPs, or another name (the key `name` of the "
        "configuration; without it, the definition's own)",
    )


def _check_segment(here: Here, network: Network) -> None:
    """Refuse a network on the subnets of another one in use on its link: addresses would be given twice."""
    own = seen_as(network, "")
    for other in here.book.networks() if own.segment else ():
        if other.network == own.network or other.segment != own.segment:
            continue
        both = [one for one in own.subnets for old in other.subnets if one.version == old.version and one.overlaps(old)]
        using = [one for one in here.book.attachments() if one.network == other.network]
        if both and using:
            raise CniError(
                Code.CONFIGURATION,
                f"Networks {other.network} and {own.network} have {both[0]} on the same link {own.segment}, "
                f"and {_named(using)} of this node has an address of {other.network}",
                "Give both the same name, which makes them one network, or other subnets",
            )


def _named(attachments: Iterable[Attachment]) -> str:
    names = sorted({f"pod {one.pod}" if one.pod else f"container {one.container_id}" for one in attachments})
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
