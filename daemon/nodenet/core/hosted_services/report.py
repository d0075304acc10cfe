"""What do hosted services do on this node? One document for the bus, the file and ``nodenetctl hosted``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from nodenet.core.hosted_services import migration
from nodenet.core.hosted_services.api_int import REPLACED
from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.model import Mode, Service, Spec
from nodenet.core.hosted_services.plan import Plan
from nodenet.core.hosted_services.vips import REMEDY, Sighting, Stance, holders, with_macs
from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

SCHEMA_VERSION = 1
WITHOUT_SOURCE = "VRRP needs the node IP, which is not on the link that keepalived uses: see `nodenetctl status`"


class HostedHealth(StrEnum):
    """Hosted services of this node in one word."""

    OK = "ok"
    DEGRADED = "degraded"
    PROGRESSING = "progressing"
    DISABLED = "disabled"


@frozen
class ServiceState:
    """How one service is: wanted, running, healthy (None: not checked), and what is wrong."""

    wanted: bool
    running: bool
    healthy: bool | None = None
    problem: str | None = None
    reason: str = ""


@frozen
class Report:
    """Everything that is reported of this node."""

    plan: Plan
    node: str
    platform: str = "none"
    services: Mapping[Service, ServiceState] = field(default_factory=dict)
    stances: Mapping[IPAddress, Stance] = field(default_factory=dict)
    sightings: Mapping[IPAddress, Sighting] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    """MAC → node."""
    reachable: bool | None = None
    """Whether the API answers through its VIP, verified by the cluster's CA; None: not asked yet."""
    problems: tuple[str, ...] = ()
    spec: Spec = field(default_factory=Spec)
    """What the resource asks for, and how far a migration of the API is."""
    muted: frozenset[IPAddress] = frozenset()
    """VIPs that this node does not advertise at present (``silent``)."""

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Every problem, each a sentence with its remedy."""
        found = [*self.plan.problems, *self.problems]
        found += [f"{service}: {state.problem}" for service, state in self.services.items() if state.problem]
        for address, sighting in self.sightings.items():
            if sighting.count > 1:
                names = with_macs(sighting, self.node, self.peers)
                found.append(f"The VIP {address} has {sighting.count} holders, {names}: {REMEDY}")
        if self.reachable is False:
            addresses = " and ".join(map(str, self.plan.api_int.addresses))
            external = f"The API does not answer at the external load balancer {addresses}: see to the load balancer"
            vip = "The API does not answer through its VIP: see `nodenetctl explain vip`"
            found.append(external if self.plan.mode is Mode.EXTERNAL else vip)
        return tuple(dict.fromkeys(found))

    @property
    def health(self) -> HostedHealth:
        """Disabled, degraded with a problem, progressing until every VIP was seen on the wire, else ok."""
        if self.plan.mode is Mode.DISABLED:
            return HostedHealth.DISABLED
        if self.all_problems:
            return HostedHealth.DEGRADED
        unseen = [duty for duty in self.plan.vips if duty.wanted and not self._count(duty.address)]
        return HostedHealth.PROGRESSING if unseen else HostedHealth.OK

    def _count(self, address: IPAddress) -> int:
        sighting = self.sightings.get(address)
        return sighting.count if sighting else 0

    @property
    def phase(self) -> str:
        """What this node is doing for the VIPs or in a migration, in one word."""
        if any(state.problem and state.problem.startswith("waits") for state in self.services.values()):
            return "WaitingForPeerStack"
        stances = set(self.stances.values())
        for stance, name in _PHASES.items():
            if stance in stances:
                return name
        if self.spec.migration and not self.spec.migration.at_rest:
            return self.spec.migration.phase.value
        return {Mode.SELF_HOSTED: "SelfHosted", Mode.EXTERNAL: "External", Mode.DISABLED: "Disabled"}[self.plan.mode]


_PHASES = {
    Stance.DRAINING: "Draining",
    Stance.STAYING_OUT: "StayingOut",
    Stance.PROBING: "Probing",
}


def document(report: Report) -> dict[str, Any]:
    """Return the document, as JSON-ready values."""
    plan = report.plan
    first = next(iter(plan.api_int.addresses), None)
    return {
        "schema_version": SCHEMA_VERSION,
        "node": report.node,
        "platform": report.platform,
        "role": plan.role.value if plan.role else None,
        "mode": plan.mode.value,
        "phase": report.phase,
        "api_int": {
            "address": str(first) if first else None,
            "addresses": [str(address) for address in plan.api_int.addresses],
            "source": plan.api_int.origin.value,
        },
        "api_reachable": report.reachable,
        "switched_off": list(report.spec.switched_off),
        "migration": _migration(report.spec),
        "vips": [_vip(report, duty) for duty in plan.vips],
        "services": [_service(service, state) for service, state in report.services.items()],
        "health": report.health.value,
        "problems": list(report.all_problems),
    }


def _migration(spec: Spec) -> dict[str, Any] | None:
    if spec.migration is None:
        return None
    return {**migration.render(spec.migration), "asked": [str(address) for address in spec.api_int_addresses]}


def _vip(report: Report, duty: VipDuty) -> dict[str, Any]:
    sighting = report.sightings.get(duty.address)
    stance = report.stances.get(duty.address)
    gone = duty.wanted and duty.address in report.muted
    candidate = duty.wanted and not gone
    return {
        "address": str(duty.address),
        "purpose": duty.purpose.value,
        "candidate": candidate,
        "reason": WITHOUT_SOURCE if gone else duty.reason,
        "stance": stance.value if stance and candidate else None,
        "here": sighting is not None and sighting.here,
        "holders": list(holders(sighting, report.node, report.peers)) if sighting else [],
    }


def _service(service: Service, state: ServiceState) -> dict[str, Any]:
    return {
        "name": service.value,
        "wanted": state.wanted,
        "running": state.running,
        "healthy": state.healthy,
        "problem": state.problem,
        "reason": state.reason,
    }


# What does ``nodenetctl hosted`` print? One screen, from the document.


def lines(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the lines. Raises KeyError for a document of another shape."""
    return tuple(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    role = document["role"] or "unknown role"
    yield f"{document['health']}: {document['mode']}, {document['phase']} ({document['node']}, {role})"
    api_int = document["api_int"]
    shown = ", ".join(api_int["addresses"]) or "no address"
    reachable = {True: ", the API answers there", False: ", the API does not answer there"}
    yield f"api-int   {shown} (from {_SOURCES.get(api_int['source'], api_int['source'])}){_of(reachable, document)}"
    for vip in document["vips"]:
        yield f"VIP       {vip['address']:<15} {vip['purpose']:<8} {_holders(vip)}"
    for service in document["services"]:
        yield f"service   {service['name']:<15} {_state(service)}"
    if text := _migration_line(document):
        yield f"migration {text}"
    for switch in document.get("switched_off", ()):  # an older nodenet-hosted has none
        yield f"switch    {switch} is Disabled"
    if unread := document.get("cluster"):
        yield f"cluster   {unread}"
    for problem in document["problems"]:
        yield f"problem   {problem}"


_SOURCES = {"cr": "the HostedNetServices object", "cache": "the cache", "file": "the file", "default": "the API VIP"}


def _migration_line(document: Mapping[str, Any]) -> str:
    """Return where the API moves, and why it did not; nothing while it is where the object asks for."""
    found = document.get("migration")
    if not found:
        return ""
    if found["phase"] not in ("SelfHosted", "External"):
        return f"{found['phase']}, {' and '.join(found['from'])} to {' and '.join(found['to'])}: {found['message']}"
    if found["failedGeneration"]:
        return str(found["message"])
    vips = [vip["address"] for vip in document["vips"] if vip["purpose"] == "api"]
    asked = found["asked"] or vips
    if set(asked) == set(found["to"] or vips):
        return ""
    return (
        f"the object asks for {' and '.join(asked)}, and nodenet-operator has not begun: "
        "see `kubectl -n kube-system logs deployment/nodenet-operator`"
    )


def _of(texts: Mapping[bool, str], document: Mapping[str, Any]) -> str:
    reachable = document.get("api_reachable")
    return texts[reachable] if isinstance(reachable, bool) else ""


def _holders(vip: Mapping[str, Any]) -> str:
    held = ", ".join(vip["holders"])
    text = f"held by {held}" if held else "not seen on the wire"
    if not vip["candidate"]:
        return f"not held here: {vip['reason']}"
    here = " (this node)" if vip["here"] else ""
    stance = f" [{vip['stance']}]" if vip["stance"] not in (None, "candidate") else ""
    return f"{text}{here}{stance}"


def _state(service: Mapping[str, Any]) -> str:
    if not service["wanted"]:
        return f"{'still runs' if service['running'] else 'off'}: {service['reason']}"
    healthy = {True: ", healthy", False: ", not healthy", None: ""}[service["healthy"]]
    state = f"{'runs' if service['running'] else 'does not run'}{healthy}"
    return f"{state}: {service['problem']}" if service["problem"] else state


# Who holds a VIP, what is ``api-int``, why does a hosted service run? Text for people, from the report's document.

TOPICS = ("api-int", "vip", "hosted")


def explain(topic: str, document: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the lines of one of ``TOPICS``, None for another topic."""
    lines = {"api-int": _api_int, "vip": _vips, "hosted": _services}.get(topic)
    return tuple(lines(document)) if lines else None


def _api_int(document: Mapping[str, Any]) -> Iterator[str]:
    api_int = document["api_int"]
    shown = " and ".join(api_int["addresses"])
    yield f"api-int is {shown}" if shown else "api-int has no address"
    replaced = [problem for problem in document["problems"] if REPLACED in problem]
    yield from replaced or [_source(api_int)]
    if document["mode"] == "external":
        balances = any(one["name"] == "haproxy" and one["running"] for one in document["services"])
        still = "still runs" if balances else "does not run"
        yield f"It is not a VIP of the cluster: an external load balancer serves the API, and haproxy {still}"
    reachable = document["api_reachable"]
    if reachable is not None:
        yield f"The API {'answers' if reachable else 'does not answer'} there, verified by the cluster's CA"


def _source(api_int: Mapping[str, Any]) -> str:
    found: str = {
        "cr": "The HostedNetServices object of the cluster names it",
        "cache": "The last HostedNetServices object that was read names it; the API did not answer in this boot",
        "file": "The file /etc/nodenet/hostednetservices.yaml names it",
    }.get(api_int["source"], "No HostedNetServices object names another address: it is the API VIP of the settings")
    return found


def _vips(document: Mapping[str, Any]) -> Iterator[str]:
    for vip in document["vips"]:
        held = " and ".join(vip["holders"])
        yield f"The {vip['purpose']} VIP {vip['address']} is {f'held by {held}' if held else 'not seen on the wire'}"
        may = "may" if vip["candidate"] else "may not"
        yield f"  This node {may} hold it: {vip['reason']}"
        if vip["stance"]:
            yield f"  {_STANCES[vip['stance']]}"
    if not document["vips"]:
        yield "The settings name no VIP"


_STANCES = {
    "probing": "The wire was not asked yet: VRRP waits",
    "candidate": "It takes part in VRRP",
    "staying-out": "A host that is no node holds it: this node takes part after that host, or after half an hour",
    "draining": "The node is drained: another node takes it over",
}


def _services(document: Mapping[str, Any]) -> Iterator[str]:
    for service in document["services"]:
        verb = "runs" if service["running"] else "does not run"
        yield f"{service['name']} {verb}: {service['problem'] or service['reason']}"
