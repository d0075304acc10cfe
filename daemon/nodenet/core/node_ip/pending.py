"""What is missing for a selection: links that are not there yet, families without an address, VIPs of this host?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import cast

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link
from nodenet.core.node_ip.choice import (
    Judged,
    SelectionInputs,
    bare_links,
    choose,
    link_state,
    no_address_yet,
    own_links,
    rejected,
    why_no_path,
    why_rejected,
)
from nodenet.core.node_ip.ranking import Path, best_first, ranked
from nodenet.core.node_ip.rules import CURABLE, Case, Rule, is_labelled_vip
from nodenet.core.value import frozen

MOST_REASONS = 3
"""How many reasons one line names."""
_Reason = Callable[[], str]
"""A reason that is put into words only when it is among those few."""


def missing(inputs: SelectionInputs) -> tuple[Family, ...]:
    """Return the families that the settings ask for and the selection has not."""
    return tuple(family for family in inputs.policy.required if not _has(inputs, family))


def _has(inputs: SelectionInputs, family: Family) -> bool:
    return any(place.address.family is family for place in inputs.chosen)


def why_nothing(inputs: SelectionInputs, families: Sequence[Family]) -> str:
    """Return why no address of *families* is eligible: what may change first comes first."""
    judged = [item for item in inputs.in_order() if item.case.address.family in families]
    hopeless = (None, Rule.LOOPBACK, Rule.LINK_LOCAL)
    reasons: tuple[tuple[object, _Reason], ...] = (
        *_rejections(judged, lambda rule: rule in (Rule.TENTATIVE, Rule.NOT_BINDABLE, Rule.DAD_FAILED)),
        *_without_path(inputs, judged),
        *_bare_reasons(inputs, families),
        *_rejections(judged, lambda rule: rule in (Rule.LINK_DOWN, Rule.DEPRECATED, Rule.TEMPORARY)),
        *(
            (link.name, partial(link_state, link))
            for link in own_links(inputs.snapshot, inputs.policy)
            if not (link.up and link.carrier)
        ),
        *_rejections(judged, lambda rule: rule not in hopeless),
    )
    distinct: dict[object, _Reason] = {}
    for about, words in reasons:
        distinct.setdefault(about, words)
    if not distinct:
        return "there is no link that could have a node IP"
    more = len(distinct) - MOST_REASONS
    worded = "; ".join(words() for words in islice(distinct.values(), MOST_REASONS))
    return worded + (f"; and {more} more" if more > 0 else "")


def _rejections(judged: Iterable[Judged], wanted: Callable[[Rule | None], bool]) -> Iterator[tuple[object, _Reason]]:
    """Yield the rejected addresses whose rule is *wanted*."""
    for item in judged:
        if wanted(item.rule):
            yield _about(item), partial(_words, item)


def _about(item: Judged) -> object:
    """Return what a reason is about: an address, or its link if that is why the address cannot be used."""
    address = item.case.address
    if item.rule is Rule.LINK_DOWN:
        return address.link
    return address.address.version, int(address.address), address.link


def _words(item: Judged) -> str:
    return rejected(item.case, item.rule) if item.rule else ""


def _without_path(inputs: SelectionInputs, judged: Iterable[Judged]) -> Iterator[tuple[object, _Reason]]:
    for item in judged:
        if item.rule is None:
            yield _about(item), partial(_lost, item, inputs)


def _lost(item: Judged, inputs: SelectionInputs) -> str:
    words = why_no_path(ranked(item.case, inputs.around), with_vips=bool(inputs.policy.vips))
    return f"{item.case.address.address} on {item.case.link.name}: {words} yet"


def _bare_reasons(inputs: SelectionInputs, families: Sequence[Family]) -> Iterator[tuple[object, _Reason]]:
    """Yield links without an address of any of *families*."""
    lists = [{link.name: link for link in bare_links(inputs, family)} for family in families]
    for name, link in lists[0].items() if lists else ():
        if all(name in others for others in lists[1:]):
            yield name, partial(no_address_yet, link, families[0] if len(families) == 1 else None)


@frozen
class Pending:
    """Something that may come soon and would change the selection: worth a bounded wait."""

    family: Family
    link: str
    reason: str


def pending(inputs: SelectionInputs) -> tuple[Pending, ...]:
    """Return what may still come, each thing once, in a fixed order."""
    found = {
        *_tentative(inputs),
        *_hinted_addresses(inputs),
        *_better_path(inputs),
        *_families(inputs),
    }
    return tuple(sorted(found, key=lambda item: (item.family.value, item.link, item.reason)))


def _tentative(inputs: SelectionInputs) -> Iterator[Pending]:
    """Yield addresses in duplicate address detection that would be selected after it."""
    detecting = [
        (ranked(case, inputs.around), case)
        for case, rule in inputs.judged
        if rule is Rule.TENTATIVE and AddressFlag.TEMPORARY not in case.address.flags
    ]
    if detecting:
        hoped = sorted((*inputs.places, *(place for place, _ in detecting)), key=best_first)
        chosen = choose(hoped, inputs.policy, inputs.sticky, inputs.around)
        for place, case in detecting:
            if place in chosen:
                yield Pending(place.address.family, place.link.name, rejected(case, Rule.TENTATIVE))


def _hinted_addresses(inputs: SelectionInputs) -> Iterator[Pending]:
    """Yield addresses of this host that a hint names and that cannot be used yet."""
    for position, hint in enumerate(inputs.policy.hints):
        if hint not in inputs.around.by_address:
            continue
        family = family_of(cast("IPAddress", hint.meaning))
        if any(place.address.family is family and place.key[:2] <= (Path.HINT, position) for place in inputs.chosen):
            continue
        for item in inputs.judged:
            if item.rule in CURABLE - {Rule.TENTATIVE} and item.case.address.address == hint.meaning:
                reason = f"{hint} is on {item.case.link.name}, but {why_rejected(item.case, item.rule)}"
                yield Pending(family, item.case.link.name, reason)


def _better_path(inputs: SelectionInputs) -> Iterator[Pending]:
    """Yield links without an address while a hint or the VIPs ask for one that is not there."""
    policy = inputs.policy
    reached = inputs.chosen[0].path if inputs.chosen else Path.NONE
    if policy.hints and reached > Path.HINT:
        for hint in policy.hints:
            by_name = isinstance(hint.meaning, str)
            families = policy.family_order if isinstance(hint.meaning, str) else (family_of(hint.meaning),)
            for family, link in _bare_pairs(inputs, families):
                if not by_name or hint.meaning in link.names:
                    reason = f"{hint} matches nothing and {no_address_yet(link, family)}"
                    yield Pending(family, link.name, reason)
    elif policy.vips and reached > Path.VIP:
        for family, link in _bare_pairs(inputs, {family_of(vip) for vip in policy.vips}):
            reason = f"no link has the subnet of a VIP and {no_address_yet(link, family)}"
            yield Pending(family, link.name, reason)


def _bare_pairs(inputs: SelectionInputs, families: Collection[Family]) -> Iterator[tuple[Family, Link]]:
    """Yield each of the *families* that can be a node IP's, with each link that has no address of that family."""
    for family in inputs.policy.family_order:
        if family in families:
            for link in bare_links(inputs, family):
                yield family, link


def _families(inputs: SelectionInputs) -> Iterator[Pending]:
    """Yield what each configured family waits for."""
    for family in missing(inputs):
        yield Pending(family, "", f"{family}: {why_nothing(inputs, [family])}")


def reason(inputs: SelectionInputs) -> str | None:
    """Return what is missing, in words; None when nothing is."""
    if not inputs.chosen:
        if inputs.policy.hint_required and any(item.rule is None for item in inputs.judged):
            hints = ", ".join(map(str, inputs.policy.hints)) or "there is no usable one"
            return _hint_awaited(inputs) or f"hint_required is set and no usable address matches: {hints}"
        return why_nothing(inputs, inputs.policy.family_order)
    lacking = [f"{family}: {why_nothing(inputs, [family])}" for family in missing(inputs)]
    return "; ".join(lacking) or None


def _hint_awaited(inputs: SelectionInputs) -> str | None:
    return next((item.reason for item in sorted(_hinted_addresses(inputs), key=lambda item: item.reason)), None)


_LONGEST = {4: 32, 6: 128}


def own_vips(inputs: SelectionInputs) -> str | None:
    """Return the sentence that names VIPs that are this node's own addresses, None when none is.

    Once node IPs are published in this boot keepalived may run, so that a VIP on the node says nothing.
    """
    if not inputs.policy.vips or (inputs.sticky and inputs.sticky.this_boot):
        return None
    subnets = [item.case.address for item in inputs.judged if item.rule is not Rule.VIP]
    own = sorted(
        {
            (_setting(case, inputs), str(case.address.address), case.link.name)
            for case, rule in inputs.judged
            if rule is Rule.VIP and _may_be_own(case) and not _beside_another(case.address, subnets)
        }
    )
    if not own:
        return None
    settings = " and ".join(dict.fromkeys(setting for setting, _, _ in own))
    contain = "contains" if len({setting for setting, _, _ in own}) == 1 else "contain"
    addresses = dict.fromkeys(f"{address} ({link})" for _, address, link in own)
    noun = "address" if len(addresses) == 1 else "addresses"
    return f"{settings} {contain} this node's own {noun} {' and '.join(addresses)}"


def _setting(case: Case, inputs: SelectionInputs) -> str:
    return "api_vips" if case.address.address in inputs.policy.api_vips else "ingress_vips"


def _may_be_own(case: Case) -> bool:
    """Return whether an administrator, not keepalived, may have added the VIP.

    keepalived adds it as a host address, with the label `vip`, or as deprecated (keepalived.conf(5)).
    """
    address = case.address
    host = address.prefix_length == _LONGEST[address.address.version]
    deprecated = address.preferred_lifetime == 0 or AddressFlag.DEPRECATED in address.flags
    return not (host or deprecated or is_labelled_vip(case))


def _beside_another(vip: Address, others: list[Address]) -> bool:
    """Return whether the link has another address in the subnet of *vip*."""
    return any(
        other.link == vip.link and other.address.version == vip.address.version and vip.shares_prefix(other.address)
        for other in others
    )
