"""Which status has the object HostedNetServices: who holds each VIP, the conditions, and every node?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from nodenet.core.hosted_cluster.node_report import Member
from nodenet.core.hosted_services import migration
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.migration import Migration, Outcome, is_own
from nodenet.core.hosted_services.model import Options, Purpose, Role, Spec
from nodenet.core.hosted_services.report import HostedHealth
from nodenet.core.hosted_services.resource import GROUP, KIND, NAME, VERSION
from nodenet.core.hosted_services.vips import REMEDY
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.value import frozen

# Are the hosted services of the cluster available, and what is wrong with them?
#
# The words of each message are for an administrator: the cause, then the remedy. What a condition is: Kubernetes API
# conventions, "Typical status properties".

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
AVAILABLE, PROGRESSING, DEGRADED, DISABLED = "Available", "Progressing", "Degraded", "Disabled"
VERIFY_FAILED = "VerifyFailed"
FAILURES = frozenset({Outcome.INVALID, Outcome.VERIFY_FAILED, Outcome.ROLLED_BACK})
HOLDER_SECONDS = 90.0
"""How long a VIP may be without a holder: a takeover is reported within a minute."""
MOST_NAMES = 5
Claims = Mapping[tuple[IPAddress, str], float]
"""VIP and node → since when the node reports that it holds the VIP."""


@frozen
class Condition:
    """One condition, without its time."""

    type: str
    status: str
    reason: str
    message: str


@frozen
class Seen:
    """Everything that the conditions follow from.

    *lonely*: VIPs without a holder, and since when; *claims*: which node reports which VIP, and since when; *now* is on
    the same clock. *problem*: why the object is not used. *migration*: where the API is, and where it moves.
    *generation* and *uid*: those of the object.  *unheard*: why
    nothing was read about the nodes for so long that what is known is old.
    """

    options: Options
    spec: Spec = field(default_factory=Spec)
    generation: int = 0
    members: tuple[Member, ...] = ()
    problem: str = ""
    lonely: Mapping[IPAddress, float] = field(default_factory=dict)
    claims: Claims = field(default_factory=dict)
    now: float = 0.0
    migration: Migration | None = None
    unheard: str = ""
    uid: str = ""

    @property
    def external(self) -> bool:
        """Whether an external load balancer has the API."""
        addresses = self.migration.addresses if self.migration else self.spec.api_int_addresses
        return self.options.user_managed_lb or not is_own(addresses, self.options.api_vips)

    def vips(self) -> Iterator[tuple[IPAddress, Purpose]]:
        """Yield each VIP that should have a holder, and its purpose."""
        if self.options.user_managed_lb or why_disabled(self.options):
            return
        yield from ((vip, Purpose.API) for vip in self.options.api_vips)
        if self.spec.ingress_ha:
            yield from ((vip, Purpose.INGRESS) for vip in self.options.ingress_vips)


RESTART = "kubectl -n kube-system rollout restart deployment/nodenet-operator"
CORRECT_SETTINGS = f"Correct the ConfigMap nodenet-operator, then run `{RESTART}`"
GIVE_ROLES = "Apply operator.yaml again, and see `kubectl -n kube-system logs deployment/nodenet-operator`"


def conditions(seen: Seen) -> tuple[Condition, ...]:
    """Return the conditions, each with its reason."""
    if why := why_disabled(seen.options):
        text = f"No hosted service runs in this cluster: {why}"
        states = {AVAILABLE: TRUE, PROGRESSING: FALSE, DEGRADED: FALSE, DISABLED: TRUE}
        found = {kind: Condition(kind, status, "Disabled", text) for kind, status in states.items()}
        if seen.migration and not seen.migration.at_rest:
            waits = f"The migration of the API waits in {seen.migration.phase}: {why}. {CORRECT_SETTINGS}"
            found[DEGRADED] = Condition(DEGRADED, TRUE, "MigrationWaits", waits)
        return tuple(found.values())
    return (
        _available(seen),
        _progressing(seen),
        _degraded(seen),
        Condition(DISABLED, FALSE, "Enabled", "Hosted services run in this cluster"),
        _verify_failed(seen.migration),
    )


def nodes_unheard(cause: str) -> Condition:
    """Return the condition where nothing was read about the nodes since nodenet-operator began."""
    return Condition(DEGRADED, TRUE, *_unheard(cause))


def _unheard(cause: str) -> tuple[str, str]:
    return "NodesUnheard", f"What is known about the nodes is old: {cause}. {GIVE_ROLES}"


def _verify_failed(migration: Migration | None) -> Condition:
    if migration and migration.outcome in FAILURES:
        text = f"{migration.message}. See `nodenetctl hosted migrate --dry-run` on a control-plane node"
        return Condition(VERIFY_FAILED, TRUE, migration.outcome.value, text)
    return Condition(VERIFY_FAILED, FALSE, "AsExpected", migration.message if migration else "The API does not move")


def claims(before: Claims, seen: Seen) -> Claims:
    """Return which node reports which VIP and since when, by those of *before*."""
    found = [(vip, one.node.name) for vip, purpose in seen.vips() for one in seen.members if one.holds(vip, purpose)]
    return {claim: before.get(claim, seen.now) for claim in found}


def lonely(before: Mapping[IPAddress, float], seen: Seen) -> dict[IPAddress, float]:
    """Return the VIPs without a holder and since when, by those of *before*."""
    alone = [vip for vip, purpose in seen.vips() if not any(one.holds(vip, purpose) for one in seen.members)]
    return {vip: before.get(vip, seen.now) for vip in alone}


def remembered(before: Mapping[str, object], seen: Seen) -> dict[IPAddress, float]:
    """Return what ``lonely`` begins with after a restart: a status that is Degraded stays so until a holder is seen."""
    listed = before.get("conditions")
    known = [one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, Mapping)]
    states = {(one.get("type"), one.get("status")) for one in known}
    since = seen.now - HOLDER_SECONDS
    return {vip: since for vip, _ in seen.vips()} if (DEGRADED, TRUE) in states else {}


def _available(seen: Seen) -> Condition:
    masters = [one for one in seen.members if one.node.role is Role.CONTROL_PLANE]
    asked = [one for one in masters if one.present is not None and one.present.api is not None]
    where = "external load balancer" if seen.external else "VIP"
    if any(one.present.api for one in asked if one.present):
        return Condition(AVAILABLE, TRUE, "ApiAnswers", f"The API answers at its {where}")
    if asked:
        text = f"The API does not answer at its {where} (reported by {_names(asked)}): see `nodenetctl hosted` there"
        return Condition(AVAILABLE, FALSE, "ApiDoesNotAnswer", text)
    text = "No control-plane node has reported whether the API answers. See `systemctl status nodenet-hosted` there"
    return Condition(AVAILABLE, UNKNOWN, "NoReport", text)


def _progressing(seen: Seen) -> Condition:
    if seen.migration and not seen.migration.at_rest:
        return Condition(PROGRESSING, TRUE, seen.migration.phase.value, seen.migration.message)
    alive = [one for one in seen.members if one.alive]
    silent = [one for one in alive if one.report is None]
    # Not only older ones: an object that comes back from a backup begins with generation 1 again.
    behind = [one for one in alive if one.present and not one.present.is_about(seen.uid, seen.generation)]
    starting = [one for one in alive if one.present and one.present.health is HostedHealth.PROGRESSING]
    for found, reason, text in (
        (silent, "WaitingForReports", "without a report"),
        (behind, "RollingOut", "that follow another generation of the object"),
        (starting, "Starting", "that have not seen all VIPs on the wire yet"),
    ):
        if found:
            return Condition(PROGRESSING, TRUE, reason, f"Nodes {text}: {_names(found)}")
    return Condition(PROGRESSING, FALSE, "AsExpected", "All nodes follow the object")


def _degraded(seen: Seen) -> Condition:
    found = list(_problems(seen))
    if found:
        return Condition(DEGRADED, TRUE, found[0][0], ". ".join(text for _, text in found))
    gone = [one for one in seen.members if not one.alive]
    silent = f". Silent nodes: {_names(gone)}" if gone else ""
    return Condition(DEGRADED, FALSE, "AsExpected", f"All nodes that report are well{silent}")


def _problems(seen: Seen) -> Iterator[tuple[str, str]]:
    """Yield the reason and the text of each problem, the worst first."""
    if seen.problem:
        yield "ResourceInvalid", f"The object is not used, and the nodes keep the last good one: {seen.problem}"
    if seen.unheard:
        yield _unheard(seen.unheard)
    yield from _vip_problems(seen)
    available = _available(seen)
    if available.status == FALSE:
        yield available.reason, available.message
    if wrong := [one for one in seen.members if one.problem and one.alive]:
        yield (
            "ReportInvalid",
            f"The reports of {_names(wrong)} cannot be read ({wrong[0].problem}): update nodenet there",
        )
    if bad := [one for one in seen.members if one.present and one.present.health is HostedHealth.DEGRADED]:
        texts = [f"{one.node.name}: {', '.join(one.present.problems)}" for one in bad if one.present]
        yield "NodesDegraded", f"Degraded nodes: {_some(texts, '; ')}"


def _vip_problems(seen: Seen) -> Iterator[tuple[str, str]]:
    for vip, purpose in seen.vips():
        if seen.external and purpose is Purpose.API:
            continue  # its clients are at the load balancer, and the VIP is only the way back
        if any(one.sees_two(vip, purpose) for one in seen.members):
            yield "TwoHolders", f"The {purpose} VIP {vip} has more than one holder: {REMEDY}"
        elif seen.now - seen.lonely.get(vip, seen.now) >= HOLDER_SECONDS:
            yield "NoHolder", f"No node holds the {purpose} VIP {vip}: see `nodenetctl explain vip` on its nodes"


def _names(found: Sequence[Member]) -> str:
    return _some([one.node.name for one in found], ", ")


def _some(texts: Sequence[str], between: str) -> str:
    more = f" and {len(texts) - MOST_NAMES} more" if len(texts) > MOST_NAMES else ""
    return between.join(texts[:MOST_NAMES]) + more


def with_times(found: Iterable[Condition], before: object, generation: int, now: str) -> list[dict[str, object]]:
    """Return the conditions as the API has them: one whose status is that of *before* keeps its time."""
    times = {
        (old.get("type"), old.get("status")): old.get("lastTransitionTime")
        for old in (before if isinstance(before, list) else ())
        if isinstance(old, Mapping)
    }
    return [
        {
            "type": one.type,
            "status": one.status,
            "reason": one.reason,
            "message": one.message,
            "lastTransitionTime": times.get((one.type, one.status)) or now,
            "observedGeneration": generation,
        }
        for one in found
    ]


# Which status follows from all reports?

API_OWNER, INGRESS_OWNER = "apiServerInternalIpOwner", "ingressIpOwner"
OWNERS = {API_OWNER: Purpose.API, INGRESS_OWNER: Purpose.INGRESS}


def status(seen: Seen, before: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Return the status; *before* is the one that the object has, and *now* a time as the API writes it (RFC 3339).

    Equal inputs and a status that is already right give the same status again, so that nothing is written.
    """
    return {
        **{field: _owner(seen, purpose, before.get(field)) for field, purpose in OWNERS.items()},
        "observedGeneration": seen.generation,
        "conditions": with_times(conditions(seen), before.get("conditions"), seen.generation, now),
        "migration": migration.render(seen.migration) if seen.migration else None,
        "nodes": [_node(one, seen) for one in seen.members],
    }


def unheard(cause: str, before: Mapping[str, Any], generation: int, now: str) -> dict[str, Any]:
    """Return the status of an operator that could read nothing about the nodes: that of *before* with the *cause*."""
    listed = before.get("conditions")
    (new,) = with_times([nodes_unheard(cause)], listed, generation, now)
    others = [one for one in (listed if isinstance(listed, list) else ()) if one.get("type") != new["type"]]
    return {**dict.fromkeys(OWNERS, ""), **before, "conditions": [*others, new]}


def silent(before: Mapping[str, Any]) -> frozenset[str]:
    """Return the nodes of a status that nothing is known about."""
    nodes = before.get("nodes")
    listed = [one for one in nodes if isinstance(one, Mapping)] if isinstance(nodes, list) else []
    return frozenset(str(one.get("name")) for one in listed if one.get("healthy") == UNKNOWN)


def _owner(seen: Seen, purpose: Purpose, before: object) -> str:
    """Return the node that holds the first VIP of *purpose*, empty without one.

    For a minute after a takeover, the holder of before may still report the VIP: the last one that began to is right.
    """
    for vip, wanted in seen.vips():
        if wanted is purpose:
            since = {
                one.node.name: seen.claims.get((vip, one.node.name), seen.now)
                for one in seen.members
                if one.holds(vip, purpose)
            }
            return max(since, key=lambda name: (since[name], name == before), default="")
    return ""


def _node(member: Member, seen: Seen) -> dict[str, Any]:
    report = member.present
    own: frozenset[IPAddress] = frozenset(vip for vip, purpose in seen.vips() if member.holds(vip, purpose))
    return {
        "name": member.node.name,
        "role": member.node.role.value,
        "addresses": [str(address) for address in member.node.addresses],
        "vips": sorted(map(str, own)),
        "services": [service.value for service in report.services] if report else [],
        "healthy": UNKNOWN if report is None else TRUE if report.healthy else FALSE,
        "stack": report.stack.value if report else "unknown",
    }


# What does a cluster of OpenShift show of hosted services among its operators?
#
# The conditions are those of the object HostedNetServices. The kind is ``clusteroperators.config.openshift.io``.

PATH = "/apis/config.openshift.io/v1/clusteroperators"
OPERATOR = "hosted-net-services"
NEW = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": OPERATOR}, "spec": {}}
FIELDS = ("type", "status", "reason", "message", "lastTransitionTime")


def operator_status(conditions: Sequence[Mapping[str, Any]], version: str) -> dict[str, Any]:
    """Return the status of the ClusterOperator; *conditions* as the object has them, *version* that of nodenet."""
    return {
        "conditions": [{field: one[field] for field in FIELDS} for one in conditions],
        "versions": [{"name": "operator", "version": version}],
        "relatedObjects": [
            {"group": GROUP, "resource": "hostednetservices", "name": NAME},
            {"group": "", "resource": "namespaces", "name": "kube-system"},
        ],
    }


# What does a new status report: in the log, and as Events of the object?
#
# ``kubectl describe hostednetservices cluster`` prints the Events: each VIP that moves, each phase of a migration, and
# each condition that changes.

EVENTS = "/api/v1/namespaces/default/events"
"""Events of an object without a namespace are in this one."""
REPORTER = "nodenet-operator"
MOST_MESSAGE = 1024
"""Characters of a message that the API takes (validation of Event)."""


@frozen
class News:
    """One change: a *reason* in CamelCase, a sentence, and whether it is a problem."""

    reason: str
    text: str
    message: Message | None = None
    failed: bool = False


def news(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[News, ...]:
    """Return what *wanted* reports that the status *before* did not."""
    return (*_moves(before, wanted), *_phase(before, wanted), *_conditions(before, wanted))


def begins_phase(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a status begins another phase of a migration; the first record of a cluster begins none."""
    old, new = before.get("migration") or {}, wanted.get("migration") or {}
    return bool(old) and any(old.get(key) != new.get(key) for key in ("phase", "attempt"))


def event(one: News, uid: str, now: str) -> dict[str, Any]:
    """Return the Event (core/v1) of the object with *uid*; *now* is a time as the API writes it (RFC 3339)."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{NAME}.", "namespace": "default"},
        "involvedObject": {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "name": NAME, "uid": uid},
        "type": "Warning" if one.failed else "Normal",
        "reason": one.reason,
        "message": one.text[:MOST_MESSAGE],
        "source": {"component": REPORTER},
        "reportingComponent": REPORTER,
        "reportingInstance": REPORTER,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _moves(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[News]:
    for owner, purpose in OWNERS.items():
        old, new = before.get(owner) or "", wanted[owner]
        if old == new:
            continue
        vip = f"the {'API' if purpose is Purpose.API else purpose} VIP"
        if not new:
            yield News("VipWithoutHolder", f"No node holds {vip}; {old} held it", failed=True)
        else:
            yield News("VipMoved", f"{new} holds {vip}" + (f"; {old} held it before" if old else ""))


def _phase(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[News]:
    if begins_phase(before, wanted):
        new = wanted["migration"]
        text = f"Migration {new['attempt']}: {new['phase']}. {new['message']}"
        failed = new["outcome"] in FAILURES
        yield News("Migration", text, Message.MIGRATION_FAILED if failed else Message.MIGRATION, failed)


def _conditions(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[News]:
    known = {one.get("type"): one.get("status") for one in before.get("conditions") or ()}
    for one in wanted["conditions"]:
        if known.get(one["type"]) != one["status"]:
            text = f"{one['type']} is {one['status']} ({one['reason']}): {one['message']}"
            yield News(f"{one['type']}{one['status']}", text, failed=(one["type"], one["status"]) in _BAD)


_BAD = frozenset({("Degraded", "True"), ("Available", "False"), ("VerifyFailed", "True")})
