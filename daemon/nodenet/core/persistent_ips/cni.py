"""What do the verbs of CNI carry, and how is an answer or an error written? (CNI specification 0.3.1 to 1.1.0)"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from ipaddress import ip_interface
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.model import Interface, PodName
from nodenet.core.value import frozen

VERSIONS = ("0.3.1", "0.4.0", "1.0.0", "1.1.0")
MOST_BYTES = 256 * 1024
"""The longest request."""
MOST_ARGUMENT = 4096
CONTAINER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,1023}")
IFNAME = re.compile(r"(?!\.\.?$)[^\s/:\x00-\x1f\x7f]{1,15}")


class Verb(StrEnum):
    """CNI_COMMAND; the plugin answers VERSION without the service."""

    ADD = "ADD"
    DEL = "DEL"
    CHECK = "CHECK"
    GC = "GC"
    STATUS = "STATUS"


SINCE = {Verb.CHECK: "0.4.0", Verb.GC: "1.1.0", Verb.STATUS: "1.1.0"}
"""The version of the specification that brought a verb."""


class Code(IntEnum):
    """Error codes of the specification."""

    VERSION = 1
    UNKNOWN_CONTAINER = 3
    ENVIRONMENT = 4
    IO = 5
    DECODE = 6
    CONFIGURATION = 7
    TRY_AGAIN = 11
    NOT_AVAILABLE = 50


class CniError(Exception):
    """The request is refused; the runtime gets code, message and details."""

    def __init__(self, code: Code, text: str, details: str = "") -> None:
        """*text* is the cause, *details* the remedy."""
        super().__init__(text)
        self.code = code
        self.text = text
        self.details = details


@frozen
class Request:
    """One call of the plugin. Only ADD, DEL and CHECK have a container and an interface."""

    verb: Verb
    container_id: str
    netns: str
    ifname: str
    pod: PodName | None
    configuration: Mapping[str, Any]
    version: str


def parse(document: object) -> Request:
    """Return the request that the plugin sent as *document*. Raises CniError."""
    if not isinstance(document, dict) or document.get("version") != 1:
        raise CniError(Code.DECODE, "The request has not version 1", "Install plugin and service from one release")
    fields = {key: document.get(key, "") for key in ("command", "container_id", "netns", "ifname", "args", "config")}
    if wrong := next((key for key, value in fields.items() if not isinstance(value, str)), None):
        raise CniError(Code.DECODE, f"The field {wrong} of the request is not a text")
    try:
        verb = Verb(fields["command"])
    except ValueError:
        raise CniError(Code.ENVIRONMENT, f"CNI_COMMAND is {_shown(fields['command'])}, which is not known") from None
    configuration, version = _configuration(fields["config"])
    if verb in SINCE and VERSIONS.index(version) < VERSIONS.index(SINCE[verb]):
        raise CniError(Code.VERSION, f"{verb} needs cniVersion {SINCE[verb]} or newer; the configuration has {version}")
    if verb in (Verb.GC, Verb.STATUS):
        return Request(verb, "", "", "", None, configuration, version)
    for key, pattern in (("container_id", CONTAINER_ID), ("ifname", IFNAME)):
        if not pattern.fullmatch(fields[key]):
            variable = {"container_id": "CNI_CONTAINERID", "ifname": "CNI_IFNAME"}[key]
            raise CniError(Code.ENVIRONMENT, f"{variable} is {_shown(fields[key])}, which is not valid")
    netns = fields["netns"]
    if len(netns) > MOST_ARGUMENT or (verb is Verb.ADD and not netns):
        raise CniError(Code.ENVIRONMENT, f"CNI_NETNS is {_shown(netns)}, which is not valid")
    pod = _pod(fields["args"], strict=verb is Verb.ADD)
    return Request(verb, fields["container_id"], netns, fields["ifname"], pod, configuration, version)


def deletion(document: object) -> tuple[str, str] | None:
    """Return container and interface of a DEL; None for another verb.

    Nothing else of a DEL matters: it succeeds with any configuration, and for what does not exist.
    """
    if not isinstance(document, dict) or document.get("command") != Verb.DEL or document.get("version") != 1:
        return None
    return str(document.get("container_id")), str(document.get("ifname"))


def _configuration(text: str) -> tuple[Mapping[str, Any], str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise CniError(Code.DECODE, "The network configuration is not JSON") from None
    if not isinstance(found, dict):
        raise CniError(Code.DECODE, "The network configuration is not a JSON object")
    version = found.get("cniVersion")
    if version not in VERSIONS:
        text = f"cniVersion is {_shown(version)}; supported are {', '.join(VERSIONS)}"
        raise CniError(Code.VERSION, text, "Set cniVersion of the network configuration to one of these")
    return found, str(version)


def _pod(text: str, *, strict: bool) -> PodName | None:
    """Return the pod that CNI_ARGS names, None without one; only *strict* refuses what is not valid."""
    if len(text) > MOST_ARGUMENT:
        raise CniError(Code.ENVIRONMENT, f"CNI_ARGS has {len(text)} characters; {MOST_ARGUMENT} are the most")
    pairs = [item.partition("=") for item in text.split(";") if item]
    if strict and (wrong := next((key for key, sign, _ in pairs if not sign), None)):
        raise CniError(Code.ENVIRONMENT, f"CNI_ARGS has {_shown(wrong)} without a value")
    given = {key: value for key, _, value in pairs}
    namespace, name = given.get("K8S_POD_NAMESPACE", ""), given.get("K8S_POD_NAME", "")
    if not namespace and not name:
        return None
    for key, value in (("K8S_POD_NAMESPACE", namespace), ("K8S_POD_NAME", name)):
        if not is_object_name(value):
            if not strict:
                return None
            raise CniError(Code.ENVIRONMENT, f"{key} of CNI_ARGS is {_shown(value)}, which is not a name of Kubernetes")
    return PodName(namespace, name, given.get("K8S_POD_UID", "")[:128])


def is_object_name(text: str) -> bool:
    """Return whether *text* is a DNS subdomain (RFC 1123), as the names of pods and claims are."""
    return 0 < len(text) <= 253 and re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", text) is not None


@frozen
class Extras:
    """What an answer to ADD has beside the addresses."""

    gateways: Mapping[int, str]
    """The gateway of the address with this index."""
    routes: tuple[Mapping[str, Any], ...] = ()
    dns: Mapping[str, Any] | None = None


def result(version: str, addresses: tuple[Interface, ...], extras: Extras) -> str:
    """Return what the plugin prints after ADD: the abbreviated result of an IPAM plugin."""
    ips: list[dict[str, Any]] = []
    for number, address in enumerate(addresses):
        entry: dict[str, Any] = {"address": str(address)}
        if version.startswith("0."):
            entry = {"version": str(address.version), **entry}
        if gateway := extras.gateways.get(number):
            entry["gateway"] = gateway
        ips.append(entry)
    document: dict[str, Any] = {"cniVersion": version, "ips": ips}
    if extras.routes:
        document["routes"] = [dict(route) for route in extras.routes]
    document["dns"] = dict(extras.dns or {})
    return json.dumps(document)


def failure(version: str, error: CniError) -> str:
    """Return what the plugin prints for an error."""
    document: dict[str, Any] = {"cniVersion": version, "code": int(error.code), "msg": error.text}
    if error.details:
        document["details"] = error.details
    return json.dumps(document)


def verb_of(document: object) -> Verb | None:
    """Return the verb of a request, None without one that is known."""
    found = document.get("command") if isinstance(document, dict) else None
    return Verb(found) if isinstance(found, str) and found in set(Verb) else None


def version_of(document: object) -> str:
    """Return the version in which an error is written; the newest where the request has none that is known."""
    try:
        found = json.loads(document["config"])["cniVersion"] if isinstance(document, dict) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return VERSIONS[-1]
    return str(found) if found in VERSIONS else VERSIONS[-1]


def previous_addresses(configuration: Mapping[str, Any]) -> frozenset[IPAddress] | None:
    """Return the addresses of prevResult, None where it has none that can be read. Raises CniError."""
    found = configuration.get("prevResult")
    if not isinstance(found, dict):
        raise CniError(Code.CONFIGURATION, "prevResult is missing: CHECK compares with it")
    listed = found.get("ips")
    if not isinstance(listed, list):
        return None
    read = set()
    for entry in listed:
        with contextlib.suppress(ValueError):
            read.add(ip_interface(str(entry.get("address") if isinstance(entry, dict) else entry)).ip)
    return frozenset(read)


def valid_attachments(configuration: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Return the attachments that GC keeps, as (container, interface). Raises CniError: without a list nothing is kept.

    Specification 1.1.0: ``cni.dev/valid-attachments``; an older draft had ``cni.dev/attachments``.
    """
    key = next((one for one in ("cni.dev/valid-attachments", "cni.dev/attachments") if one in configuration), None)
    found = configuration.get(key or "")
    if key and found is None:  # libcni writes null for a list without entries
        return frozenset()
    if not isinstance(found, list):
        raise CniError(Code.CONFIGURATION, "cni.dev/valid-attachments is not a list")
    kept = set()
    for entry in found:
        container, ifname = (entry.get("containerID"), entry.get("ifname")) if isinstance(entry, dict) else (None, None)
        if not isinstance(container, str) or not isinstance(ifname, str):
            text = f"cni.dev/valid-attachments has {_shown(entry)}; expected containerID and ifname"
            raise CniError(Code.CONFIGURATION, text)
        kept.add((container, ifname))
    return frozenset(kept)


def _shown(value: object) -> str:
    return ascii(value if len(str(value)) <= 100 else str(value)[:100])
