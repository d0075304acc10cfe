"""Which phase of a migration comes next, by what the nodes report?

Before DNS is switched, a failure changes nothing. After it, both load balancers serve until the drain ends, so the way
back is always open. A phase that does not end in time ends in one of the two states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nodenet.core.hosted_cluster.node_report import Member
from nodenet.core.hosted_services.api_int import Addresses, refusal
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase, is_own
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Mode, Options, Role, Spec
from nodenet.core.value import frozen

WAIT_SECONDS = 120.0
"""How long a phase waits for the nodes: longer than the Lease of one that has just died."""
RETRY_SECONDS = 300.0
"""After a verification that has failed. After a rollback, the object must be edited."""
MOST_NAMES = 3
_ORDER = (
    Phase.VERIFY,
    Phase.START_HAPROXY,
    Phase.VERIFY_VIP,
    Phase.SWITCH_DNS,
    Phase.REDIRECT_OFF,
    Phase.DRAIN_HAPROXY,
    Phase.DRAIN_EXTERNAL,
)
_CHECKS = frozenset({Phase.VERIFY})
"""Phases that a problem of one node ends at once."""
_DRAINS = frozenset({Phase.DRAIN_HAPROXY, Phase.DRAIN_EXTERNAL})


@frozen
class View:
    """What is known now.

    *spec*: None while no object could ever be used; *generation* and *uid* are those of the object. *is_due*: whether
    the record's deadline is over; *is_late*: for another ``WAIT_SECONDS``.
    """

    options: Options
    spec: Spec | None
    generation: int
    members: tuple[Member, ...]
    is_due: bool = False
    is_late: bool = False
    uid: str = ""

    @property
    def vips(self) -> Addresses:
        """The VIPs that the cluster itself serves."""
        return () if self.options.user_managed_lb else self.options.api_vips

    @property
    def voters(self) -> list[Member]:
        """The control-plane nodes that are alive."""
        return [one for one in self.members if one.alive and one.node.role is Role.CONTROL_PLANE]

    def asked(self, now: Addresses) -> Addresses:
        """Return the addresses that the object asks for; those of *now* where that is not known."""
        if self.spec is None:
            return now
        return self.spec.api_int_addresses or self.options.api_vips

    def refusal(self, addresses: Addresses) -> str | None:
        """Return why *addresses* cannot be those of a load balancer."""
        if set(addresses) == set(self.options.api_vips):
            return None
        return refusal(addresses, self.options.api_vips, tuple(one.node for one in self.members))


def rest_at(view: View, addresses: Addresses) -> Migration:
    """Return the record of a cluster whose API is at rest at *addresses*."""
    own = is_own(addresses, view.vips)
    shown = " and ".join(map(str, addresses))
    text = f"The API is at {'its VIP' if own else 'the external load balancer'} {shown}"
    return Migration(Phase.SELF_HOSTED if own else Phase.EXTERNAL, addresses, addresses, message=text, vips=view.vips)


def step(before: Migration, view: View) -> Migration:
    """Return the record that follows; a new one has no deadline yet (``seconds``)."""
    before = replace(before.at(view.options.api_vips), vips=view.vips)
    asked = view.asked(before.target)
    if before.at_rest:
        return _from_rest(before, view, asked)
    if set(asked) != set(before.target):
        why = view.refusal(asked)
        if why is None:
            return _begun(before, view, asked)
        if not before.switched:
            return _back(before, view, Outcome.INVALID, why)
    return _onwards(before, view)


def seconds(migration: Migration, options: Options) -> float | None:
    """Return how long the phase of a new record lasts at most; None for one without an end."""
    if migration.at_rest:
        return RETRY_SECONDS if migration.outcome is Outcome.VERIFY_FAILED else None
    if migration.phase is Phase.START_HAPROXY:  # one that was stopped just before ends with its last connections first
        return WAIT_SECONDS + options.drain_seconds
    return float(options.drain_seconds) if migration.phase in _DRAINS else WAIT_SECONDS


def _from_rest(before: Migration, view: View, asked: Addresses) -> Migration:
    now = before.addresses or view.options.api_vips
    if set(asked) == set(now):
        rest = rest_at(view, now)
        right = not before.failed and set(before.target) == set(now) and before.message.endswith(rest.message)
        return before if right else replace(rest, attempt=before.attempt)
    again = view.is_due and before.outcome is Outcome.VERIFY_FAILED
    if before.failed == view.generation and not again:
        return before
    if why := view.refusal(asked):
        return _back(replace(before, origin=now), view, Outcome.INVALID, why)
    return _begun(before, view, asked)


def _begun(before: Migration, view: View, asked: Addresses) -> Migration:
    """Return the first phase of a migration to *asked*; at rest where ``api-int`` is that already."""
    now = before.addresses or view.options.api_vips
    if set(asked) == set(now):
        return _back(replace(before, failed=0), view, Outcome.ABORTED, "the object was edited again")
    made = Migration(Phase.VERIFY, now, asked, before.attempt + 1, vips=view.vips)
    return _phase(made, view, _phases(now, asked, view)[0])


def _phases(origin: Addresses, target: Addresses, view: View) -> list[Phase]:
    leaves, comes = is_own(origin, view.vips), is_own(target, view.vips)
    wanted = {
        Phase.VERIFY: not comes,
        Phase.START_HAPROXY: comes,
        Phase.VERIFY_VIP: comes,
        Phase.SWITCH_DNS: True,
        Phase.REDIRECT_OFF: leaves,
        Phase.DRAIN_HAPROXY: leaves,
        Phase.DRAIN_EXTERNAL: not leaves,
    }
    return [phase for phase in _ORDER if wanted[phase]]


def _onwards(before: Migration, view: View) -> Migration:
    parts = dict(_parts(before, view.members))
    if lost := [f"{name}: {part.problem}" for name, part in _of(view.voters, parts) if part.lost]:
        return _back(before, view, Outcome.ROLLED_BACK, _some(lost))
    is_over = view.is_due
    if before.phase in _DRAINS:
        if not view.is_due:
            return before
        is_over = view.is_late
    failed = [f"{name}: {part.problem}" for name, part in _of(view.voters, parts) if part.problem and not part.ready]
    if failed and before.phase in _CHECKS:
        return _back(before, view, Outcome.VERIFY_FAILED, _some(failed))
    waits = [one for one in _awaited(before, view) if not (part := parts.get(one.node.name)) or not part.ready]
    open_ = [one.node.name for one in waits if not is_over or one.node.role is Role.CONTROL_PLANE]
    if view.voters and not open_:
        return _next(before, view)
    if is_over:
        late = failed or [f"{name}: it has reported nothing about this" for name in open_]
        outcome = Outcome.ROLLED_BACK if before.switched else Outcome.VERIFY_FAILED
        return _back(before, view, outcome, _some(late or ["no control-plane node is alive"]))
    return replace(before, message=f"{_TEXTS[before.phase]}. Waiting for {_some(open_, ', ')}" if open_ else _NO_VOTERS)


def _awaited(before: Migration, view: View) -> Sequence[Member]:
    """Return the nodes whose part is waited for: DNS is every node's, all else the control plane's."""
    return [one for one in view.members if one.alive] if before.phase is Phase.SWITCH_DNS else view.voters


def _parts(before: Migration, members: Sequence[Member]) -> Iterator[tuple[str, Progress]]:
    for one in members:
        part = one.present.migration if one.present else None
        if part and (part.attempt, part.phase) == (before.attempt, before.phase):
            yield one.node.name, part


def _of(members: Sequence[Member], parts: dict[str, Progress]) -> Iterator[tuple[str, Progress]]:
    yield from ((one.node.name, parts[one.node.name]) for one in members if one.node.name in parts)


def _next(before: Migration, view: View) -> Migration:
    # Not by the place of the present phase among these: other settings may have other phases.
    done = _ORDER.index(before.phase)
    left = [phase for phase in _phases(before.origin, before.target, view) if _ORDER.index(phase) > done]
    if left:
        return _phase(before, view, left[0])
    ended = replace(rest_at(view, before.target), origin=before.origin, attempt=before.attempt)
    return replace(ended, outcome=Outcome.COMPLETED)


def _phase(before: Migration, view: View, phase: Phase) -> Migration:
    text = _TEXTS[phase]
    if off := [one.node.name for one in view.members if not one.alive]:
        text += f". Nodes that are off follow when they are back: {_some(off, ', ')}"
    return replace(before, phase=phase, deadline="", message=text)


def _back(before: Migration, view: View, outcome: Outcome, why: str) -> Migration:
    """Return the record at rest where the migration began, with the reason."""
    stays = rest_at(view, before.origin or view.options.api_vips)
    failed = 0 if outcome is Outcome.ABORTED else view.generation
    message = f"{_ENDS[outcome]}: {why}. {stays.message}"
    return replace(stays, attempt=before.attempt, failed=failed, outcome=outcome, message=message)


def _some(texts: Sequence[str], between: str = "; ") -> str:
    more = f" and {len(texts) - MOST_NAMES} more" if len(texts) > MOST_NAMES else ""
    return between.join(texts[:MOST_NAMES]) + more


_NO_VOTERS = "No control-plane node is alive"
_ENDS = {
    Outcome.ABORTED: "The migration was aborted",
    Outcome.INVALID: "The address is not used",
    Outcome.VERIFY_FAILED: "The verification failed, and nothing was changed",
    Outcome.ROLLED_BACK: "The migration was rolled back",
}
_TEXTS = {
    Phase.VERIFY: "The control-plane nodes check the external load balancer",
    Phase.START_HAPROXY: "haproxy starts on the control-plane nodes",
    Phase.VERIFY_VIP: "The control-plane nodes check the VIP",
    Phase.SWITCH_DNS: "The nodes answer the new address for api-int",
    Phase.REDIRECT_OFF: "No new connection is sent to haproxy",
    Phase.DRAIN_HAPROXY: "haproxy serves the connections that it has",
    Phase.DRAIN_EXTERNAL: "The external load balancer of before serves the connections that it has",
}


# Where is the API of a cluster whose object has no record of that?
#
# Such an object is that of a new cluster, or one that was deleted and made again while no operator ran. Its address may
# be another one than that of before, and no node has verified it: the record begins where the nodes are.


def first_record(view: View) -> Migration | None:
    """Return the record at rest at the address of the control-plane nodes, None while that is not known.

    Where nodes differ, the VIPs come first and the address that the object asks for comes last: that one is reached by
    a verified migration. An external address needs the reports of more than half of the nodes.
    """
    if view.spec is None:
        return None
    places = [place for one in view.voters if (place := _place(one, view))]
    if (vips := view.options.api_vips) in places:
        return rest_at(view, vips)
    if 2 * len(places) <= len(view.voters):
        return None
    asked = _in_order(view.asked(vips), view)
    others = [place for place in places if place != asked] or places
    return rest_at(view, max(others, key=lambda place: (others.count(place), str(place))))


def _place(member: Member, view: View) -> Addresses | None:
    """Return the addresses that ``api-int`` has on a node, None where they are not known.

    A node whose report is about another object, or another generation, may have moved since.
    """
    report = member.present
    if report is None or not report.is_about(view.uid, view.generation):
        return None
    if report.mode is Mode.SELF_HOSTED:  # at the VIPs of its own settings
        return view.options.api_vips
    if report.mode is Mode.DISABLED or not report.api_int:
        return None
    return None if view.refusal(report.api_int) else _in_order(report.api_int, view)


def _in_order(addresses: Addresses, view: View) -> Addresses:
    """Return *addresses* in one order, whatever the order of a report; the VIPs in that of the settings."""
    vips = view.options.api_vips
    return vips if set(addresses) == set(vips) else tuple(sorted(addresses, key=str))
