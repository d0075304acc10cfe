"""What is wrong with the node files of a directory when they are looked at together?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address

from nodenet.core.hostname.name import normalised, why_invalid
from nodenet.core.ip import is_masquerade
from nodenet.core.node_file.content import Judged
from nodenet.core.node_file.find import CLUSTER, EXTENSIONS, Rivals
from nodenet.core.node_file.finding import Finding, Severity, shown
from nodenet.core.node_file.values import interfaces, text
from nodenet.core.node_file.yaml_text import Block, Scalar

EMPTY = "the file asks for nothing, and {} would be the node file without it"


def cross_findings(files: Mapping[str, Judged | None], beside: Sequence[str]) -> dict[str, list[Finding]]:
    """Return what is wrong with each of the *files* beside the others; None: it could not be read.

    *beside* are all names of the directory.
    """
    found: dict[str, list[Finding]] = {name: [] for name in files}
    for name, finding in (*_twins(beside), *_names(beside), *_empty(files, beside), *_same_address(files)):
        if name in found:
            found[name].append(finding)
    return found


def is_node_file(name: str) -> bool:
    """Whether nodenetd reads a file of this name, on some host."""
    return name.endswith(EXTENSIONS) and not name.startswith(".") and bool(name.rpartition(".")[0])


def _stem(name: str) -> str:
    return name.rpartition(".")[0].lower()


def _twins(beside: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    by_stem: dict[str, list[str]] = {}
    for name in filter(is_node_file, beside):
        by_stem.setdefault(_stem(name), []).append(name)
    for stem, names in by_stem.items():
        if len(names) > 1:
            rivals = Rivals(sorted(names), stem)
            yield from ((name, Finding(rivals.cause, rivals.remedy)) for name in names)


def _names(beside: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    stems = {_stem(name): name for name in filter(is_node_file, beside)}
    for stem, name in stems.items():
        if stem != CLUSTER and (why := why_invalid(normalised(stem))):
            yield name, _warning(f"no host finds this file: {why}", "Name it after the host, in lower case")
        short, dot, _ = stem.partition(".")
        if dot and short in stems:
            hidden = stems[short]
            cause = f"the host {stem} reads {name}; this file is for other hosts named {short} only"
            yield hidden, _warning(cause, f"Remove {hidden} if there is no other one: files are never merged")


def _empty(files: Mapping[str, Judged | None], beside: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    stems = {_stem(name): name for name in filter(is_node_file, beside)}
    for name, judged in files.items():
        if judged is None or not judged.desired.empty or _stem(name) == CLUSTER:
            continue
        later = [stem for stem in (_stem(name).partition(".")[0], CLUSTER) if stem != _stem(name)]
        if hidden := [stems[stem] for stem in later if stem in stems]:
            cause = EMPTY.format(" and ".join(hidden))
            yield name, Finding(cause, f"Remove {name}, or write into it what this node needs")


def _same_address(files: Mapping[str, Judged | None]) -> Iterator[tuple[str, Finding]]:
    """Yield the static addresses that the files of two hosts have, and those that every node would get."""
    first: dict[str, tuple[str, int]] = {}
    for name, judged in files.items():
        for node, path in _addresses(judged):
            address = str(ip_address(node.text))
            place = (node.line, node.column, path, shown(node.text))
            if _stem(name) == CLUSTER:
                cause = "every node without a file of its own gets this address"
                yield name, Finding(cause, "Write it into the file of one host", *place, Severity.WARNING)
            elif (known := first.setdefault(address, (name, node.line)))[0] != name and not _same_host(known[0], name):
                cause = f"{known[0]}, line {known[1]} gives another host the same address"
                yield name, Finding(cause, "Give each host an address of its own", *place)


def _same_host(one: str, other: str) -> bool:
    stems = _stem(one), _stem(other)
    return stems[0].partition(".")[0] == stems[1].partition(".")[0]


def _addresses(judged: Judged | None) -> Iterator[tuple[Scalar, str]]:
    document = judged.document if judged else None
    for path, link in interfaces(document) if isinstance(document, Block) else ():
        if text(link, "type") == "loopback" or text(link, "state") == "absent":
            continue
        for family in ("ipv4", "ipv6"):
            section = link.get(family)
            entries = section.get("address") if isinstance(section, Block) else None
            for number, entry in enumerate(entries.items if isinstance(entries, Block) else ()):
                ip = entry.get("ip") if isinstance(entry, Block) else None
                if isinstance(ip, Scalar) and _is_unique(ip.text):
                    yield ip, f"{path}.{family}.address[{number}].ip"


def _is_unique(value: str) -> bool:
    """Whether *value* is an address that one host alone may have."""
    try:
        address = ip_address(value)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_link_local or is_masquerade(address))


def _warning(cause: str, remedy: str) -> Finding:
    return Finding(cause, remedy, severity=Severity.WARNING)
