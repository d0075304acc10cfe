"""Which rules do the node files of a folder break when they are looked at together?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodenet.core.day_one.found import Found, at
from nodenet.core.day_one.machine_config import MOST_BYTES, size_with
from nodenet.core.day_one.node_rules import Summary
from nodenet.core.day_one.rules import Rule
from nodenet.core.hostname.name import normalised, why_invalid
from nodenet.core.node_file.find import CLUSTER, Rivals


def broken(files: Mapping[str, Summary], shown: Mapping[str, str]) -> Iterator[Found]:
    """Yield the findings of a folder; *files* are those that could be read, *shown* has how findings name each file."""
    yield from _names(files, shown)
    yield from _empty(files)
    yield from _addresses(files)
    yield from _mac_addresses(files)
    yield from _cluster(files)


def machine_config_size(files: Mapping[str, Summary], folder: str) -> Iterator[Found]:
    """Yield the finding where the MachineConfig of all *files* would be too large."""
    size = size_with((name, summary.size) for name, summary in files.items())
    if size > MOST_BYTES:
        cause = f"the MachineConfig would have {size} bytes, and {MOST_BYTES} are the most"
        yield Found(Rule.MC_SIZE, folder, cause, "Split the nodes into machine config pools, with a folder each")


def stem(name: str) -> str:
    """Return the name of a node file without its extension, as host names are compared."""
    return name.rpartition(".")[0].lower()


def _names(files: Mapping[str, Summary], shown: Mapping[str, str]) -> Iterator[Found]:
    by_stem: dict[str, list[str]] = {}
    for name in shown:
        by_stem.setdefault(stem(name), []).append(name)
    for each, names in by_stem.items():
        if len(names) > 1:
            rivals = Rivals(sorted(names), each)
            yield from (Found(Rule.TWO_FILES, shown[name], rivals.cause, rivals.remedy) for name in names)
        for name in names:
            if name in files and not name.endswith(".yml"):
                said = "the name does not end in .yml, and other readers of the directory ignore the file"
                yield Found(Rule.EXTENSION, shown[name], said, f"Rename it: {stem(name)}.yml")
        if names[0] in files and each != CLUSTER and (why := why_invalid(normalised(each))):
            cause = f"no host finds this file: {why}"
            yield Found(Rule.FILE_NAME, shown[names[0]], cause, "Name it after the host, in lower case")
        short, dot, _ = each.partition(".")
        if dot and short in by_stem:
            hidden = by_stem[short][0]
            cause = f"the host {each} reads {names[0]}; this file is for other hosts named {short} only"
            remedy = f"Remove {hidden} if there is no other one: files are never merged"
            yield Found(Rule.FILE_NAME, shown[hidden], cause, remedy)


def _empty(files: Mapping[str, Summary]) -> Iterator[Found]:
    stems = {stem(name): name for name in files}
    for name, summary in files.items():
        if not summary.empty or stem(name) == CLUSTER:
            continue
        later = [each for each in (stem(name).partition(".")[0], CLUSTER) if each != stem(name)]
        hidden = [stems[each] for each in later if each in stems]
        beside = f", and {' and '.join(hidden)} would be the node file without it" if hidden else ""
        remedy = f"Remove {name}, or write into it what this node needs"
        yield Found(Rule.EMPTY_FILE, summary.file, f"the file asks for nothing{beside}", remedy)


def _addresses(files: Mapping[str, Summary]) -> Iterator[Found]:
    first: dict[object, tuple[str, Summary, int]] = {}
    for name, summary in files.items():
        if stem(name) == CLUSTER:
            continue
        for address in summary.addresses:
            if not address.is_of_a_host:
                continue
            known = first.setdefault(address.value.ip, (name, summary, address.node.line))
            if not _same_host(known[0], name):
                cause = f"{known[1].file}, line {known[2]} gives another host the same address"
                said = cause, "Give each host an address of its own"
                yield at(Rule.ADDRESS_TWICE, summary.file, address.node, address.path, said)


def _mac_addresses(files: Mapping[str, Summary]) -> Iterator[Found]:
    first: dict[str, tuple[str, Summary, int]] = {}
    for name, summary in files.items():
        for mac, line, column in summary.mac_addresses:
            known = first.setdefault(mac, (name, summary, line))
            if stem(name) != CLUSTER and not _same_host(known[0], name):
                cause = f"{known[1].file}, line {known[2]} gives another host the MAC address {mac}"
                yield Found(Rule.MAC_TWICE, summary.file, cause, "Correct one of the two", line, column)


def _cluster(files: Mapping[str, Summary]) -> Iterator[Found]:
    for name, summary in files.items():
        if stem(name) != CLUSTER:
            continue
        remedy = "Write it into the file of one host"
        for address in summary.addresses:
            if address.is_of_a_host:
                said = "every node without a file of its own gets this address", remedy
                yield at(Rule.CLUSTER_FILE, summary.file, address.node, address.path, said)
        for mac, line, column in summary.mac_addresses:
            cause = f"every node without a file of its own gets the MAC address {mac}"
            yield Found(Rule.CLUSTER_FILE, summary.file, cause, remedy, line, column)


def _same_host(one: str, other: str) -> bool:
    """Return whether two names can be files of one host: its whole name and its short name."""
    first, second = stem(one), stem(other)
    return first == second or (first.partition(".")[0] == second.partition(".")[0] and "." in first + second)
