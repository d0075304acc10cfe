"""Which addresses are the node IPs, and why not the others?

``select`` is pure: one kernel snapshot and the policy in, the node IPs and a verdict for every address out. ``rules``
has the rules that reject an address, ``ranking`` the order of preference, ``choice`` decides between families and about
the last publication, ``pending`` says what may still come and which VIPs are this node's own addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import cache, partial

from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address, Snapshot
from nodenet.core.node_ip.choice import (
    Judged,
    SelectionInputs,
    choose,
    named_families,
    primary_first,
    second_families,
    why_no_path,
    why_not_hinted,
    why_not_second,
    why_outranked,
    why_rejected,
    why_selected,
    with_last,
)
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.pending import Pending, missing, own_vips, pending, reason
from nodenet.core.node_ip.policy import BARE_METAL, Policy
from nodenet.core.node_ip.ranking import (
    LEASED6,
    Path,
    Ranked,
    Surroundings,
    best_first,
    by_router_alone,
    exact_hints,
    hint_means,
    ranked,
    surroundings,
)
from nodenet.core.node_ip.rules import CURABLE, PASSING, Case, Rule, cases, rejection
from nodenet.core.value import frozen

_Winners = Mapping[Family, tuple[Ranked, Rule]]
"""Of each family the node IP, and the rule that made it one."""


class Verdict(StrEnum):
    """The verdict on an address; *eligible*: it would be a node IP if there were no better one."""

    SELECTED = "selected"
    ELIGIBLE = "eligible"
    REJECTED = "rejected"


@frozen
class Candidate:
    """An address of this host and its verdict; *because* returns the reason in words, made only where it is printed.

    *source*: who gave the address, in words, with the routers of its link. *by_router*: nothing but a router
    advertisement gives it.
    """

    address: IPAddress
    prefix_length: int
    link: str
    verdict: Verdict
    rule: Rule
    because: Callable[[], str] = field(compare=False, repr=False)
    source: str = ""
    by_router: bool = False

    @property
    def sentence(self) -> str:
        """The reason in words, without the address."""
        return self.because()


@frozen
class Selection:
    """The node IPs, primary first (none: no address is eligible), the link of the primary, and the reasons.

    *selected*: the verdicts on the node IPs; *rest* returns those on all other addresses.
    *missing*: families that the settings ask for and that have no node IP. *pending*: what may come soon and would
    change the selection. *notes*: what an administrator should know. *waiting*: what is missing, in words, if anything
    is. *conflict*: why nothing may be published although there are node IPs. *second*: the families that a second node
    IP may have.
    """

    node_ips: tuple[IPAddress, ...] = ()
    link: str | None = None
    matches_vip: bool = False
    remote_worker: bool = False
    selected: tuple[Candidate, ...] = ()
    rest: Callable[[], tuple[Candidate, ...]] = field(default=tuple, compare=False, repr=False)
    missing: tuple[Family, ...] = ()
    pending: tuple[Pending, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: str | None = None
    conflict: str | None = None
    second: frozenset[Family] = frozenset(Family)

    def moved(self, links: Mapping[str, str | None]) -> Selection:
        """Return the same where each of *links* has given its addresses to another one."""
        selected = tuple(replace(item, link=links.get(item.link) or item.link) for item in self.selected)
        return replace(self, link=links.get(self.link or "", self.link), selected=selected)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """A verdict for every address: node IPs first, then by link and address. Computed at each access."""
        return self.selected + self.rest()


def select(
    snapshot: Snapshot,
    policy: Policy,
    sticky: LastPublished | None = None,
    unbindable: Collection[IPAddress] = frozenset(),
) -> Selection:
    """Return the node IPs; the order in which the kernel lists things makes no difference.

    *sticky* is the last publication, *unbindable* the addresses that a server could not listen on.
    """
    around = surroundings(snapshot, policy)
    asked = named_families(snapshot, policy)
    policy = replace(policy, named=with_last(asked, sticky))
    judged = [Judged(case, rejection(case)) for case in cases(snapshot, policy, unbindable)]
    if sticky and sticky.this_boot:
        judged = _pardoned(judged, sticky)
    present = (item.case.address.address for item in judged if item.rule is None or item.rule in CURABLE)
    around = replace(around, by_address=exact_hints(policy, present))
    places = sorted((ranked(item.case, around) for item in judged if item.rule is None), key=best_first)
    chosen = choose(places, policy, sticky, around)
    return _explained(SelectionInputs(snapshot, policy, sticky, judged, around, places, chosen, asked))


def select_bindable(
    snapshot: Snapshot, policy: Policy, sticky: LastPublished | None, can_bind: Callable[[IPAddress, int], bool]
) -> Selection:
    """Return the selection in which a server can listen on every node IP.

    *can_bind* tries an address on the link of that index.
    """
    indices = {link.name: link.index for link in snapshot.links}
    unbindable: set[IPAddress] = set()
    while True:
        selection = select(snapshot, policy, sticky, frozenset(unbindable))
        places = {item.address: indices.get(item.link, 0) for item in selection.selected}
        failed = {address for address, index in places.items() if not can_bind(address, index)} - unbindable
        if not failed:
            return selection
        unbindable |= failed


def _pardoned(judged: Sequence[Judged], published: LastPublished) -> list[Judged]:
    """Return the verdicts without those that reject a published address for a passing reason: kubelet may use it.

    If an address is on several links and eligible on one, its verdicts on the other links do not matter.
    """
    lost = set(published.addresses) - {item.case.address.address for item in judged if item.rule is None}
    return [
        item._replace(rule=None) if item.rule in PASSING and item.case.address.address in lost else item
        for item in judged
    ]


def _explained(inputs: SelectionInputs) -> Selection:
    """Return the selection with the reasons, notes and waits of *inputs*."""
    policy, chosen = inputs.policy, inputs.chosen
    leader = chosen[0] if chosen else None
    in_order = primary_first(chosen, policy, inputs.sticky)
    rules = {place.address.family: (place, _selected_by(place, inputs)) for place in chosen}
    away = leader is not None and leader.path >= Path.DEFAULT_ROUTE
    managed = policy.platform.lower() == BARE_METAL and not policy.user_managed_lb
    remote = bool(policy.vips) and away and managed
    conflict = own_vips(inputs)
    return Selection(
        node_ips=tuple(place.address.address for place in in_order),
        link=in_order[0].link.name if in_order else None,
        matches_vip=any(place.vip for place in chosen),
        remote_worker=remote,
        selected=tuple(_selected(place, rules[place.address.family][1], inputs) for place in in_order),
        rest=cache(partial(_rest, inputs, rules)),
        missing=missing(inputs),
        pending=pending(inputs),
        notes=(*((conflict,) if conflict else ()), *_notes(inputs, in_order), *(_remote(policy) if remote else ())),
        waiting=reason(inputs),
        second=second_families(inputs.policy, inputs.sticky),
        conflict=conflict,
    )


def _rest(inputs: SelectionInputs, rules: _Winners) -> tuple[Candidate, ...]:
    """Return a verdict for every address that is not a node IP, by link and address."""
    node_ips = {id(place.address) for place in inputs.chosen}
    places = {id(place.address): place for place in inputs.places}
    return tuple(
        _rejected(item.case, item.rule, inputs.around)
        if item.rule
        else _unselected(places[id(item.case.address)], inputs, rules)
        for item in inputs.in_order()
        if id(item.case.address) not in node_ips
    )


def _selected_by(place: Ranked, inputs: SelectionInputs) -> Rule:
    """Return the rule that made an address a node IP."""
    leader = inputs.chosen[0]
    published = inputs.sticky is not None and place.address.address in inputs.sticky.addresses
    if published and place not in choose(inputs.places, inputs.policy, None, inputs.around):
        return Rule.STICKY
    best = next(other for other in inputs.places if other.address.family is place.address.family)
    by_path = {Path.HINT: Rule.HINT, Path.VIP: Rule.VIP_SUBNET, Path.DEFAULT_ROUTE: Rule.DEFAULT_ROUTE}
    alone = place is best and place.path is leader.path
    if place is not leader and place.link.name == leader.link.name and not alone:
        return by_path[place.path] if place.path is Path.HINT else Rule.SAME_LINK
    return by_path.get(place.path, Rule.SAME_LINK)


def _candidate(
    address: Address, verdict: Verdict, rule: Rule, because: Callable[[], str], around: Surroundings
) -> Candidate:
    place = (address.address, address.prefix_length, address.link)
    return Candidate(*place, verdict, rule, because, _source(address, around))


def _source(address: Address, around: Surroundings) -> str:
    """Return who gave an address: what is given has a lifetime. Of several routers the kernel does not know which."""
    if address.is_permanent:
        return "static"
    routers = " and ".join(map(str, sorted(around.routers.get((address.link, address.family), ()), key=int)))
    if address.family is Family.IPV4:
        return f"DHCP, router {routers}" if routers else "DHCP"
    if address.prefix_length == LEASED6:
        return f"DHCPv6, router {routers}" if routers else "DHCPv6"
    return f"router advertisement of {routers}" if routers else "router advertisement"


def _selected(place: Ranked, rule: Rule, inputs: SelectionInputs) -> Candidate:
    leader, family = inputs.chosen[0], place.address.family
    because = partial(why_selected, place, rule, leader)
    found = _candidate(place.address, Verdict.SELECTED, rule, because, inputs.around)
    found = replace(found, by_router=by_router_alone(place, inputs.policy, inputs.around))
    if place is leader or place.address.is_permanent or inputs.policy.families != "auto" or family in inputs.asked:
        return found
    return replace(found, source=f"{found.source}; no file, hint or VIP names {family}")


def _rejected(case: Case, rule: Rule, around: Surroundings) -> Candidate:
    return _candidate(case.address, Verdict.REJECTED, rule, partial(why_rejected, case, rule), around)


def _unselected(place: Ranked, inputs: SelectionInputs, rules: _Winners) -> Candidate:
    if place.path is Path.NONE:
        because = partial(why_no_path, place, with_vips=bool(inputs.policy.vips))
        return _candidate(place.address, Verdict.REJECTED, Rule.NO_DEFAULT_ROUTE, because, inputs.around)
    if not inputs.chosen:
        return _candidate(place.address, Verdict.ELIGIBLE, Rule.OUTSIDE_HINT, why_not_hinted, inputs.around)
    leader, family = inputs.chosen[0], place.address.family
    if family not in rules:
        because = partial(why_not_second, family)
        return _candidate(place.address, Verdict.REJECTED, Rule.UNWANTED_FAMILY, because, inputs.around)
    winner, rule = rules[family]
    because = partial(why_outranked, place, winner, rule, leader)
    return _candidate(place.address, Verdict.ELIGIBLE, _loser_rule(place, winner), because, inputs.around)


def _loser_rule(place: Ranked, winner: Ranked) -> Rule:
    if place.path <= winner.path:
        return Rule.OUTRANKED
    return _OUTSIDE.get(winner.path, Rule.OUTRANKED)


_OUTSIDE = {Path.HINT: Rule.OUTSIDE_HINT, Path.VIP: Rule.OUTSIDE_VIP_SUBNETS}


def _notes(inputs: SelectionInputs, in_order: Sequence[Ranked]) -> Iterator[str]:
    """Yield what an administrator should know beside the verdicts."""
    for hint in inputs.policy.hints:
        if not any(hint_means(hint, place.address, place.link, inputs.around) for place in inputs.places):
            yield f"{hint} matches no usable address of this node"
    for address in inputs.sticky.addresses if inputs.sticky else ():
        if not any(place.address.address == address for place in in_order):
            state = "is on this node but is not selected" if inputs.has(address) else "is not on this node"
            yield f"{address}, the last node IP, {state}"
    yield from _next_boot(inputs)
    if inputs.sticky is None:
        yield from _several_routers(inputs)
    if len({place.link.name for place in in_order}) > 1:
        spread = ", ".join(f"{place.address.address} on {place.link.name}" for place in in_order)
        yield f"the node IPs are on different links: {spread}"


def _next_boot(inputs: SelectionInputs) -> Iterator[str]:
    """Yield what the next boot would select by a hint or VIP in the place of what this boot has published."""
    last = inputs.sticky
    if last and last.this_boot and inputs.chosen:
        later = choose(inputs.places, inputs.policy, replace(last, this_boot=False), inputs.around)
        if later and later[0].path < Path.DEFAULT_ROUTE and later[0].address != inputs.chosen[0].address:
            why = later[0].hint or f"VIP {later[0].vip}"
            place = f"{later[0].address.address} on {later[0].link.name}"
            yield f"the next boot would select {place}, by {why}; `nodenetctl reselect` selects it now"


def _several_routers(inputs: SelectionInputs) -> Iterator[str]:
    """Yield that only an administrator knows, in a first boot, which router of several is the right one."""
    of_routers = [each for each in inputs.places if by_router_alone(each, inputs.policy, inputs.around)]
    for place in (each for each in inputs.chosen if each in of_routers):
        address = place.address
        routers = sorted(inputs.around.routers.get((address.link, address.family), ()), key=int)
        on_link = [each.address.address for each in of_routers if each.link == place.link]
        rivals = [other for other in on_link if not address.shares_prefix(other)]
        if rivals and len(routers) > 1:
            names = " and ".join(map(str, routers))
            yield (
                f"the routers {names} give {address.link} several prefixes: {address.address} was chosen, not "
                f"{rivals[0]}; a hint for the right subnet decides (NODEIP_HINT)"
            )


def _remote(policy: Policy) -> Iterator[str]:
    vips = " and ".join(map(str, policy.vips))
    named = "VIPs" if len(policy.vips) > 1 else "VIP"
    yield f"No link has the subnet of {named} {vips}: treated as a remote worker, on which keepalived does not run"
