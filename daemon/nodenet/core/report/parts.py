"""Which parts has a report, which command prints each, and how large may it become?

Every part is the output of a command with a limit of time and size, files too: a file system or a service that hangs
costs one part, and the part says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.value import frozen

SCHEMA_VERSION = 1
CONTENTS = "contents.json"
PAGE = "index.html"
LONGEST_SECONDS = 90.0
"""Parts that have not begun by then are left out."""
MOST_BYTES = 64 << 20
"""All parts together, before they are compressed."""
JOURNAL_LINES, EVENTS = 20_000, 4_000
UNITS = ("nodenet*", "NetworkManager.service")
"""Units whose journal is in a report."""


@frozen
class Part:
    """A file of a report: what is in it, and the command that prints it. *journal*: it prints journalctl's JSON.

    *record*: it is JSON and may have secrets, which can be found only where it is valid JSON. *verdict*: the exit
    status of the command is a verdict about the node, which the JSON has too.
    """

    name: str
    what: str
    command: tuple[str, ...]
    seconds: float = 15.0
    most_bytes: int = 2 << 20
    journal: bool = False
    record: bool = False
    verdict: bool = False


@frozen
class Made:
    """A part as it is in the archive; *note* is what is wrong with it."""

    name: str
    what: str
    content: bytes = b""
    note: str = ""


def _file(name: str, what: str, path: str) -> Part:
    return Part(name, what, ("cat", path))


def _record(name: str, what: str) -> Part:
    return Part(name, what, ("cat", f"/var/lib/nodenet/{name}"), record=True)


def _verb(name: str, what: str, *words: str) -> Part:
    return Part(name, what, ("nodenetctl", *words))


def _judged(name: str, what: str, *words: str) -> Part:
    return Part(name, what, ("nodenetctl", *words, "--json"), verdict=True)


def _shell(name: str, what: str, script: str) -> Part:
    return Part(name, what, ("sh", "-c", script))


def _journal(name: str, what: str, boot: int) -> Part:
    units = [f"--unit={unit}" for unit in UNITS]
    lines = ["--reverse", f"--lines={JOURNAL_LINES}"]  # newest first: a limit of size cuts off the oldest ones
    command = ("journalctl", "--output=json", "--all", "--no-pager", "--quiet", f"--boot={boot}", *lines, *units)
    return Part(name, what, command, seconds=30.0, most_bytes=24 << 20, journal=True)


_PROGRAMS = (
    *("nodenetctl version", "uname -a", "cat /etc/os-release", "systemctl --version", "NetworkManager --version"),
    *("ovs-vswitchd --version", "dnsmasq --version", "keepalived --version", "haproxy -v"),
    *("kubelet --version", "crio --version", "containerd --version"),
)
_VERSIONS = "; ".join(f"echo '== {one}'; timeout 5 {one} 2>&1 | head -n 12" for one in _PROGRAMS)
_TABLES = "for table in Open_vSwitch Bridge Port Interface; do echo == $table; ovs-vsctl --timeout=5 list $table; done"
_PROFILES = "nmcli --get-values UUID connection show | xargs --no-run-if-empty nmcli connection show"
_STATES = "systemctl --no-pager --full --lines=0 status 'nodenet*' NetworkManager kubelet"
_ROUTES = "ip rule; ip -6 rule; ip route show table all; ip -6 route show table all"
_EVENTS = (
    "journalctl --output=json --output-fields=MESSAGE_ID,STAGE --no-pager --quiet --boot=0 --identifier=nodenetd "
    f"--lines={EVENTS}"
)
RECORDS = {
    "bridge.json": "record of br-ex",
    "boots.json": "boots with a new node file",
    "selection.json": "the node IPs that were published last",
    "intent.json": "how the last apply has ended",
    "bridge-intent.json": "how the last change of br-ex has ended",
    "policies.json": "documents that NMState policies led to",
}
"""What a boot reads of the boots before it, and what it is. The record of an open change has every profile with its
secrets: it is no part of a report.
"""
PARTS = (
    _shell("versions.txt", "versions of the system and of the programs that nodenet works with", _VERSIONS),
    _verb("status.txt", "status of the node", "status"),
    _judged("status.json", "the same as a document", "status"),
    _verb("settings.txt", "every setting with the file that sets it", "settings"),
    _verb("snapshot.json", "links, addresses and routes, for `nodenetctl explain node-ip --snapshot`", "snapshot"),
    Part("links.json", "links and addresses with details", ("ip", "-json", "-details", "address"), most_bytes=8 << 20),
    _shell("speeds.txt", "speed of each link", "cd /sys/class/net && grep -s . */speed; true"),
    _judged("check.json", "problems of the node file", "check"),
    _judged("diff.json", "what the network has otherwise than the node file asks", "diff"),
    _judged("history.json", "changes of the network", "history"),
    _verb("explain-node-ip.txt", "why these addresses are the node IPs", "explain", "node-ip"),
    _verb("explain-br-ex.txt", "which link is the uplink of br-ex", "explain", "br-ex"),
    _verb("explain-hostname.txt", "why the node has its host name", "explain", "hostname"),
    _verb("explain-nmstate.txt", "what answered before and after the last apply", "explain", "nmstate"),
    _verb("explain-vip.txt", "who holds each VIP", "explain", "vip"),
    _verb("explain-hosted.txt", "why each hosted service runs here or does not", "explain", "hosted"),
    _file("hosted.json", "hosted services of this node", "/run/nodenet/hosted/status.json"),
    _verb("claims.json", "addresses of workloads", "claims", "--json"),
    _verb("boot-report.json", "where the time of this boot went, as a document", "boot-report", "--json"),
    _verb("boot-report.txt", "where the time of this boot went", "boot-report"),
    _verb("boot-report-last.txt", "where the time of the last boot went", "boot-report", "--boot=-1"),
    _file("probes.json", "what was probed around the last apply", "/run/nodenet/probes.json"),
    _verb("network.json", "the network as libnmstate shows it, for `nodenetctl what-if`", "snapshot", "--nmstate"),
    *(_record(name, what) for name, what in RECORDS.items()),
    _shell("records.txt", "when each record was written", "cd /var/lib/nodenet && find . -type f -printf '%T@ %P\\n'"),
    _file("adoption.json", "record of an adoption that has not ended", "/var/lib/nodenet/adoption.json"),
    _shell("metrics.prom", "metrics of the programs", "cat /run/nodenet/*.prom"),
    _shell("files.txt", "names and sizes of files", "ls -lnR /run/nodenet /var/lib/nodenet /etc/nodenet /etc/nmstate"),
    _shell("units.txt", "state of the units", _STATES),
    _journal("journal.txt", "journal of nodenet and NetworkManager in this boot", 0),
    _journal("journal-last.txt", "the same in the last boot", -1),
    _shell("events.jsonl", "MESSAGE_IDs that nodenetd logged in this boot, for `tools/replay.py`", _EVENTS),
    _file("resolv.conf", "DNS servers", "/etc/resolv.conf"),
    _shell("ip-address.txt", "links and addresses", "ip -details address show"),
    _shell("ip-route.txt", "routes and rules", _ROUTES),
    _shell("ip-neighbour.txt", "neighbours", "ip neighbour show"),
    _shell("nm-devices.txt", "NetworkManager's devices", "nmcli general; nmcli device show"),
    _shell("nm-profiles.txt", "NetworkManager's profiles without their secrets", _PROFILES),
    _shell("ovs-show.txt", "bridges of Open vSwitch", "ovs-vsctl --timeout=5 show"),
    _shell("ovs-database.txt", "Open vSwitch's database", _TABLES),
)
"""Everything that is printed by a command; the node files come in addition."""


def document(parts: Iterable[Made], about: dict[str, str]) -> dict[str, Any]:
    """Return the list of contents, as JSON-ready values; *about* has the node, the time and versions."""
    entries = [{"name": one.name, "what": one.what, "bytes": len(one.content), "note": one.note} for one in parts]
    return {"schema_version": SCHEMA_VERSION, **about, "parts": entries}


def within_limit(parts: Sequence[Made]) -> list[Made]:
    """Return the parts that fit into a report together; the others are named without their content."""
    left, kept = MOST_BYTES, list[Made]()
    for one in parts:
        fits = len(one.content) <= left
        left -= len(one.content) if fits else 0
        kept.append(one if fits else Made(one.name, one.what, note="left out: the report would be too large"))
    return kept


# How does a journal read in a report? One line for each entry, with its remedy, oldest first.


def journal_text(printed: str, moment: Callable[[float], str]) -> str:
    """Return the lines for what journalctl printed as JSON, newest first; a line that is cut off is left out.

    *moment* writes a time, which is in seconds since 1970.
    """
    return "".join(f"{line}\n" for line in reversed(list(_lines(printed, moment))))


def _lines(printed: str, moment: Callable[[float], str]) -> Iterator[str]:
    for line in printed.split("\n"):
        try:
            entry = json.loads(line)
            yield f"{moment(int(entry['__REALTIME_TIMESTAMP']) / 1e6)} {_line(entry)}"
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError, OverflowError):
            continue


def _line(entry: Mapping[str, Any]) -> str:
    program = entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or "?"
    remedy = f" To do: {_plain(entry['REMEDY'])}" if entry.get("REMEDY") else ""
    process = f"[{entry['_PID']}]" if "_PID" in entry else ""
    return f"{_plain(program)}{process}: {_plain(entry.get('MESSAGE'))}{remedy}"


def _plain(value: object) -> str:
    """Return a field as text: journalctl prints one with other bytes as a list of numbers, a repeated one as a list."""
    if isinstance(value, list) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        value = bytes(value).decode(errors="backslashreplace")
    elif isinstance(value, list):
        value = " ".join(map(str, value))
    return str(value).replace("\n", "\n  ")
