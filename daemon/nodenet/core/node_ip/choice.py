"""Which addresses become the node IPs, from all eligible ones in their order of preference?

The best address is the primary node IP, unless the last choice is kept. One address of each other family is added.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.ranking import Path, Ranked, Surroundings, by_router_alone, hint_reaches


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
