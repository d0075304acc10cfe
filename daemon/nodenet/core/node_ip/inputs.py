"""What does a selection read, and which links may have the node IP?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.ranking import Ranked, Surroundings
from nodenet.core.node_ip.rules import Case, Rule, is_denied
from nodenet.core.value import frozen


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
