"""What may still come that would change a selection, and what is missing when there is none?

The caller waits; this says for what, in words that stand in STATUS= and ``nodenetctl status``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import AddressFlag, Link, Snapshot
from nodenet.core.node_ip.choice import choose
from nodenet.core.node_ip.grouping import AddressGroup
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.ranking import ROUTER_ADVERTISEMENT, Path, Ranked, Surroundings, best_first, ranked
from nodenet.core.node_ip.reasons import link_state, why_no_path, why_rejected
from nodenet.core.node_ip.rules import Case, Rule, is_denied

MOST_REASONS = 3
"""How many reasons one line names."""
_Reason = Callable[[], str]
"""A reason that is put into words only when it is among those few."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Something that may come soon and would change the selection: worth a bounded wait."""

    family: Family
    link: str
    reason: str
    begun: bool = False
    """It is on its way, and is there or not within seconds (RFC 4862, section 5.4: duplicate address detection)."""


class Judged(NamedTuple):
    """A case and the rule that rejects it, if one does."""

    case: Case
    rule: Rule | None


@dataclass(frozen=True, slots=True)
class SelectionInputs:
    """All that a selection has looked at, and what it chose (leader first)."""

    snapshot: Snapshot
    policy: Policy
    sticky: LastPublished | None
    address_groups: Sequence[AddressGroup]
    around: Surroundings
    places: Sequence[Ranked]
    """Those that no rule rejects, best first."""
    chosen: Sequence[Ranked]

    def judged(self) -> list[Judged]:
        """Return every address with its verdict, by link and address."""
        each = (Judged(case, part.rule) for part in self.address_groups for case in part.cases())
        return sorted(each, key=_listing)

    def has(self, address: IPAddress) -> bool:
        """Tell whether *address*, one of those published before, is on the host."""
        return any(case.address.address == address for part in self.address_groups for case in part.ends())


def _listing(judged: Judged) -> tuple[int, str, int, int, int]:
    address, number, link, _, _ = judged.case
    return (link.index, address.link, address.address.version, number, address.prefix_length)


def pending(scene: SelectionInputs) -> tuple[Pending, ...]:
    """Return what may still come, each thing once, in a fixed order."""
    found = {*_tentative(scene), *_ipv6_starting(scene), *_not_back(scene), *_better_path(scene), *_families(scene)}
    return tuple(sorted(found, key=lambda item: (item.family.value, item.link, item.reason)))


def _tentative(scene: SelectionInputs) -> Iterator[Pending]:
    """Yield addresses in duplicate address detection that would be selected after it."""
    detecting = [
        (ranked(case, scene.around), case)
        for part in scene.address_groups
        for case in (part.ends() if part.rule is Rule.TENTATIVE else ())
        if AddressFlag.TEMPORARY not in case.address.flags
    ]
    if detecting:
        hoped = sorted((*scene.places, *(place for place, _ in detecting)), key=best_first)
        chosen = choose(hoped, scene.policy, scene.sticky)
        for place, case in detecting:
            if place in chosen:
                reason = _rejected(Judged(case, Rule.TENTATIVE))
                yield Pending(place.address.family, place.link.name, reason, begun=True)


def _ipv6_starting(scene: SelectionInputs) -> Iterator[Pending]:
    """Yield the chosen link when IPv6 has begun there but no address has come of it yet."""
    if not scene.chosen or Family.IPV6 not in scene.policy.family_order:
        return
    link = scene.chosen[0].link
    known = scene.sticky.addresses if scene.sticky else ()
    for place in scene.chosen:
        if place.address.family is Family.IPV6 and (place.link == link or place.address.address in known):
            return
    on_link = [item for item in scene.snapshot.addresses if item.link == link.name and item.family is Family.IPV6]
    for address in on_link:
        if address.address.is_link_local and AddressFlag.TENTATIVE in address.flags:
            yield Pending(Family.IPV6, link.name, f"IPv6 on {link.name} is starting")
            return
    if any(not address.address.is_link_local for address in on_link):
        return
    for route in scene.snapshot.routes:
        if route.protocol == ROUTER_ADVERTISEMENT and any(hop.link == link.name for hop in route.next_hops):
            reason = f"{link.name} has a router advertisement, no IPv6 address yet"
            yield Pending(Family.IPV6, link.name, reason, begun=True)
            return


def _not_back(scene: SelectionInputs) -> Iterator[Pending]:
    """Yield node IPs of the last boot that their link has not got yet, nor another one in their place."""
    sticky = scene.sticky
    if sticky is None or sticky.permanent_mac is None:
        return
    bare = {family: list(bare_links(scene, family)) for family in scene.policy.family_order}
    for address in sticky.addresses:
        family = family_of(address)
        its = [link for link in bare.get(family, ()) if link.hardware_mac == sticky.permanent_mac]
        if its and not scene.has(address):
            # A bridge has its port's MAC, was made after it, and is where the address belongs.
            yield Pending(family, its[-1].name, f"{address}, node IP before, is not back on {its[-1].name} yet")


def _better_path(scene: SelectionInputs) -> Iterator[Pending]:
    """Yield links without an address while a hint or the VIPs ask for something that no address satisfies."""
    policy = scene.policy
    reached = scene.chosen[0].path if scene.chosen else Path.NONE
    if policy.hints and reached > Path.HINT:
        for hint in policy.hints:
            by_name = isinstance(hint.meaning, str)
            families = policy.family_order if isinstance(hint.meaning, str) else (family_of(hint.meaning),)
            for family, link in _bare_pairs(scene, families):
                if not by_name or link.name == hint.meaning or hint.meaning in link.altnames:
                    yield Pending(family, link.name, f"{hint} matches nothing and {_bare(link, family)}")
    elif policy.vips and reached > Path.VIP:
        for family, link in _bare_pairs(scene, {family_of(vip) for vip in policy.vips}):
            yield Pending(family, link.name, f"no VIP's subnet is here and {_bare(link, family)}")


def _bare_pairs(scene: SelectionInputs, families: Collection[Family]) -> Iterator[tuple[Family, Link]]:
    """Yield each of the *families* that can be a node IP's, with each link that has no address of it."""
    for family in scene.policy.family_order:
        if family in families:
            for link in bare_links(scene, family):
                yield family, link


def _families(scene: SelectionInputs) -> Iterator[Pending]:
    """Yield what each configured family waits for."""
    for family in missing(scene):
        yield Pending(family, "", f"{family}: {_why_nothing(scene, [family])}")


def missing(scene: SelectionInputs) -> tuple[Family, ...]:
    """Return the families that the settings ask for and the selection has not."""
    if scene.policy.families == "auto":
        return ()
    return tuple(family for family in scene.policy.families if not _has(scene, family))


def reason(scene: SelectionInputs) -> str | None:
    """Say what is waited for, None when nothing is missing."""
    if not scene.chosen:
        if scene.policy.hint_required and any(part.rule is None for part in scene.address_groups):
            hints = ", ".join(map(str, scene.policy.hints)) or "there is no usable one"
            return f"a hint is required and matches no address: {hints}"
        return _why_nothing(scene, scene.policy.family_order)
    lacking = [f"{family}: {_why_nothing(scene, [family])}" for family in missing(scene)]
    return "; ".join(lacking) or None


def _has(scene: SelectionInputs, family: Family) -> bool:
    return any(place.address.family is family for place in scene.chosen)


def _why_nothing(scene: SelectionInputs, families: Sequence[Family]) -> str:
    """Say why no address of *families* is eligible: the nearest hope first."""
    judged = [item for item in scene.judged() if item.case.address.family in families]
    hopeless = (None, Rule.LOOPBACK, Rule.LINK_LOCAL)
    reasons: tuple[tuple[object, _Reason], ...] = (
        *_told(judged, lambda rule: rule in (Rule.TENTATIVE, Rule.NOT_BINDABLE, Rule.DAD_FAILED)),
        *_without_path(scene, judged),
        *_bare_reasons(scene, families),
        *_told(judged, lambda rule: rule in (Rule.LINK_DOWN, Rule.DEPRECATED, Rule.TEMPORARY)),
        *(
            (link.name, partial(link_state, link))
            for link in own_links(scene.snapshot, scene.policy)
            if not (link.up and link.carrier)
        ),
        *_told(judged, lambda rule: rule not in hopeless),
    )
    distinct: dict[object, _Reason] = {}
    for about, words in reasons:
        distinct.setdefault(about, words)
    if not distinct:
        return "there is no link that could have a node IP"
    more = len(distinct) - MOST_REASONS
    worded = "; ".join(words() for words in islice(distinct.values(), MOST_REASONS))
    return worded + (f"; and {more} more" if more > 0 else "")


def _told(judged: Iterable[Judged], wanted: Callable[[Rule | None], bool]) -> Iterator[tuple[object, _Reason]]:
    """Yield the rejected addresses whose rule is *wanted*."""
    for item in judged:
        if wanted(item.rule):
            yield _about(item), partial(_rejected, item)


def _about(item: Judged) -> object:
    """Return what tells one address from the next."""
    address = item.case.address
    return address.address.version, int(address.address), address.link


def _rejected(judged: Judged) -> str:
    return f"{judged.case.address.address} on {judged.case.link.name}: {_words(judged)}"


def _words(judged: Judged) -> str:
    return why_rejected(judged.case, judged.rule) if judged.rule else ""


def _without_path(scene: SelectionInputs, judged: Iterable[Judged]) -> Iterator[tuple[object, _Reason]]:
    for item in judged:
        if item.rule is None:
            yield _about(item), partial(_lost, item, scene)


def _lost(item: Judged, scene: SelectionInputs) -> str:
    words = why_no_path(ranked(item.case, scene.around), with_vips=bool(scene.policy.vips))
    return f"{item.case.address.address} on {item.case.link.name}: {words} yet"


def _bare_reasons(scene: SelectionInputs, families: Sequence[Family]) -> Iterator[tuple[object, _Reason]]:
    """Yield links without an address of any of *families*."""
    lists = [{link.name: link for link in bare_links(scene, family)} for family in families]
    for name, link in lists[0].items() if lists else ():
        if all(name in others for others in lists[1:]):
            yield name, partial(_bare, link, families[0] if len(families) == 1 else None)


def _bare(link: Link, family: Family | None) -> str:
    """Say that a link could get an address, and by what means it usually does."""
    match family:
        case Family.IPV6:
            return f"{link.name} has carrier, no IPv6 address yet (router advertisement, DHCPv6)"
        case Family.IPV4:
            return f"{link.name} has carrier, no IPv4 address yet (DHCP)"
    return f"{link.name} has carrier, no address yet (DHCP)"


def bare_links(scene: SelectionInputs, family: Family) -> Iterator[Link]:
    """Yield the working links that have no address of *family* but might get one, by index."""
    addressed = {
        part.first.link.name
        for part in scene.address_groups
        if part.rule is not Rule.LINK_LOCAL and part.first.address.family is family
    }
    for link in own_links(scene.snapshot, scene.policy):
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
