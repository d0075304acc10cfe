"""Which address does ``api-int`` have, and does the cluster run its own API load balancer?

DNS on every node uses one address: that of the resource, else the API VIP. If it is an API VIP, the cluster runs its
own load balancer. Any other address belongs to an external load balancer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nodenet.core.hosted_services.model import ClusterNode, Inputs, Mode, Origin, Role
from nodenet.core.ip import IPAddress, family_of


@dataclass(frozen=True, slots=True)
class ApiInt:
    """The effective addresses, one a family at most, where they were read, and the mode that follows."""

    addresses: tuple[IPAddress, ...]
    origin: Origin
    mode: Mode
    problem: str | None = None
    """What is wrong with the addresses of the resource, with the remedy; they may still be used (*origin*)."""


def api_int(inputs: Inputs) -> ApiInt:
    """Return the effective address of ``api-int``; addresses of the resource that cannot be right are not used."""
    vips, asked = inputs.options.api_vips, inputs.spec.effective_addresses
    external = Mode.EXTERNAL if inputs.options.user_managed_lb else Mode.SELF_HOSTED
    if not asked or set(asked) == set(vips):
        return ApiInt(vips, inputs.spec_origin if asked else Origin.DEFAULT, external)
    if problem := refusal(asked, vips, inputs.nodes):
        return ApiInt(vips, Origin.DEFAULT, external, problem)
    if set(asked) == inputs.dead:
        return ApiInt(vips, Origin.DEFAULT, external, _dead(asked))
    return ApiInt(asked, inputs.spec_origin, Mode.EXTERNAL, _claimed(asked, inputs.nodes))


def load_balancer(inputs: Inputs) -> tuple[IPAddress, ...]:
    """Return the addresses of the external load balancer that the resource names, none without one; dead or not."""
    found = api_int(replace(inputs, dead=frozenset()))
    return found.addresses if found.mode is Mode.EXTERNAL and found.addresses != inputs.options.api_vips else ()


def _dead(asked: tuple[IPAddress, ...]) -> str:
    shown = " and ".join(map(str, asked))
    return (
        f"The external load balancer {shown} does not answer, and api-int is the API VIP until it does: "
        "see to the load balancer, or remove apiintIpAddress"
    )


def _claimed(asked: Iterable[IPAddress], nodes: Iterable[ClusterNode]) -> str | None:
    """Return which node has one of the addresses.

    A worker reports its addresses itself, and no worker decides where the API of the cluster is: its claim is named,
    and changes nothing.
    """
    owners = {address: node.name for node in nodes for address in node.addresses}
    taken = next((address for address in asked if address in owners), None)
    if taken is None:
        return None
    return f"apiintIpAddress {taken} is the address of node {owners[taken]}: name the load balancer's address"


def refusal(asked: tuple[IPAddress, ...], vips: tuple[IPAddress, ...], nodes: tuple[ClusterNode, ...]) -> str | None:
    """Return what is wrong with the addresses that the resource names; no order of them matters."""
    if both := [address for address in asked if address in vips]:
        return (
            f"apiintIpAddresses mixes the API VIP {both[0]} with other addresses: "
            "name the VIPs only (self-hosted) or the external load balancer's addresses only"
        )
    if claim := _claimed(asked, [node for node in nodes if node.role is Role.CONTROL_PLANE]):
        return claim
    known = {family_of(vip) for vip in vips}
    if strange := next((address for address in asked if known and family_of(address) not in known), None):
        return (
            f"apiintIpAddress {strange} is {family_of(strange)}, and no API VIP is: name an address of a VIP's family"
        )
    return None
