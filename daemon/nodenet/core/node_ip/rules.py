"""Which addresses can never be a node IP, and why?

One table has the rules in the order in which they are tried: an address gets the first rule that holds. The names of
the rules are part of the contract: ``nodenetctl explain node-ip``, the journal and the fixtures show them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from fnmatch import translate
from functools import lru_cache
from ipaddress import ip_interface, ip_network
from typing import NamedTuple

from nodenet.core.ip import OVN_BRIDGE, IPAddress, IPNetwork, is_masquerade, masquerade_shown
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, Snapshot
from nodenet.core.node_ip.policy import OVN_KUBERNETES, UNSET, Policy


class Rule(StrEnum):
    """Why an address got its verdict."""

    UNSPECIFIED = "unspecified"
    LOOPBACK = "loopback"
    MULTICAST = "multicast"
    IPV4_MAPPED = "ipv4-mapped"
    LINK_LOCAL = "link-local"
    DENIED_LINK = "denied-link"
    VIP = "vip"
    EGRESS_IP = "egress-ip"
    OVN_INTERNAL = "ovn-internal"
    UNWANTED_FAMILY = "unwanted-family"
    LINK_DOWN = "link-down"
    DAD_FAILED = "dad-failed"
    TENTATIVE = "tentative"
    TEMPORARY = "temporary"
    DEPRECATED = "deprecated"
    NOT_BINDABLE = "not-bindable"
    NO_DEFAULT_ROUTE = "no-default-route"
    OUTSIDE_HINT = "outside-hint"
    OUTSIDE_VIP_SUBNETS = "outside-vip-subnets"
    OUTRANKED = "outranked"
    HINT = "hint"
    VIP_SUBNET = "vip-subnet"
    DEFAULT_ROUTE = "default-route"
    SAME_LINK = "same-link"
    STICKY = "sticky"


DENIED_LINKS = (
    *("br-ex1", "br-int", "ovn-k8s-mp*", "ovs-system", "ovs-netdev", "genev_sys_*", "vxlan_sys_*"),
    *("docker0", "br-" + "[0-9a-f]" * 12, "podman*", "cni*", "cbr*", "virbr*", "lxcbr*", "lxdbr*", "incusbr*"),
    *("flannel*", "cali*", "vxlan.calico", "tunl0", "cilium_*", "lxc*", "weave*", "antrea-*"),
    *("kube-bridge", "kube-ipvs*", "nodelocaldns"),
)
"""Links of OVN, container engines, pod networks: they have addresses at which the node cannot be reached."""

Ranges = Mapping[int, tuple[int, int]]
"""By IP version, the first number of a range and the last."""


def ranges(*networks: str) -> Ranges:
    """Return where *networks* begin and end, at most one a version."""
    found = [ip_network(network) for network in networks]
    return {network.version: (int(network[0]), int(network[-1])) for network in found}


SPECIAL: Mapping[Rule, Ranges] = {
    Rule.UNSPECIFIED: ranges("0.0.0.0/32", "::/128"),
    Rule.LOOPBACK: ranges("127.0.0.0/8", "::1/128"),
    Rule.MULTICAST: ranges("224.0.0.0/4", "ff00::/8"),
    Rule.IPV4_MAPPED: ranges("::ffff:0:0/96"),
    Rule.LINK_LOCAL: ranges("169.254.0.0/16", "fe80::/10"),
}
"""The addresses that a rule is about."""
_NOWHERE = (1, 0)


class Case(NamedTuple):
    """An address on its link, under a policy: what a rule looks at. One for every address, so the lightest type.

    *number* is the address as a number: blocks are compared as numbers, for `ipaddress` takes microseconds for each.
    """

    address: Address
    number: int
    link: Link
    policy: Policy
    unbindable: Collection[IPAddress]


def cases(snapshot: Snapshot, policy: Policy, unbindable: Collection[IPAddress]) -> Iterator[Case]:
    """Yield the case of every address of *snapshot*; a link that is not listed gets the index 0."""
    links = {link.name: link for link in snapshot.links}
    policy = replace(policy, masquerade_subnets=(*policy.masquerade_subnets, *masquerade_subnets(snapshot)))
    for address in snapshot.addresses:
        link = links.get(address.link) or Link(0, address.link)
        yield Case(address, int(address.address), link, policy, unbindable)


def rejection(case: Case) -> Rule | None:
    """Return the first rule that rejects the address for itself, None when it may be a node IP."""
    for rule, holds in REJECTIONS:
        if holds(case):
            return rule
    return None


def is_denied(link: Link, policy: Policy) -> bool:
    """Return whether the name of *link* rules out node IPs on it."""
    return _pattern(policy.deny_links).match(link.name) is not None


@lru_cache(maxsize=8)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(glob) for glob in DENIED_LINKS + globs))


def _special(rule: Rule) -> Callable[[Case], bool]:
    """Return the test whether an address is in the range of a rule."""
    by_version = SPECIAL[rule]

    def holds(case: Case) -> bool:
        first, last = by_version.get(case.address.address.version, _NOWHERE)
        return first <= case.number <= last

    return holds


def _denied_link(case: Case) -> bool:
    return is_denied(case.link, case.policy)


def _vip(case: Case) -> bool:
    """Whether the address is a VIP, by value or by the label that keepalived gives it."""
    return case.address.address in case.policy.vips or is_labelled_vip(case)


def is_labelled_vip(case: Case) -> bool:
    """Return whether the address has the label that keepalived gives a VIP."""
    return _label_suffix(case) == "vip"


def _egress_ip(case: Case) -> bool:
    return "eip" in _label_suffix(case)


def _label_suffix(case: Case) -> str:
    """Return what a label adds to its link's name: a link may well be called ``weipert0``."""
    label = case.address.label
    return label.removeprefix(case.link.name).lstrip(":") if label else ""


def masquerade_subnets(snapshot: Snapshot) -> tuple[IPNetwork, ...]:
    """Return the masquerade subnets that OVN-Kubernetes' own addresses and routes on br-ex show."""
    addresses = [item for item in snapshot.addresses if item.link == OVN_BRIDGE]
    ways = [
        (route.destination, hop.gateway)
        for route in (snapshot.routes if addresses else ())
        for hop in route.next_hops
        if hop.link == OVN_BRIDGE
    ]
    return masquerade_shown([ip_interface((item.address, item.prefix_length)) for item in addresses], ways)


def _ovn_internal(case: Case) -> bool:
    if case.policy.network_type not in (UNSET, OVN_KUBERNETES):
        return False
    return is_masquerade(case.address.address, case.policy.masquerade_subnets)


def _unwanted_family(case: Case) -> bool:
    policy = case.policy
    allowed = policy.named if policy.families == "auto" else policy.families
    return bool(allowed) and case.address.family not in allowed


def _link_down(case: Case) -> bool:
    return not (case.link.up and case.link.carrier)


def _dad_failed(case: Case) -> bool:
    return AddressFlag.DAD_FAILED in case.address.flags


def _tentative(case: Case) -> bool:
    """Whether duplicate address detection still runs; an optimistic address can be used already (RFC 4429)."""
    flags = case.address.flags
    return AddressFlag.TENTATIVE in flags and AddressFlag.OPTIMISTIC not in flags


def _temporary(case: Case) -> bool:
    return AddressFlag.TEMPORARY in case.address.flags


def _deprecated(case: Case) -> bool:
    return case.address.preferred_lifetime == 0 or AddressFlag.DEPRECATED in case.address.flags


def _not_bindable(case: Case) -> bool:
    return bool(case.unbindable) and case.address.address in case.unbindable


REJECTIONS: tuple[tuple[Rule, Callable[[Case], bool]], ...] = (
    (Rule.UNSPECIFIED, _special(Rule.UNSPECIFIED)),
    (Rule.LOOPBACK, _special(Rule.LOOPBACK)),
    (Rule.MULTICAST, _special(Rule.MULTICAST)),
    (Rule.IPV4_MAPPED, _special(Rule.IPV4_MAPPED)),
    (Rule.LINK_LOCAL, _special(Rule.LINK_LOCAL)),
    (Rule.DENIED_LINK, _denied_link),
    (Rule.VIP, _vip),
    (Rule.EGRESS_IP, _egress_ip),
    (Rule.OVN_INTERNAL, _ovn_internal),
    (Rule.UNWANTED_FAMILY, _unwanted_family),
    (Rule.LINK_DOWN, _link_down),
    (Rule.DAD_FAILED, _dad_failed),
    (Rule.TENTATIVE, _tentative),
    (Rule.TEMPORARY, _temporary),
    (Rule.DEPRECATED, _deprecated),
    (Rule.NOT_BINDABLE, _not_bindable),
)

PASSING = frozenset({Rule.LINK_DOWN, Rule.TENTATIVE, Rule.DEPRECATED})
"""Rules that may hold for a while only: they do not take an address away that is published already."""

CURABLE = PASSING | {Rule.DAD_FAILED, Rule.NOT_BINDABLE}
"""Rules that may cease to hold without another address: an address that is asked for by name is waited for."""
