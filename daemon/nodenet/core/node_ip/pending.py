"""Which addresses may still come and change a selection, and what does a node without node IP wait for?

The caller waits; this module returns the reason, as STATUS= and ``nodenetctl status`` show it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import cast

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import AddressFlag, Link
from nodenet.core.node_ip.choice import choose
from nodenet.core.node_ip.inputs import SelectionInputs, bare_links
from nodenet.core.node_ip.missing import missing, why_nothing
from nodenet.core.node_ip.ranking import Path, best_first, ranked
from nodenet.core.node_ip.reasons import no_address_yet, rejected, why_rejected
from nodenet.core.node_ip.rules import CURABLE, Rule
from nodenet.core.value import frozen


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
