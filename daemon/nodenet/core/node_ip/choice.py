"""What is selection made of, which candidate is the best, and why is another one not?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.objects import DISCONNECTED, Inventory
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.ranking import KEY_NAMES, Path, Ranked, Surroundings, by_router_alone, hint_reaches
from nodenet.core.node_ip.rules import Case, Rule, is_denied
from nodenet.core.value import frozen


def choose(
    places: Sequence[Ranked], policy: Policy, sticky: LastPublished | None, around: Surroundings
) -> tuple[Ranked, ...]:
    """Return the leader and one address of each further family that goes with it.

    No router alone gives a further family another prefix than it had.
    """
    leader = _leader(places, policy, sticky)
    if leader is None:
        return ()
    held = sticky is not None and sticky.this_boot and leader.address.address in sticky.addresses
    if policy.hint_required and leader.path is not Path.HINT and not held:
        return ()
    others = second_families(policy, sticky) - {leader.address.family}
    old = [address for address in sticky.addresses if address.version == 6] if sticky else []
    moved = [each for each in places if old and not _same_prefix(each, old) and by_router_alone(each, policy, around)]
    suitable = [place for place in places if place not in moved]
    companions = [_companion(leader, family, suitable, sticky) for family in others]
    # What nothing asks for has a way out at least.
    is_asked = policy.families != "auto" or policy.named or (sticky and sticky.addresses)
    return (leader, *(place for place in companions if place and (is_asked or place.path is not Path.NONE)))


def _same_prefix(place: Ranked, old: Sequence[IPAddress]) -> bool:
    return any(place.address.shares_prefix(address) for address in old)


def named_families(snapshot: Snapshot, policy: Policy) -> frozenset[Family]:
    """Return the families that VIPs, hints or the node file name; they count with `auto` only.

    A hint for a subnet that the node is not in, or the name of a link, names none.
    """
    of_hints = {item.family for hint in policy.hints for item in snapshot.addresses if hint_reaches(hint, item)}
    return policy.named | set(policy.required) | of_hints


def with_last(named: frozenset[Family], sticky: LastPublished | None) -> frozenset[Family]:
    """Return the families that a node IP may have where some are *named*: those of the last boot stay. Empty: each."""
    return named | set(map(family_of, sticky.addresses)) if named and sticky else named


def second_families(policy: Policy, sticky: LastPublished | None) -> frozenset[Family]:
    """Return the families that a second node IP may have.

    With `auto`, no router and no DHCP server adds one to what was published, unless it is named. And in the boot that
    published it none is added at all: kubelet may run already.
    """
    known = frozenset(map(family_of, sticky.addresses)) if sticky else frozenset()
    if policy.families == "auto" and known and sticky and (sticky.this_boot or not policy.named):
        return known
    return frozenset(policy.family_order)


def _leader(places: Sequence[Ranked], policy: Policy, sticky: LastPublished | None) -> Ranked | None:
    """Return the best address; what was published stays unless a hint or VIP now asks for another path.

    In the boot that published it, it stays even then: only its loss or a reselection takes it away. If it is gone,
    another address of its NIC takes its place.
    """
    best = _best(places, policy.family_order[0]) if places and places[0].path is not Path.NONE else None
    if sticky is None or not sticky.addresses:
        return best
    kept = next((place for address in sticky.addresses for place in places if place.address.address == address), None)
    if kept is None or kept.address.address != sticky.addresses[0]:
        family = family_of(sticky.addresses[0])
        routed = (place for place in places if place.path is not Path.NONE and place.address.family is family)
        kept = next((place for place in routed if sticky.is_on(place.link)), kept)
    if kept is None:
        return best
    if sticky.this_boot or (best and kept.key[:2] <= best.key[:2]):
        return kept
    return best


def _best(places: Sequence[Ranked], preferred: Family) -> Ranked:
    """Return the first place; but not for its metric where its link could have the *preferred* family lead as well.

    Metrics of one family say nothing of the other's: who lowers that of a link's IPv4 wants another link.
    """
    first = places[0]
    rivals = [place for place in places if place.address.family is preferred and place.key[:2] == first.key[:2]]
    return rivals[0] if any(place.link.name == first.link.name for place in rivals) else first


def _companion(leader: Ranked, family: Family, places: Sequence[Ranked], sticky: LastPublished | None) -> Ranked | None:
    """Return the address of another family that goes best with the leader: of its link, else of any."""
    known = sticky.addresses if sticky else ()
    this_boot = sticky is not None and sticky.this_boot
    leader_too = leader.address.address in known

    def preference(place: Ranked) -> tuple[bool, bool, bool, bool, bool, tuple[int, ...]]:
        published = place.address.address in known
        return (
            not (published and this_boot),
            place.path is not Path.HINT,
            not (published and leader_too),
            place.link.name != leader.link.name,
            not published,
            place.key,
        )

    suitable = (
        place
        for place in places
        if place.address.family is family
        if place.path is not Path.NONE or place.link.name == leader.link.name or not preference(place)[0]
    )
    return min(suitable, key=preference, default=None)


def primary_first(chosen: Sequence[Ranked], policy: Policy, sticky: LastPublished | None) -> list[Ranked]:
    """Return the chosen in the order of publication.

    What is published keeps its order; else the settings' order, or on one link the preferred family; else the leader
    leads.
    """
    published = sticky.addresses if sticky and sticky.this_boot else ()
    one_link = len({place.link.name for place in chosen}) == 1

    def position(place: Ranked) -> tuple[int, int]:
        address = place.address.address
        before = published.index(address) if address in published else len(published)
        by_family = policy.families != "auto" or one_link
        return before, policy.family_order.index(place.address.family) if by_family else chosen.index(place)

    return sorted(chosen, key=position)


class Judged(NamedTuple):
    """A case and the rule that rejects it, if one does."""

    case: Case
    rule: Rule | None


@frozen
class SelectionInputs:
    """All that a selection has read, and what it chose (leader first)."""

    snapshot: Snapshot
    policy: Policy
    sticky: LastPublished | None
    judged: Sequence[Judged]
    around: Surroundings
    places: Sequence[Ranked]
    """Those that no rule rejects, best first."""
    chosen: Sequence[Ranked]
    asked: frozenset[Family] = frozenset()
    """The families that VIPs, hints or the node file name."""

    def in_order(self) -> list[Judged]:
        """Return every address with the rule that rejects it, by link and address."""
        return sorted(self.judged, key=_listing)

    def has(self, address: IPAddress) -> bool:
        """Return whether *address* is on the host."""
        return any(item.case.address.address == address for item in self.judged)


def _listing(judged: Judged) -> tuple[int, str, int, int, int]:
    address, number, link, _, _ = judged.case
    return (link.index, address.link, address.address.version, number, address.prefix_length)


def bare_links(inputs: SelectionInputs, family: Family) -> Iterator[Link]:
    """Yield the working links that have no address of *family* but might get one, by index."""
    addressed = {
        item.case.link.name
        for item in inputs.judged
        if item.rule is not Rule.LINK_LOCAL and item.case.address.family is family
    }
    for link in own_links(inputs.snapshot, inputs.policy):
        if link.up and link.carrier and link.name not in addressed:
            yield link


def own_links(snapshot: Snapshot, policy: Policy) -> list[Link]:
    """Return the links that may carry the node IP: the ports of a bridge or bond leave that to it."""
    vrfs = {link.name for link in snapshot.links if link.kind == "vrf"}
    links = sorted(snapshot.links, key=lambda link: link.index)
    return [
        link
        for link in links
        if not link.loopback and not is_denied(link, policy) and (link.master is None or link.master in vrfs)
        if link.name not in vrfs and link.name != "lo"
    ]


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


# Which links that may give the node its address are set down or given up, although NetworkManager manages them?
#
# NetworkManager sets each link up that it manages, to see its carrier. It does so once, and a link that another program
# or a driver sets down later stays down. Open vSwitch does it too: where its userspace datapath lets a link go, it sets
# the flags that the link had before, and these may be older than NetworkManager's.

ASKED_FOR = "asked for"
"""In the words of a device that an administrator has disconnected."""
NOT_MANAGED = ("unmanaged", "unknown")
"""States of NetworkManager's devices (NMDeviceState) whose links are another program's."""


def down(snapshot: Snapshot, policy: Policy) -> tuple[str, ...]:
    """Return the links that are set down and that *policy* lets have the node IP, by index."""
    links = (link for link in snapshot.links if not (link.up or link.loopback or is_denied(link, policy)))
    return tuple(link.name for link in sorted(links, key=lambda link: link.index))


def managed(links: tuple[str, ...], states: Mapping[str, str]) -> tuple[str, ...]:
    """Return those of *links* that NetworkManager manages; *states*: link → its state in words."""
    return tuple(name for name in links if name in states and not states[name].startswith(NOT_MANAGED))


def given_up(snapshot: Snapshot, policy: Policy, found: Inventory) -> tuple[str, ...]:
    """Return the links with a carrier that NetworkManager activates no more, though their profiles ask for that.

    After four tries it waits for five minutes; one answer to its duplicate address detection ends a try.
    """
    own = {link.name for link in own_links(snapshot, policy) if link.up and link.carrier}
    wanted = {each.link for each in found.profiles if each.setting("connection", "autoconnect", default=True)}
    idle = (name for name, words in found.states.items() if words.startswith(DISCONNECTED) and ASKED_FOR not in words)
    return tuple(sorted(name for name in idle if name in own and name in wanted))
