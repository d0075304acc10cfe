"""What is known of one node from its saved documents? What an older version did not write is missing, and that is said.

No value is trusted: texts are cut, numbers are bounded, and what is not of the right type counts as missing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import Any

from nodenet.core.errors import SnapshotInvalid
from nodenet.core.kernel.iproute import parse
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Selection, select
from nodenet.core.value import frozen

CONTROL_PLANE = ("*master*", "*control*", "cp[0-9]*", "*-cp[0-9]*", "*-cp-*", "cp-*")
"""Host names of control-plane nodes, as installers make them."""
NONE = "-"
LONGEST = 200
MOST_NODE_IPS = 8
MOST_SECONDS = 1e9
_BEGAN = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC ")
_MTU = re.compile(r"^\d+: ([^:@\s]{1,15})(?:@[^:\s]+)?: .*?\bmtu (\d{1,7})\b", re.MULTILINE)
NOT_THE_HOSTS = frozenset(
    {Rule.UNSPECIFIED, Rule.LOOPBACK, Rule.MULTICAST, Rule.IPV4_MAPPED, Rule.LINK_LOCAL, Rule.DENIED_LINK}
    | {Rule.OVN_INTERNAL, Rule.EGRESS_IP, Rule.TEMPORARY}
)
"""What rejects an address that several hosts may have, or that no other host uses."""
_AWAY = "nodenetd is not running"
REPORT = re.compile(r"nodenet-report-(.+)-\d{8}T\d{6}Z(?: \(\d+\))?")


@frozen
class Host:
    """A node as it was when its documents were saved; an empty text or None is not known.

    *boot_seconds* is how long the stages took, *snapshot* what the kernel had. *missing* says what is not known,
    *macs* are those of its NICs, *key* is the host name by which nodes are distinguished.
    """

    name: str
    place: str
    role: str
    health: str = ""
    cause: str = ""
    ready: bool = False
    made: str = ""
    since: str = ""
    node_ips: tuple[str, ...] = ()
    link: str = ""
    uplink: str = ""
    mtu: int | None = None
    node_file: str = ""
    digest: str = ""
    applied: str = ""
    version: str = ""
    boot: str = ""
    boot_seconds: float | None = None
    macs: frozenset[str] = frozenset()
    addresses: tuple[str, ...] = ()
    """Addresses at which other hosts reach it: no VIP, and none of a link of pods or engines."""
    snapshot: Snapshot | None = field(default=None, compare=False)
    state: Mapping[str, Any] = field(default_factory=dict, compare=False)
    missing: tuple[str, ...] = ()


Later = Callable[[str, float], str]
"""Returns the time that is some seconds after a time such as ``2026-11-28 07:06:00``; empty if that is no time."""


@frozen
class Options:
    """How documents are read: globs for the names of control-plane nodes, and how times are added."""

    masters: tuple[str, ...]
    later: Later


def host(name: str, place: str, documents: Mapping[str, bytes], problems: tuple[str, ...], options: Options) -> Host:
    """Return the node that *documents* (by name) describe; *problems* says which documents could not be read."""
    missing = list(problems)
    documents = _sorted_out(documents, missing)
    about = _object(documents, "contents.json", missing)
    state = _object(documents, "status.json", missing)
    snapshot = _snapshot(documents, missing)
    found = REPORT.fullmatch(name)
    own = _text(state, "hostname") or _text(about, "node") or (found[1] if found else name)
    chosen = select(snapshot, Policy()) if snapshot else Selection()
    link = _text(state, "link") if state else chosen.link or ""
    boot, since = _times(documents.get("boot-report.txt", b""), state, options.later)
    return Host(
        name=own,
        place=place,
        role=role_of(own, options.masters),
        health=_health(documents, state),
        cause=_text(_problem(state), "cause"),
        ready=state.get("ready") is True,
        made=_text(about, "made"),
        since=since,
        node_ips=tuple(_addresses(state.get("node_ips") if state else [str(each) for each in chosen.node_ips])),
        link=link,
        uplink=_text(state, "uplink") or link,
        mtu=_mtu(link, snapshot, documents, missing),
        node_file=_text(state, "node_file"),
        digest=_text(state, "digest"),
        applied=_text(state, "applied_digest"),
        version=_text(about, "nodenet"),
        boot=boot,
        boot_seconds=_boot_seconds(state),
        macs=macs_of(snapshot, link),
        addresses=reachable(chosen),
        snapshot=snapshot,
        state=state,
        missing=tuple(dict.fromkeys(missing)),
    )


def role_of(name: str, masters: tuple[str, ...]) -> str:
    """Return the role of a host by its name."""
    short = name.partition(".")[0].lower()
    return "control-plane" if any(fnmatchcase(short, each.lower()) for each in masters) else "worker"


def reachable(selection: Selection) -> tuple[str, ...]:
    """Return the addresses at which other hosts can reach this one."""
    return tuple(sorted({str(each.address) for each in selection.candidates if each.rule not in NOT_THE_HOSTS}))


def macs_of(snapshot: Snapshot | None, link: str = "") -> frozenset[str]:
    """Return the MACs of the NICs; a veth counts only if it is *link*: programs of pods give all of theirs one MAC."""
    nics = [each for each in snapshot.links if each.is_nic] if snapshot else []
    found = {each.hardware_mac for each in nics if each.kind is None or each.name == link}
    return frozenset(mac.lower() for mac in found if mac and mac.strip("0:"))


def _sorted_out(documents: Mapping[str, bytes], missing: list[str]) -> dict[str, bytes]:
    """Return *documents* with ``any.json`` by what it is."""
    found = {name: content for name, content in documents.items() if name != "any.json"}
    if "any.json" in documents:
        said: list[str] = []
        value = _object(documents, "any.json", said)
        if said:
            missing.append(said[0].replace("any.json", "the file"))
        elif "health" in value:
            found.setdefault("status.json", documents["any.json"])
        else:
            found.setdefault("snapshot.json", documents["any.json"])
    return found


def _object(documents: Mapping[str, bytes], name: str, missing: list[str]) -> Mapping[str, Any]:
    if name not in documents:
        if name == "status.json":
            missing.append("no status: health, node file and boot are not known")
        return {}
    try:
        found = json.loads(documents[name])
    except (ValueError, RecursionError):
        missing.append(f"{name} is torn or no JSON")
        return {}
    if isinstance(found, dict):
        return found
    if name != "any.json":
        missing.append(f"{name} is no JSON object")
    return {}


def _snapshot(documents: Mapping[str, bytes], missing: list[str]) -> Snapshot | None:
    if "snapshot.json" not in documents:
        missing.append("no snapshot: MACs, MTU and addresses are not known")
        return None
    try:
        return parse(documents["snapshot.json"])
    except SnapshotInvalid as error:
        missing.append(error.cause[:LONGEST])
        return None


def _text(document: Mapping[str, Any], key: str) -> str:
    found = document.get(key)
    return found[:LONGEST] if isinstance(found, str) else ""


def _problem(state: Mapping[str, Any]) -> Mapping[str, Any]:
    found = state.get("last_error")
    return found if isinstance(found, dict) else {}


def _health(documents: Mapping[str, bytes], state: Mapping[str, Any]) -> str:
    """Return the health; the status document of a daemon that does not run is older than the report."""
    first = documents.get("status.txt", b"")[:LONGEST].decode(errors="replace")
    return f"failed ({_AWAY})" if first.startswith(_AWAY) else _text(state, "health")


def _addresses(value: object) -> Iterator[str]:
    for each in value[:MOST_NODE_IPS] if isinstance(value, list) else ():
        with suppress(ValueError):
            yield str(ip_address(each if isinstance(each, str) else ""))


def _mtu(link: str, snapshot: Snapshot | None, documents: Mapping[str, bytes], missing: list[str]) -> int | None:
    """Return the MTU of the link of the node IP; snapshots of older versions have none, and a report has it twice."""
    known = {each.name: each.mtu for each in snapshot.links if each.mtu} if snapshot else {}
    if snapshot and not known:
        text = documents.get("ip-address.txt", b"").decode(errors="replace")
        known = {name: int(mtu) for name, mtu in _MTU.findall(text)}
    if snapshot and not known:
        missing.append("the snapshot has no MTU: it is of an older version")
    return known.get(link)


def _spans(state: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    stages = state.get("stages")
    for stage in stages[:50] if isinstance(stages, list) else ():
        found = [stage.get(key) for key in ("started", "ended")] if isinstance(stage, dict) else []
        numbers = [float(each) for each in found if isinstance(each, int | float) and abs(each) < MOST_SECONDS]
        if len(numbers) == 2 and all(map(math.isfinite, numbers)) and numbers[1] >= numbers[0] >= 0:
            yield numbers[0], numbers[1]


def _boot_seconds(state: Mapping[str, Any]) -> float | None:
    spans = list(_spans(state))
    return round(sum(end - start for start, end in spans), 3) if spans else None


def _times(report: bytes, state: Mapping[str, Any], later: Later) -> tuple[str, str]:
    """Return when the last boot began, and when its last stage ended: since then the stages are as they are."""
    found = _BEGAN.match(report[:LONGEST].decode(errors="replace"))
    if not found:
        return "", ""
    last = max((end for _, end in _spans(state)), default=None)
    return later(found[1], 0.0), "" if last is None else later(found[1], last)
