"""Which names may a host have, and which of its sources of a name counts?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePosixPath

from nodenet.core.value import frozen

LONGEST_LABEL = 63
"""RFC 1123, section 2.1; also Kubernetes' limit for a node name's label."""
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def normalised(name: str) -> str:
    """Return *name* as it is compared: lower case, no blanks around it, no trailing dot, 63 characters at most.

    Kubernetes takes no longer one as a label; of a longer name only the first part counts, cut where it must be.
    """
    plain = name.strip().rstrip(".").lower()
    if len(plain) <= LONGEST_LABEL:
        return plain
    return plain.split(".", maxsplit=1)[0][:LONGEST_LABEL].rstrip("-_")


def why_invalid(name: str) -> str | None:
    """Return what is wrong with a normalised *name*, or None when it is a node's name.

    A name that begins with ``localhost`` means that the name is not known yet. A name that could leave a directory
    (``/``, ``..``) fails the label rule.
    """
    if not name:
        return "it is empty"
    labels = name.split(".")
    if is_placeholder(name):
        return "it only means that the real name is not known yet"
    if "_" in name:
        return "no host name has an underscore, and Kubernetes takes no Node of that name"
    for label in labels:
        if len(label) > LONGEST_LABEL:
            return f"the part {label[:16]}… is longer than {LONGEST_LABEL} characters"
        if not _LABEL.fullmatch(label):
            return f"the part {label!r} has characters that no host name has"
    return None


def is_placeholder(name: str) -> bool:
    """Return whether a normalised *name* stands for a name that is not known yet."""
    return not name or name.startswith("localhost")


def stems(name: str) -> tuple[str, ...]:
    """Return the file stems that belong to *name*, the most specific first: whole name, then short name."""
    short = name.split(".", maxsplit=1)[0]
    return (name,) if short == name else (name, short)


# Where can the name of a node come from, which of the names is used, and why not another one?
#
# A static name wins. Then comes the present name: the program that set it (systemd, NetworkManager, cloud agents) has
# chosen. Where that is none, a name from a DHCP server is taken. Any host of a LAN can answer by DHCPv6: names from
# there count only where a setting allows it; a full one then outranks the present name.

STATIC_FILE = PurePosixPath("/etc/hostname")
SETTING = "dhcpv6_hostname"
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


@frozen
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


@frozen
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


def refusal(source: Source, sources: Sequence[Source] = (), *, dhcpv6: bool = False) -> str | None:
    """Return why *source*, one of *sources*, gives no name, None when it does. *dhcpv6*: names from there count."""
    if source.fallback:
        return "it is the name that this system takes while it knows none"
    if not dhcpv6 and _is_by_dhcpv6(source, sources):
        return f"it came by DHCPv6, where any host of the LAN can answer, and `{SETTING}` is false"
    if source.origin is Origin.DHCP6_FQDN and "." not in normalised(source.value):
        return "it has no domain, and only a full name outranks another source"
    return why_invalid(normalised(source.value))


def _is_by_dhcpv6(source: Source, sources: Sequence[Source]) -> bool:
    """Return whether *source* is a name by DHCPv6, or the kernel's that NetworkManager took from there."""
    origins = {each.origin for each in _leases_of(source, sources)}
    return source.origin is Origin.DHCP6_FQDN or (
        source.origin is Origin.KERNEL and Origin.DHCP6_FQDN in origins and Origin.DHCP not in origins
    )


def _leases_of(source: Source, sources: Sequence[Source]) -> list[Source]:
    """Return the leases that give the name of *source*; NetworkManager may have cut its domain off."""
    short = normalised(source.value).partition(".")[0]
    leases = [each for origin in (Origin.DHCP, Origin.DHCP6_FQDN) for each in sources if each.origin is origin]
    return [each for each in leases if short and normalised(each.value).partition(".")[0] == short]


def provenance(source: Source, sources: Sequence[Source]) -> str:
    """Return where a name that is not static comes from, in words; empty for a static one."""
    if source.origin is Origin.STATIC:
        return ""
    lease = next(iter(_leases_of(source, sources)), None)
    return f"by {lease.where}" if lease else "not from /etc/hostname"


def chosen(sources: Sequence[Source], *, dhcpv6: bool = False) -> Source | None:
    """Return the source of this node's name, None while no name will do. *dhcpv6*: names from there count."""
    for origin in (Origin.STATIC, Origin.DHCP6_FQDN, Origin.KERNEL, Origin.DHCP):
        for source in sources:
            if source.origin is origin and source.value and refusal(source, sources, dhcpv6=dhcpv6) is None:
                return source
    return None


def judged(sources: Sequence[Source], *, dhcpv6: bool = False) -> tuple[Judged, ...]:
    """Return a verdict for every source. *dhcpv6*: names from there count."""
    winner = chosen(sources, dhcpv6=dhcpv6)
    return tuple(_judge(source, winner, refusal(source, sources, dhcpv6=dhcpv6)) for source in sources)


def _judge(source: Source, winner: Source | None, why: str | None) -> Judged:
    name = normalised(source.value)
    if not source.value:
        return Judged(source, "", Verdict.ABSENT, "it gives no name")
    if why:
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
            return f"without a static name a full name by DHCPv6 is taken: `{SETTING}` is true"
        case Origin.DHCP:
            return "no other source gives a name"
    return "it is in force, and nothing outranks it"


def _why_not(source: Source, winner: Source | None) -> str:
    if winner and source.origin in (Origin.KERNEL, Origin.DHCP6_FQDN, Origin.DHCP):
        return f"{winner.origin} outranks it"
    return "it is taken once another program makes it the host's name"


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
