"""What does ``nodenetctl hosted`` print? One screen, from the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


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
    if text := _migration(document):
        yield f"migration {text}"
    for switch in document.get("switched_off", ()):  # an older nodenet-hosted has none
        yield f"switch    {switch} is Disabled"
    if unread := document.get("cluster"):
        yield f"cluster   {unread}"
    for problem in document["problems"]:
        yield f"problem   {problem}"


_SOURCES = {"cr": "the HostedNetServices object", "cache": "the cache", "file": "the file", "default": "the API VIP"}


def _migration(document: Mapping[str, Any]) -> str:
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
