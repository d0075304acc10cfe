"""Which addresses may still come and change a selection, and what does a node without node IP wait for?

The caller waits; this module returns the reason, as STATUS= and ``nodenetctl status`` show it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import cast

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import AddressFlag, Link
from nodenet.core.node_ip.choice import choose
from nodenet.core.node_ip.inputs import SelectionInputs, bare_links
from nodenet.core.node_ip.missing import missing, why_nothing
from nodenet.core.node_ip.ranking import ROUTER_ADVERTISEMENT, Path, best_first, ranked
from nodenet.core.node_ip.reasons import no_address_yet, rejected, why_rejected
from nodenet.core.node_ip.rules import CURABLE, Rule


@dataclass(frozen=True, slots=True)
class Pending:
    """Something that may come soon and would change the selection: worth a bounded wait."""

    family: Family
    link: str
    reason: str
    begun: bool = False
    """Whether it is on its way, and decided within seconds (RFC 4862, section 5.4: duplicate address detection)."""
    asked: bool = False
    """Whether a hint or a VIP asks for it: it is worth a longer wait."""


def pending(inputs: SelectionInputs) -> tuple[Pending, ...]:
    """Return what may still come, each thing once, in a fixed order."""
    found = {
        *_tentative(inputs),
        *_ipv6_starting(inputs),
        *_not_back(inputs),
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
        chosen = choose(hoped, inputs.policy, inputs.sticky)
        for place, case in detecting:
            if place in chosen:
                reason = rejected(case, Rule.TENTATIVE)
                yield Pending(place.address.family, place.link.name, reason, begun=True)


def _ipv6_starting(inputs: SelectionInputs) -> Iterator[Pending]:
    """Yield the chosen link while IPv6 is starting there and has no address yet."""
    if not inputs.chosen or Family.IPV6 not in inputs.policy.family_order:
        return
    link = inputs.chosen[0].link
    known = inputs.sticky.addresses if inputs.sticky else ()
    for place in inputs.chosen:
        if place.address.family is Family.IPV6 and (place.link == link or place.address.address in known):
            return
    on_link = [item for item in inputs.snapshot.addresses if item.link == link.name and item.family is Family.IPV6]
    for address in on_link:
        if address.address.is_link_local and AddressFlag.TENTATIVE in address.flags:
            yield Pending(Family.IPV6, link.name, f"IPv6 on {link.name} is starting")
            return
    if any(not address.address.is_link_local for address in on_link):
        return
    for route in inputs.snapshot.routes:
        if route.protocol == ROUTER_ADVERTISEMENT and any(hop.link == link.name for hop in route.next_hops):
            reason = f"{link.name} has a router advertisement, no IPv6 address yet"
            yield Pending(Family.IPV6, link.name, reason, begun=True)
            return


def _not_back(inputs: SelectionInputs) -> Iterator[Pending]:
    """Yield the last node IPs while their link has no address of that family."""
    sticky = inputs.sticky
    if sticky is None or sticky.permanent_mac is None:
        return
    bare = {family: list(bare_links(inputs, family)) for family in inputs.policy.family_order}
    for address in sticky.addresses:
        family = family_of(address)
        its = [link for link in bare.get(family, ()) if link.hardware_mac == sticky.permanent_mac]
        if its and not inputs.has(address):
            # A bridge has its port's MAC, was made after it, and is where the address belongs.
            yield Pending(family, its[-1].name, f"{address}, the last node IP, is not back on {its[-1].name} yet")


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
                yield Pending(family, item.case.link.name, reason, asked=True)


def _better_path(inputs: SelectionInputs) -> Iterator[Pending]:
    """Yield links without an address while a hint or the VIPs ask for one that is not there."""
    policy = inputs.policy
    reached = inputs.chosen[0].path if inputs.chosen else Path.NONE
    if policy.hints and reached > Path.HINT:
        for hint in policy.hints:
            by_name = isinstance(hint.meaning, str)
            families = policy.family_order if isinstance(hint.meaning, str) else (family_of(hint.meaning),)
            for family, link in _bare_pairs(inputs, families):
                if not by_name or link.name == hint.meaning or hint.meaning in link.altnames:
                    reason = f"{hint} matches nothing and {no_address_yet(link, family)}"
                    yield Pending(family, link.name, reason, asked=True)
    elif policy.vips and reached > Path.VIP:
        for family, link in _bare_pairs(inputs, {family_of(vip) for vip in policy.vips}):
            reason = f"no link has the subnet of a VIP and {no_address_yet(link, family)}"
            yield Pending(family, link.name, reason, asked=True)


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
