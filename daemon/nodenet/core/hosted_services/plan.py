"""What do hosted services do on this node: which programs run, with which configurations, and what is wrong?

One pure function from settings, resource, nodes and node IPs to everything that is written and started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodenet.core.hosted_services import dnsmasq, haproxy, keepalived
from nodenet.core.hosted_services.api_int import ApiInt, api_int
from nodenet.core.hosted_services.duties import Duty, VipDuty, duties, role_of, vip_duties, why_disabled
from nodenet.core.hosted_services.model import Inputs, Mode, Origin, Role, Service
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.value import frozen


@frozen
class Plan:
    """The whole plan. *texts*: the configuration of each service that runs here; *hosts*: dnsmasq's hosts file."""

    mode: Mode
    role: Role | None
    api_int: ApiInt
    duties: tuple[Duty, ...]
    vips: tuple[VipDuty, ...]
    texts: Mapping[Service, str]
    hosts: str
    problems: tuple[str, ...]
    """What an administrator should change, each a sentence with the remedy. Services continue with what is valid."""
    pending: tuple[str, ...] = ()
    """What the cluster has not reported yet, as in its installation; no problem by itself."""


@frozen
class NodePlan:
    """A plan, its inputs, and the sources that cannot be used."""

    plan: Plan
    inputs: Inputs
    problems: tuple[str, ...] = ()


def plan(inputs: Inputs) -> Plan:
    """Return what this node does for the cluster; the same inputs give the same plan in whatever order nodes come."""
    api = api_int(inputs)
    vips = vip_duties(inputs)
    mine = duties(inputs, api, vips)
    disabled = why_disabled(inputs.options) is not None
    texts = {
        Service.DNSMASQ: dnsmasq.configuration(inputs, mine),
        Service.KEEPALIVED: keepalived.configuration(inputs, vips),
        Service.HAPROXY: haproxy.configuration(inputs, mine),
        Service.REDIRECT: haproxy.redirect_rules(inputs, mine),
    }
    return Plan(
        Mode.DISABLED if disabled else api.mode,
        role_of(inputs),
        api,
        mine,
        vips,
        {service: text for service, text in texts.items() if text is not None},
        "" if disabled else dnsmasq.hosts(inputs, api),
        () if disabled else tuple(_problems(inputs, api)),
        () if disabled else tuple(_pending(inputs)),
    )


def _problems(inputs: Inputs, api: ApiInt) -> Iterator[str]:
    if api.problem:
        yield api.problem
    own = {node.name: node for node in inputs.nodes}
    for vip in (*inputs.options.api_vips, *inputs.options.ingress_vips):
        if name := _owner(inputs, vip):
            yield f"The VIP {vip} is the address of node {name}: give the VIP an address of its own"
        if problem := _outside(inputs, vip):
            yield problem
    for key in ("records", "upstreams"):
        for name, _ in getattr(inputs.options, key):
            if dnsmasq.is_of_the_api(name, inputs.options.cluster_domain):
                yield f"`[hosted] {key}` names {name}, which the cluster answers itself: remove it from `{key}`"
    if role_of(inputs) is None and inputs.nodes:
        yield "The role of this node is unknown: set `[hosted] role`, or give kubelet's credentials access to its Node"
    listed = own.get(inputs.here.name)
    if listed and inputs.options.role and inputs.options.role is not listed.role:
        yield (
            f"`[hosted] role` is {inputs.options.role} and the cluster lists this node as {listed.role}: "
            "the setting is used; correct one of them"
        )


def _pending(inputs: Inputs) -> Iterator[str]:
    if inputs.nodes_origin is Origin.DEFAULT and not inputs.nodes:
        yield "No list of nodes was ever read: this node answers DNS and holds no VIP until it has one"
        if role_of(inputs) is None:
            yield "The role of this node is not known yet: the list of nodes, or `[hosted] role`, names it"


def _outside(inputs: Inputs, vip: IPAddress) -> str | None:
    place = inputs.here.places.get(family_of(vip))
    if inputs.here.remote_worker or place is None or vip in place.network:
        return None
    return f"No subnet of this node contains the VIP {vip}: correct the VIP, or the node IP on {place.link}"


def _owner(inputs: Inputs, vip: IPAddress) -> str | None:
    if vip in inputs.here.addresses:
        return inputs.here.name
    return next((node.name for node in inputs.nodes if vip in node.addresses), None)


# Which addresses does systemd take off this node's links before its keepalived starts, and whenever it ends?
#
# The unit of keepalived runs this file (ip(8), ``-batch``), so a keepalived that is killed leaves no VIP behind,
# whatever nodenet-hosted does. An address goes from every link that has it, with any prefix; one that is not there is
# no error.


def release_batch(plan: Plan) -> str:
    """Return the lines, one for each VIP that this node may hold."""
    vips = (duty.address for duty in plan.vips if duty.wanted)
    return "".join(f"address flush to {vip}/{vip.max_prefixlen}\n" for vip in vips)
