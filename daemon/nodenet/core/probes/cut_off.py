"""Does a node file cost the node its way out?

What the file names is what is demanded: where it names default routes, or asks for leases that bring one, one of *its*
gateways must answer; where it asks for a lease, NetworkManager must hold one. A file that names neither must leave the
node a gateway, or say that none is meant. Compared is only what answered before the apply: without that there is
nothing to go back to.

By default the family of the file counts that it has addresses of, IPv4 before IPv6, so no verdict depends on whether a
router advertisement came before a look. Where the settings name families, each of them counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nodenet.core.ip import Family
from nodenet.core.node_file.links import Demands, Hop, Lease
from nodenet.core.probes.questions import Answer, Kind, Look
from nodenet.core.value import frozen

EARLIER = "one answered when the node last worked"
"""Before an apply of this file that was interrupted, or with the last known good file."""


@frozen
class Loss:
    """Why the node is cut off. *lease*: one may still come. *unsaid*: the file might mean it, and does not say so."""

    text: str
    lease: bool = False
    unsaid: Family | None = None


def losses(before: Look, after: Look) -> Iterator[Loss]:
    """Yield what a file costs the node."""
    if before.proven:
        yield from _proven(before, after)
        return
    for families in _counted(before):
        yield from _of(families, before, after)


def _proven(before: Look, after: Look) -> Iterator[Loss]:
    """Yield the silence of a gateway that answered before; another way out of the moment says nothing about the file.

    The node has worked with it.
    """
    if after.gateway is None:
        for question, answer in after.answers.items():
            same = (old for each, old in before.answers.items() if each.subject == question.subject)
            if question.kind is Kind.GATEWAY and answer is not Answer.YES and Answer.YES in same:
                yield Loss(f"the gateway {question.name} does not answer on {question.link}, and it answered {_THEN}")


_THEN = "before the apply"


def _counted(before: Look) -> Iterator[frozenset[Family]]:
    """Yield families of which each needs a way out; a file that gives no addresses must leave one of any family."""
    if before.required:
        yield from (frozenset({family}) for family in Family if family in before.required)
        return
    named = [family for family in Family if family in before.asked.addressed]
    yield frozenset(named[:1] or Family)


def _of(families: frozenset[Family], before: Look, after: Look) -> Iterator[Loss]:
    answered = before.answering(families)
    if answered:
        old = min(hop.gateway for hop in answered)
    elif before.owes_gateway:
        old = ""
    else:
        return
    hops = {hop for hop in before.asked.hops if hop.family in families}
    leases = {each for each in before.asked.leases if each.family in families}
    lost = [each for each in leases if _is_lost(each, before, after)]
    yield from (Loss(_without_lease(each, old), lease=True) for each in sorted(lost, key=lambda each: each.link))
    leading = {each for each in leases if each.table}
    if lost or _leads(families, hops, leading, before.asked, after):
        return
    late = any(not _holds(each, after) for each in leading)
    its = {hop for hop in after.hops if hop.family in families}
    silent = sorted((hop.gateway, hop.link) for hop in its - after.answering(families))
    if silent:
        gateway, link = silent[0]
        yield Loss(f"the gateway {gateway} does not answer on {link}, and {_before(gateway, old)}", late)
    elif late:
        yield from (Loss(_without_lease(each, old), lease=True) for each in leading if not _holds(each, after))
    else:
        family = next(iter(families)) if len(families) == 1 else None
        what = f"no {family} default route" if family else "no default route"
        unsaid = None if hops or leading else family or Family.IPV4
        yield Loss(f"the node has {what} any more, and {_before('', old)}", unsaid=unsaid)


def _leads(
    families: frozenset[Family], hops: Collection[Hop], leading: Collection[Lease], asked: Demands, after: Look
) -> bool:
    """Return whether the node has the way out that the file asks for, or needs none."""
    answering = after.answering(families)
    if hops or leading:
        named = {(hop.link, hop.gateway) for hop in hops}
        leased = {(each.link, each.family) for each in leading if _holds(each, after)}
        bare = any(not hop.gateway and hop.family in after.defaults for hop in hops)
        return bare or any((hop.link, hop.gateway) in named or (hop.link, hop.family) in leased for hop in answering)
    routed = {hop.family for hop in after.hops}
    return asked.isolated or bool(answering) or bool((after.defaults - routed) & families)


def _is_lost(lease: Lease, before: Look, after: Look) -> bool:
    """Return whether the link of *lease* had an address before, and NetworkManager holds no lease now.

    A second NIC whose network has no server had none.
    """
    return (lease.link, lease.family) in before.addressed and not _holds(lease, after)


def _holds(lease: Lease, look: Look) -> bool:
    return (lease.link, lease.family) in look.leased


def _without_lease(lease: Lease, old: str) -> str:
    return f"{lease.link} got no {lease.family} address, which the node file asks for, and {_before('', old)}"


def _before(gateway: str, old: str) -> str:
    """Return what answered before, in words, of a sentence about *gateway*."""
    if not old:
        return EARLIER
    return f"it answered {_THEN}" if gateway == old else f"the gateway {old} answered {_THEN}"
