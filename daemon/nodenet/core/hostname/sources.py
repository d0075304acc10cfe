"""Where can a node's name come from, which of the names is used, and why not another one?

A static name wins. Without one, a full name from a DHCPv6 server outranks the present name, because that may be a short
name from an earlier source, and a name that is pinned stays for ever. All others are only shown: the program that sets
the kernel's name (systemd, NetworkManager, cloud agents) has chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from nodenet.core.hostname.name import normalised, why_invalid

STATIC_FILE = PurePosixPath("/etc/hostname")
FALLBACK_FILE = PurePosixPath("/run/systemd/default-hostname")
"""Written by systemd when it had to make up the host's name (org.freedesktop.hostname1(5), HostnameSource)."""


class Origin(StrEnum):
    """Where a name comes from, in the order in which sources are shown."""

    STATIC = "static"
    KERNEL = "transient"
    DHCP6_FQDN = "dhcpv6-fqdn"
    DHCP = "dhcp"
    REVERSE_DNS = "reverse-dns"
    COMMAND_LINE = "command-line"


@dataclass(frozen=True, slots=True)
class Source:
    """One name as it was found, and where; an empty *value*: there is none. *fallback*: systemd made it up."""

    origin: Origin
    where: str
    value: str = ""
    fallback: bool = False


class Verdict(StrEnum):
    """What a name is to this node."""

    SELECTED = "selected"
    USABLE = "usable"
    REFUSED = "refused"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Judged:
    """A source, its normalised name, and why it is or is not this node's name."""

    source: Source
    name: str
    verdict: Verdict
    sentence: str


def static_source(content: bytes | None) -> Source:
    """Return the source that *content* of STATIC_FILE is."""
    return Source(Origin.STATIC, str(STATIC_FILE), static_name(content))


def kernel_source(name: str, made_up: bytes | None) -> Source:
    """Return the source of the present name; *made_up*: the content of FALLBACK_FILE."""
    fallback = (made_up or b"").decode(errors="replace").strip()
    return Source(Origin.KERNEL, "the kernel", name, fallback=bool(name) and name == fallback)


def static_name(content: bytes | None) -> str:
    """Return the name in the content of /etc/hostname (hostname(5)): the first line that is not a comment."""
    lines = (line.strip() for line in (content or b"").decode(errors="replace").splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def refusal(source: Source) -> str | None:
    """Return why *source* gives no name, None when it does."""
    if source.fallback:
        return "it is the name that this system takes while it knows none"
    if source.origin is Origin.DHCP6_FQDN and "." not in normalised(source.value):
        return "it has no domain, and only a full name outranks another source"
    return why_invalid(normalised(source.value))


def chosen(sources: Sequence[Source]) -> Source | None:
    """Return the source of this node's name, None while no name will do."""
    for origin in (Origin.STATIC, Origin.DHCP6_FQDN, Origin.KERNEL):
        for source in sources:
            if source.origin is origin and source.value and refusal(source) is None:
                return source
    return None


def judged(sources: Sequence[Source]) -> tuple[Judged, ...]:
    """Return a verdict for every source."""
    winner = chosen(sources)
    return tuple(_judge(source, winner) for source in sources)


def _judge(source: Source, winner: Source | None) -> Judged:
    name = normalised(source.value)
    if not source.value:
        return Judged(source, "", Verdict.ABSENT, "it gives no name")
    if why := refusal(source):
        return Judged(source, name, Verdict.REFUSED, why)
    if source is winner:
        return Judged(source, name, Verdict.SELECTED, _why_selected(source))
    if winner is not None and name == normalised(winner.value):
        return Judged(source, name, Verdict.USABLE, f"the same as {winner.origin}")
    return Judged(source, name, Verdict.USABLE, _why_not(source, winner))


def _why_selected(source: Source) -> str:
    match source.origin:
        case Origin.STATIC:
            return "a static name outranks every other"
        case Origin.DHCP6_FQDN:
            return "without a static name a full name by DHCPv6 is taken"
    return "it is in force, and nothing outranks it"


def _why_not(source: Source, winner: Source | None) -> str:
    if winner and source.origin in (Origin.KERNEL, Origin.DHCP6_FQDN):
        return f"{winner.origin} outranks it"
    return "it is taken once the system makes it the host's name"


def on_command_line(command_line: str) -> tuple[Source, ...]:
    """Return the names on the kernel's command line: systemd.hostname= and the field of ip= (kernel, nfsroot.rst)."""
    found = []
    for word in command_line.split():
        key, _, value = word.partition("=")
        if key == "systemd.hostname":
            found.append(Source(Origin.COMMAND_LINE, key, value))
        elif key == "ip" and (name := _ip_hostname(value)):
            found.append(Source(Origin.COMMAND_LINE, "ip=", name))
    return tuple(found)


def _ip_hostname(value: str) -> str:
    """Return the fifth field of ``client:server:gateway:netmask:hostname:…``; IPv6 addresses are in brackets."""
    fields, depth = [""], 0
    for character in value:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == ":" and depth == 0:
            fields.append("")
        else:
            fields[-1] += character
    return fields[4] if len(fields) > 4 else ""
