"""Which families have no node IP, and why?

The reasons are the texts that STATUS= and ``nodenetctl status`` show. The reason that may change first is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from nodenet.core.ip import Family
from nodenet.core.node_ip.inputs import Judged, SelectionInputs, bare_links, own_links
from nodenet.core.node_ip.ranking import ranked
from nodenet.core.node_ip.reasons import link_state, no_address_yet, rejected, why_no_path
from nodenet.core.node_ip.rules import Rule

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
    """Return what identifies an address."""
    address = item.case.address
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
