"""What does a node report about its hosted services to the cluster, as an annotation of its own Node object?

kubelet's credentials may write that annotation and no other node's. A report comes from outside, so everything in it is
checked where it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from ipaddress import ip_address
from typing import Any

from nodenet.core.hosted_services.migration import MOST_ADDRESSES, Phase
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import ClusterNode, Mode, Purpose, Role, Service
from nodenet.core.hosted_services.nodes import is_of_a_host, of_objects, slim_node
from nodenet.core.hosted_services.report import HostedHealth, Report
from nodenet.core.hosted_services.resource import GROUP
from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

ANNOTATION = f"{GROUP}/report"
VERSION = 1
MOST_BYTES = 8192
MOST_VIPS, MOST_PROBLEMS = 8, 3
LONGEST_PROBLEM, LONGEST_UID = 200, 64


class ReportInvalid(ValueError):
    """The annotation is not a report; the text says why."""


class Stack(StrEnum):
    """Which stack serves DNS, VIPs and load balancer of a node."""

    NODENET = "nodenet"
    OTHER = "other"
    """Another one, which must go before nodenet's services start."""
    NONE = "none"


@frozen
class NodeReport:
    """What a node reports about itself.

    *vips*: those that its kernel has; *split*: those that it sees at more than one host. *api*: whether the API answers
    at ``api-int``, None where it was not asked. *generation*: that of the object it follows, 0 without one.
    *migration*: its part of a migration of the API, None while nothing moves. *api_int*: the addresses that ``api-int``
    has there, None in a report of an older nodenet. *uid*: that of the object, empty likewise.
    """

    mode: Mode
    health: HostedHealth
    stack: Stack
    vips: tuple[IPAddress, ...] = ()
    split: tuple[IPAddress, ...] = ()
    services: tuple[Service, ...] = ()
    api: bool | None = None
    generation: int = 0
    problems: tuple[str, ...] = ()
    migration: Progress | None = None
    api_int: tuple[IPAddress, ...] | None = None
    uid: str = ""

    @property
    def healthy(self) -> bool:
        """Whether all that should work on the node does."""
        return self.health in (HostedHealth.OK, HostedHealth.DISABLED)

    def is_about(self, uid: str, generation: int) -> bool:
        """Return whether it is about this generation of this object. An older nodenet names no object."""
        return self.generation == generation and self.uid in ("", uid)


def of(report: Report, generation: int, migration: Progress | None = None) -> NodeReport:
    """Return what of *report* the cluster needs."""
    waits = any(state.problem and state.problem.startswith("waits") for state in report.services.values())
    nothing = report.plan.mode is Mode.DISABLED
    seen = sorted(report.sightings.values(), key=lambda sighting: str(sighting.address))
    return NodeReport(
        report.plan.mode,
        report.health,
        Stack.NONE if nothing else Stack.OTHER if waits else Stack.NODENET,
        tuple(sighting.address for sighting in seen if sighting.here)[:MOST_VIPS],
        tuple(sighting.address for sighting in seen if sighting.count > 1)[:MOST_VIPS],
        tuple(service for service, state in report.services.items() if state.running),
        report.reachable,
        generation,
        tuple(_short(text) for text in report.all_problems[:MOST_PROBLEMS]),
        migration and replace(migration, problem=_short(migration.problem)),
        report.plan.api_int.addresses[:MOST_ADDRESSES],
    )


def render(report: NodeReport) -> str:
    """Return the annotation's text; equal reports have equal texts."""
    return json.dumps(
        {
            "version": VERSION,
            "mode": report.mode.value,
            "health": report.health.value,
            "stack": report.stack.value,
            "vips": [str(vip) for vip in report.vips],
            "split": [str(vip) for vip in report.split],
            "services": [service.value for service in report.services],
            "api": report.api,
            "generation": report.generation,
            "problems": list(report.problems),
            **({"migration": _rendered(report.migration)} if report.migration else {}),
            **({} if report.api_int is None else {"api_int": [str(one) for one in report.api_int]}),
            **({"uid": report.uid} if report.uid else {}),
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def _rendered(migration: Progress) -> dict[str, object]:
    return {
        "attempt": migration.attempt,
        "phase": migration.phase.value,
        "ready": migration.ready,
        "lost": migration.lost,
        "problem": migration.problem,
    }


def parse(text: object) -> NodeReport:
    """Return the report in an annotation. Raises ReportInvalid, whatever *text* is."""
    if not isinstance(text, str) or len(text.encode(errors="replace")) > MOST_BYTES:
        raise ReportInvalid(f"it is not a text of at most {MOST_BYTES} bytes")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ReportInvalid("it is not JSON") from None
    if not isinstance(found, Mapping) or found.get("version") != VERSION:
        raise ReportInvalid(f"it is not of version {VERSION}")
    try:
        return _report(found)
    except (KeyError, TypeError, ValueError) as error:
        raise ReportInvalid(f"a part of it is missing or wrong: {ascii(str(error))[:80]}") from None


def _report(found: Mapping[str, object]) -> NodeReport:
    """Return the report. Raises KeyError, TypeError, ValueError."""
    api = found["api"]
    if api is not None and not isinstance(api, bool):
        raise TypeError("api")
    return NodeReport(
        Mode(str(found["mode"])),
        HostedHealth(str(found["health"])),
        Stack(str(found["stack"])),
        tuple(map(ip_address, _texts(found, "vips", MOST_VIPS))),
        tuple(map(ip_address, _texts(found, "split", MOST_VIPS))),
        tuple(dict.fromkeys(map(Service, _texts(found, "services", len(Service))))),
        api,
        _number(found, "generation"),
        tuple(_short(text) for text in _texts(found, "problems", MOST_PROBLEMS)),
        _migration(found.get("migration")),
        None if found.get("api_int") is None else tuple(_hosts(found, "api_int", MOST_ADDRESSES)),
        _uid(found.get("uid", "")),
    )


def _migration(found: object) -> Progress | None:
    if found is None:
        return None
    if not isinstance(found, Mapping) or not all(isinstance(found[key], bool) for key in ("ready", "lost")):
        raise TypeError("migration")
    return Progress(
        _number(found, "attempt"),
        Phase(str(found["phase"])),
        found["ready"],
        _short(str(found["problem"])),
        found["lost"],
    )


def _number(found: Mapping[str, object], key: str) -> int:
    number = found[key]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 63:
        raise TypeError(key)
    return number


def _uid(found: object) -> str:
    if not isinstance(found, str) or len(found) > LONGEST_UID:
        raise TypeError("uid")
    return found


def _hosts(found: Mapping[str, object], key: str, most: int) -> Iterator[IPAddress]:
    for address in map(ip_address, _texts(found, key, most)):
        if not is_of_a_host(address):
            raise ValueError(key)
        yield address


def _texts(found: Mapping[str, object], key: str, most: int) -> list[str]:
    items = found[key]
    if not isinstance(items, list) or len(items) > most or not all(isinstance(item, str) for item in items):
        raise TypeError(key)
    return items


def _short(text: str) -> str:
    """Return one printable line of at most ``LONGEST_PROBLEM`` characters."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line if len(line) <= LONGEST_PROBLEM else f"{line[: LONGEST_PROBLEM - 3]}..."


# Which nodes does the cluster have, and what does each report about itself?


@frozen
class Member:
    """A node, and its *report*: None without one, and with a *problem* where it cannot be read.

    *alive*: whether its Lease holds. The report of a node that is not alive says nothing about the present.
    """

    node: ClusterNode
    report: NodeReport | None = None
    alive: bool = True
    problem: str = ""

    @property
    def present(self) -> NodeReport | None:
        """Its report, None where it says nothing about the present."""
        return self.report if self.alive else None

    def may_hold(self, purpose: Purpose) -> bool:
        """Whether a node of its role may hold the VIPs of *purpose*; what others say of them is not believed."""
        return purpose is Purpose.INGRESS or self.node.role is Role.CONTROL_PLANE

    def holds(self, vip: IPAddress, purpose: Purpose) -> bool:
        """Whether it reports that it holds a VIP."""
        return self.present is not None and self.may_hold(purpose) and vip in self.present.vips

    def sees_two(self, vip: IPAddress, purpose: Purpose) -> bool:
        """Whether it reports that two hosts hold a VIP."""
        return self.present is not None and self.may_hold(purpose) and vip in self.present.split


def slim_reporting_node(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the used parts of a Node, its report included; heartbeats change nothing in them."""
    kept = dict(slim_node(item))
    metadata = item.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    text = annotations.get(ANNOTATION) if isinstance(annotations, Mapping) else None
    # One character more than a report may have: it is refused where it is read, and the memory stays bounded.
    report = {ANNOTATION: text[: MOST_BYTES + 1]} if isinstance(text, str) else {}
    return {**kept, "metadata": {**kept["metadata"], "annotations": report}}


def members(items: Iterable[Mapping[str, Any]], alive: Callable[[str], bool]) -> tuple[Member, ...]:
    """Return the members of a list of slim Nodes, by name. Raises ValueError for too many."""
    listed = list(items)
    texts = {item["metadata"]["name"]: item["metadata"]["annotations"].get(ANNOTATION) for item in listed}
    return tuple(_member(node, texts[node.name], alive(node.name)) for node in of_objects(listed).nodes)


def _member(node: ClusterNode, text: str | None, alive: bool) -> Member:  # noqa: FBT001
    if text is None:
        return Member(node, alive=alive)
    try:
        return Member(node, parse(text), alive)
    except ReportInvalid as error:
        return Member(node, alive=alive, problem=str(error))
