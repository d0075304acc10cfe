"""Which ways out of the node must a node file not cost it, one by one?

That any gateway answers after the apply is not enough: on a LAN with router advertisements IPv6 has a gateway whatever
the file does to IPv4, and a second NIC may have another network. So each family has a way out again, and a link that
led to a gateway gets an address where it had one and the file asks a server for one, or a gateway answers on a link in
its place. A way out that the file itself ends counts for nothing (``core.node_file.ways_out``), nor does a family that
the settings leave out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from nodenet.core.ip import Family
from nodenet.core.node_file.ways_out import WaysOut
from nodenet.core.probes.questions import Answer, KeptWays, Kind, Look, Question, WantedLease


def with_kept_ways(before: Look, ways: WaysOut, families: Collection[Family]) -> Look:
    """Return *before* with the ways out that a file with *ways* keeps, in *families* of the settings."""
    if before.way_out is None:
        return before
    found = [
        (each, each.family)
        for each, answer in before.answers.items()
        if each.kind is Kind.GATEWAY
        and answer is Answer.YES
        and each.family
        and each.family in families
        and each.family in before.defaults  # the next hop of an IPv4 route may have an IPv6 address (RFC 5549)
    ]
    kept = {family: each.name for each, family in found if ways.keeps(each.link, family)}
    leases = [
        WantedLease(links, family, each.name, ways.places.get((each.link, family), frozenset()))
        for each, family in found
        if (links := ways.leased.get((each.link, family), ())) and (each.link, family) in before.addressed
    ]
    return replace(before, kept=KeptWays(kept, tuple(dict.fromkeys(leases))))


def lost_ways(before: Look, after: Look, reported: Collection[Question]) -> Iterator[str]:
    """Yield the ways out that the node has no more; those behind a gateway of *reported* are known already."""
    for family, gateway in before.kept.families.items():
        asked = [each for each in after.answers if each.kind is Kind.GATEWAY and each.family is family]
        if any(after.answers[each] is Answer.YES for each in asked) or set(asked) & set(reported):
            continue
        if asked:
            yield f"no {family} gateway answers any more, and {gateway} answered before the apply"
        elif family not in after.defaults:
            yield f"the node has no {family} default route any more, and {gateway} answered before the apply"
    for lease in before.kept.leases:
        if not _is_met(lease, after):
            yield (
                f"{' or '.join(lease.links)} got no {lease.family} address, which the node file asks for, "
                f"and the gateway {lease.gateway} answered before the apply"
            )


def _is_met(lease: WantedLease, after: Look) -> bool:
    """Return whether one of the links has the address, or another address leads to a gateway that answers.

    An IPv6 router answers a node that has the address of the link alone.
    """
    if any((link, lease.family) in after.addressed for link in lease.links):
        return True
    gateways = (each for each, answer in after.answers.items() if each.kind is Kind.GATEWAY and answer is Answer.YES)
    there = (each.link for each in gateways if each.family is lease.family and each.link in lease.places)
    return any((link, lease.family) in after.addressed for link in there)
