"""Which hosted services does this node run, which VIPs may it hold, and why?

The rules are those of docs/hosted-services.md: the control plane carries API and ingress VIPs, workers
carry ingress VIPs, remote workers none. Workers balance the API for their own programs if a setting asks for it. A node
that is not in the cluster's list never speaks VRRP. If another node reports a VIP as its own address, the cluster keeps
the VIP: this is reported, and the wire shows who holds it.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodenet.core.hosted_services.api_int import ApiInt
from nodenet.core.hosted_services.model import ON_PREMISES, Here, Inputs, Mode, Options, Purpose, Role, Service
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.settings.model import Enabled
from nodenet.core.value import frozen


@frozen
class Duty:
    """Whether *service* runs on this node, and the reason in one sentence."""

    service: Service
    wanted: bool
    reason: str


@frozen
class VipDuty:
    """Whether this node may hold *address*, and the reason in one sentence."""

    address: IPAddress
    purpose: Purpose
    wanted: bool
    reason: str


def why_disabled(options: Options) -> str | None:
    """Return why no hosted service runs on any node of this cluster, None when they do run."""
    if options.enabled is Enabled.NO:
        return '`[hosted] enabled` is "no"'
    if options.enabled is Enabled.AUTO and options.platform not in ON_PREMISES:
        return f'the platform "{options.platform}" has its own DNS and load balancers'
    if not options.api_vips:
        return "no API VIP is configured (`api_vips`)"
    if not options.cluster_domain:
        return "no cluster domain is configured (`cluster_domain`)"
    return None


def role_of(inputs: Inputs) -> Role | None:
    """Return the role of this node: the configured one, else the listed one; None while neither is known."""
    listed = next((node.role for node in inputs.nodes if node.name == inputs.here.name), None)
    return inputs.options.role or listed


def vip_duties(inputs: Inputs) -> tuple[VipDuty, ...]:
    """Return a duty for each VIP of the settings, API VIPs first."""
    return tuple(_vip_duty(inputs, address, purpose) for purpose in Purpose for address in inputs.options.vips(purpose))


def duties(inputs: Inputs, api: ApiInt, vips: tuple[VipDuty, ...]) -> tuple[Duty, ...]:
    """Return a duty for each service, in the order in which a node starts them."""
    return tuple(_duties(inputs, api, vips))


def _duties(inputs: Inputs, api: ApiInt, vips: tuple[VipDuty, ...]) -> Iterator[Duty]:
    if disabled := why_disabled(inputs.options):
        yield from (Duty(service, wanted=False, reason=disabled) for service in Service)
        return
    yield Duty(Service.DNSMASQ, wanted=True, reason="every node answers the cluster's names itself")
    held = [duty for duty in vips if duty.wanted]
    first = next((duty.reason for duty in vips), "no VIP is configured")
    yield Duty(Service.KEEPALIVED, bool(held), f"it may hold {_listed(held)}" if held else first)
    reason = _why_no_balancer(inputs, api)
    balances = _WORKER_BALANCES if role_of(inputs) is Role.WORKER else _BALANCES
    yield Duty(Service.HAPROXY, reason is None, reason or balances)
    reason = reason or _why_no_redirect(inputs, api)
    yield Duty(Service.REDIRECT, reason is None, reason or balances)


def _why_no_balancer(inputs: Inputs, api: ApiInt) -> str | None:
    if inputs.options.user_managed_lb:
        return "the load balancer is user-managed (`user_managed_lb`)"
    if role_of(inputs) is None:
        return _UNKNOWN_ROLE
    if role_of(inputs) is Role.WORKER and not inputs.options.worker_balancer:
        return "workers do not balance the API (`[hosted] worker_balancer`)"
    if api.mode is Mode.EXTERNAL and not _balances(inputs):
        return f"api-int is the external load balancer {' and '.join(map(str, api.addresses))}"
    if not any(node.role is Role.CONTROL_PLANE for node in inputs.nodes):
        return "no list of control-plane nodes was read yet"
    return None


def _balances(inputs: Inputs) -> bool:
    """Return whether haproxy runs in this phase of a migration, although ``api-int`` is an external address."""
    return inputs.spec.migration is not None and inputs.spec.migration.balances(inputs.options.api_vips)


def _why_no_redirect(inputs: Inputs, api: ApiInt) -> str | None:
    migration = inputs.spec.migration
    if api.mode is Mode.SELF_HOSTED or migration is None or migration.redirects(inputs.options.api_vips):
        return None
    return "the API moves to an external load balancer, and haproxy serves the connections that it has"


_BALANCES = "the control plane balances the API itself"
_WORKER_BALANCES = "this worker balances the API for its own programs (`[hosted] worker_balancer`)"
_UNKNOWN_ROLE = "the role of this node is not known yet: neither `[hosted] role` nor the list of nodes names it"


def _vip_duty(inputs: Inputs, address: IPAddress, purpose: Purpose) -> VipDuty:
    reason = why_disabled(inputs.options) or _why_not(inputs, address, purpose)
    if reason is None:
        place = inputs.here.places[family_of(address)]
        return VipDuty(address, purpose, wanted=True, reason=f"{place.link} has its subnet {place.network}")
    return VipDuty(address, purpose, wanted=False, reason=reason)


def _why_not(inputs: Inputs, address: IPAddress, purpose: Purpose) -> str | None:
    """Return the first reason against holding *address*, None when there is none."""
    return next(filter(None, _reasons(inputs, address, purpose)), None)


def _reasons(inputs: Inputs, address: IPAddress, purpose: Purpose) -> Iterator[str | None]:
    role = role_of(inputs)
    if inputs.options.user_managed_lb:
        yield "the load balancer is user-managed (`user_managed_lb`)"
    if inputs.here.remote_worker:
        yield "this node is a remote worker: it has no link in the VIPs' subnets"
    if role is None:
        yield _UNKNOWN_ROLE
    if purpose is Purpose.API and role is Role.WORKER:
        yield "only control-plane nodes hold the API VIP"
    if purpose is Purpose.INGRESS and not inputs.spec.ingress_ha:
        yield "spec.ingressHa is Disabled"
    if inputs.here.name not in {node.name for node in inputs.nodes}:
        listed = "the list of nodes does not name this node" if inputs.nodes else "no list of nodes was read yet"
        yield f"{listed}: a node that is in no peer list does not speak VRRP"
    yield _why_not_here(inputs.here, address)
    if address in inputs.here.addresses:
        yield f"{address} is the address of node {inputs.here.name}: a VIP must be an address of its own"


def _why_not_here(here: Here, address: IPAddress) -> str | None:
    place = here.places.get(family_of(address))
    if place is None:
        return f"this node has no {family_of(address)} node IP"
    if address not in place.network:
        return f"{place.link} has the subnet {place.network}, which does not contain {address}"
    return None


def _listed(held: list[VipDuty]) -> str:
    *others, last = (f"the {duty.purpose} VIP {duty.address}" for duty in held)
    return f"{', '.join(others)} and {last}" if others else last
