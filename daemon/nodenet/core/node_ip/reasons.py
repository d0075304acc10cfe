"""What is the reason of a verdict, in one sentence?"""

from __future__ import annotations

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_ip.ranking import KEY_NAMES, Path, Ranked
from nodenet.core.node_ip.rules import Case, Rule

_REJECTED = {
    Rule.UNSPECIFIED: "it is the unspecified address",
    Rule.LOOPBACK: "it is a loopback address: it reaches this host only",
    Rule.MULTICAST: "it is a multicast address, not that of a host",
    Rule.IPV4_MAPPED: "it is an IPv4 address in IPv6 notation",
    Rule.LINK_LOCAL: "it is link-local: other subnets cannot reach it",
    Rule.VIP: "it is a VIP, which moves from node to node",
    Rule.EGRESS_IP: "it is an egress IP, which moves from node to node",
    Rule.OVN_INTERNAL: "OVN-Kubernetes uses it internally; every node has the same",
    Rule.DAD_FAILED: "another host has the same address (duplicate address detection failed)",
    Rule.TENTATIVE: "duplicate address detection is still running",
    Rule.TEMPORARY: "it is a temporary (privacy) address, which changes by design",
    Rule.DEPRECATED: "it is deprecated (its preferred lifetime is over)",
    Rule.NOT_BINDABLE: "no server can listen on it",
}


def why_rejected(case: Case, rule: Rule) -> str:
    """Return why an address cannot be a node IP."""
    match rule:
        case Rule.DENIED_LINK:
            return f"{case.link.name} is on the list of denied links"
        case Rule.UNWANTED_FAMILY:
            return f"{case.address.family} is not among the families asked for"
        case Rule.LINK_DOWN:
            return link_state(case.link)
    return _REJECTED[rule]


def link_state(link: Link) -> str:
    """Return whether a link is up and has carrier, in words."""
    if not link.up:
        return f"{link.name} is down"
    return f"{link.name} has carrier" if link.carrier else f"{link.name} has no carrier"


def why_no_path(place: Ranked, *, with_vips: bool) -> str:
    """Return why an address without a hint, VIP or default route is not used."""
    lacks = f"{place.link.name} has no {place.address.family} default route"
    return f"no VIP is in its subnet and {lacks}" if with_vips else lacks


def why_not_hinted() -> str:
    """Return why an eligible address is not the node IP while a required hint matches nothing."""
    return "hint_required is set and no hint matches it"


def why_not_second(family: Family) -> str:
    """Return why an address of *family*, which nothing names, is not the second node IP."""
    return f"no file, hint or VIP names {family}, and the last node IPs have none; `families` names it"


def why_selected(place: Ranked, rule: Rule, leader: Ranked) -> str:
    """Return why an address is a node IP."""
    match rule:
        case Rule.STICKY:
            return "it is the last node IP and still eligible"
        case Rule.HINT:
            return f"{place.hint} matches it"
        case Rule.VIP_SUBNET:
            return f"VIP {place.vip} is in its subnet"
        case Rule.SAME_LINK:
            return f"it is on the same link as {leader.address.address}"
    metric = place.route.metric if place.route else 0
    return f"{place.link.name} has the {place.address.family} default route with the best metric ({metric})"


def why_outranked(place: Ranked, winner: Ranked, rule: Rule, leader: Ranked) -> str:
    """Return why *winner*, selected by *rule*, is preferred to *place*, which is eligible too."""
    better = str(winner.address.address)
    if rule is Rule.STICKY:
        return f"{better} is the last node IP and still eligible"
    if winner.path is Path.HINT and place.path > Path.HINT:
        return f"{winner.hint} matches {better} instead"
    if rule is Rule.SAME_LINK and place.link != winner.link:
        return f"{better} is on the same link as {leader.address.address}"
    if winner.path is Path.VIP and place.path > Path.VIP:
        return f"no VIP is in its subnet; {better} is in that of VIP {winner.vip}"
    if winner.address.family is not place.address.family:
        return f"{better} was preferred: it has {_difference(place, winner)}"
    return f"{better} has {_difference(place, winner)}"


def _difference(place: Ranked, winner: Ranked) -> str:
    first = next((i for i, (a, b) in enumerate(zip(winner.key, place.key, strict=True)) if a < b), None)
    if first is None:
        return "been selected already"
    if KEY_NAMES[first] == "the lower metric" and place.route and winner.route:
        return f"the lower metric ({winner.route.metric}, not {place.route.metric})"
    return KEY_NAMES[first]


def rejected(case: Case, rule: Rule) -> str:
    """Return an address with the reason why it cannot be a node IP."""
    return f"{case.address.address} on {case.link.name}: {why_rejected(case, rule)}"


def no_address_yet(link: Link, family: Family | None) -> str:
    """Return the sentence that a link has no address (of *family*) yet, and by what means it usually gets one."""
    match family:
        case Family.IPV6:
            return f"{link.name} has carrier, no IPv6 address yet (router advertisement, DHCPv6)"
        case Family.IPV4:
            return f"{link.name} has carrier, no IPv4 address yet (DHCP)"
    return f"{link.name} has carrier, no address yet (DHCP)"
