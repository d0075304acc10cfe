"""How is a verdict told to a person, in one sentence?"""

from __future__ import annotations

from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_ip.ranking import KEY_NAMES, Path, Ranked
from nodenet.core.node_ip.rules import Case, Rule

_REJECTED = {
    Rule.UNSPECIFIED: "it stands for no address at all",
    Rule.LOOPBACK: "it reaches this host only",
    Rule.MULTICAST: "it names a group, not a host",
    Rule.IPV4_MAPPED: "it is an IPv4 address in IPv6 notation",
    Rule.LINK_LOCAL: "it is valid on its own link only",
    Rule.VIP: "it is a VIP, which moves from node to node",
    Rule.EGRESS_IP: "it is an egress IP, which moves from node to node",
    Rule.OVN_INTERNAL: "OVN-Kubernetes uses it internally, it is the same on every node",
    Rule.DAD_FAILED: "another host has it (duplicate address detection failed)",
    Rule.TENTATIVE: "duplicate address detection still runs",
    Rule.TEMPORARY: "it is a temporary (privacy) address, which changes by design",
    Rule.DEPRECATED: "it is deprecated: its preferred lifetime is over",
    Rule.NOT_BINDABLE: "no server can listen on it",
}


def why_rejected(case: Case, rule: Rule) -> str:
    """Say why an address can be no node IP."""
    match rule:
        case Rule.DENIED_LINK:
            return f"{case.link.name} is on the list of denied links"
        case Rule.UNWANTED_FAMILY:
            return f"{case.address.family} is not among the families asked for"
        case Rule.LINK_DOWN:
            return link_state(case.link)
    return _REJECTED[rule]


def link_state(link: Link) -> str:
    """Say whether a link works."""
    if not link.up:
        return f"{link.name} is down"
    return f"{link.name} has carrier" if link.carrier else f"{link.name} has no carrier"


def why_no_path(place: Ranked, *, with_vips: bool) -> str:
    """Say why nothing leads to an address that is sound in itself."""
    lacks = f"{place.link.name} has no {place.address.family} default route"
    return f"it is on no VIP's subnet and {lacks}" if with_vips else lacks


def why_not_hinted() -> str:
    """Say why an address that might be the node IP was left alone."""
    return "a hint is required and does not mean it"


def why_selected(place: Ranked, rule: Rule, leader: Ranked) -> str:
    """Say why an address is a node IP."""
    match rule:
        case Rule.STICKY:
            return "it was the node IP before and is still good"
        case Rule.HINT:
            return f"{place.hint} means it"
        case Rule.VIP_SUBNET:
            return f"VIP {place.vip} is on its subnet"
        case Rule.SAME_LINK:
            return f"it is on the same link as {leader.address.address}"
    metric = place.route.metric if place.route else 0
    return f"{place.link.name} has the {place.address.family} default route with the best metric ({metric})"


def why_outranked(place: Ranked, winner: Ranked, rule: Rule, leader: Ranked) -> str:
    """Say what *winner*, the node IP that was selected by *rule*, has over an address that might have been it."""
    better = str(winner.address.address)
    if rule is Rule.STICKY:
        return f"{better} was the node IP before and is still good"
    if winner.path is Path.HINT and place.path > Path.HINT:
        return f"{winner.hint} means {better} instead"
    if rule is Rule.SAME_LINK and place.link != winner.link:
        return f"{better} is on the same link as {leader.address.address}"
    if winner.path is Path.VIP and place.path > Path.VIP:
        return f"no VIP is on its subnet; {better} is on that of {winner.vip}"
    if winner.address.family is not place.address.family:
        return f"{better} was preferred: it has {_difference(place, winner)}"
    return f"{better} has {_difference(place, winner)}"


def _difference(place: Ranked, winner: Ranked) -> str:
    first = next((i for i, (a, b) in enumerate(zip(winner.key, place.key, strict=True)) if a < b), None)
    if first is None:
        return "been chosen before"
    if KEY_NAMES[first] == "the lower metric" and place.route and winner.route:
        return f"the lower metric ({winner.route.metric}, not {place.route.metric})"
    return KEY_NAMES[first]
