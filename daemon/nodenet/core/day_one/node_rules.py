"""Which rules does one node file break, and what of its content is compared with the other files?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from hashlib import sha256

from nodenet.core.day_one import reading
from nodenet.core.day_one.document import early
from nodenet.core.day_one.links import (
    DEFAULTS,
    Address,
    addresses,
    broken,
    child,
    gateways,
    is_automatic,
    refusals,
    refusals_below,
    routes,
    warnings,
)
from nodenet.core.day_one.machine_config import MOST_BYTES, size_with
from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.day_one.rules import Found, Rule, at, misread, of, other_document, other_format, template
from nodenet.core.hostname import normalised, why_invalid
from nodenet.core.node_file import policy
from nodenet.core.node_file.contradictions import contradictions, unreachable_gateways
from nodenet.core.node_file.find import CLUSTER, Rivals
from nodenet.core.node_file.finding import Finding, Severity, errors
from nodenet.core.node_file.keys import wrong_keys
from nodenet.core.node_file.values import interfaces, present, text, wrong_values
from nodenet.core.node_file.yaml_text import Block, Misread, Node
from nodenet.core.value import frozen

OVS = ("ovs-bridge", "ovs-interface")


class Step(Enum):
    """What the node files are for: the image (first), the running node (second), or both from one file."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


@frozen
class Shape:
    """What a document gives a host, for comparison: addresses, default gateways, and the links below them."""

    addresses: frozenset[str] = frozenset()
    gateways: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()


@frozen
class Summary:
    """What the rules between files need of one node file."""

    file: str
    empty: bool = False
    addresses: tuple[Address, ...] = ()
    mac_addresses: tuple[tuple[str, int, int], ...] = ()
    shape: Shape = Shape()
    ways: frozenset[str] = frozenset()
    """Interfaces that default routes leave by."""
    automatic: bool = False
    size: int = 0
    digest: str = ""
    is_policy: bool = False
    """What it gives the host is known on the running host only."""


@frozen
class Judgement:
    """The findings of one file, its summary where it could be read, and the tree."""

    findings: tuple[Found, ...]
    summary: Summary | None = None
    document: Block | None = None


def judge(file: str, content: bytes, step: Step) -> Judgement:
    """Return what is wrong with one node file, as far as it is known without libnmstate."""
    summary = Summary(file, size=len(content), digest=sha256(content).hexdigest())
    try:
        decoded = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        cause = f"not UTF-8 (byte 0x{content[error.start]:02x})"
        return Judgement((Found(Rule.NOT_TEXT, file, cause, "Save the file as UTF-8", line),))
    if decoded.startswith("\ufeff"):
        said = "the file begins with a byte order mark (U+FEFF)", "Save the file as UTF-8 without a byte order mark"
        return Judgement((Found(Rule.NOT_TEXT, file, *said, 1, 1),))
    if foreign := other_format(file, decoded) or template(file, decoded):
        return Judgement((foreign,))
    try:
        tree = reading.tree(file, decoded)
    except Misread as error:
        return Judgement((misread(file, error),))
    return _of_tree(file, tree, summary, step)


def _of_tree(file: str, tree: Node | None, summary: Summary, step: Step) -> Judgement:
    if tree is None:
        return Judgement((), replace(summary, empty=True))
    if foreign := other_document(file, tree):
        return Judgement((foreign,))
    if not isinstance(tree, Block) or tree.is_list:
        said = "not a mapping of NMState keys", "An NMState document begins with keys such as `interfaces:`"
        return Judgement((Found(Rule.NO_DOCUMENT, file, *said, tree.line, tree.column),))
    found = judged_tree(file, tree, step)
    if policy.is_policy(tree):
        return Judgement(tuple(found), replace(summary, is_policy=True), tree)
    return Judgement(tuple(found), summarised(summary, tree), tree)


def judged_tree(file: str, tree: Block, step: Step) -> list[Found]:
    """Return what is wrong with a document that is a mapping."""
    if policy.is_policy(tree):
        return [
            *(_no_host(file, tree) if step is not Step.SECOND else ()),
            *of(Rule.POLICY, file, policy.findings(tree)),
        ]
    by_key = list(wrong_keys(tree))
    contradicting = list(contradictions(tree))
    return [
        *(each for finding in by_key for each in of(_rule_of(finding), file, [finding])),
        *of(Rule.NMSTATE_VALUE, file, [*wrong_values(tree), *errors(contradicting)]),
        *of(Rule.EQUAL_ROUTES, file, [each for each in contradicting if each.severity is Severity.WARNING]),
        *of(Rule.NEXT_HOP, file, unreachable_gateways(tree)),
        *undefined(file, tree),
        *_of_steps(file, tree, step),
        # A mistyped key is the cause of what seems to be missing: only the cause is reported.
        *(warnings(file, tree) if step is not Step.SECOND and not by_key else ()),
    ]


def _no_host(file: str, tree: Block) -> Iterator[Found]:
    key = tree.entries[0][0]
    cause = "this is an NMState policy: it looks at the network of a running host, and the image has none"
    remedy = "Write a state for the first step; a policy is for the second: --step second"
    yield Found(Rule.POLICY, file, cause, remedy, key.line, key.column, key.text)


def summarised(summary: Summary, tree: Block) -> Summary:
    """Return the summary with what the document says."""
    macs = (
        (node.text.lower(), node.line, node.column)
        for _, link in interfaces(tree)
        if (node := child(link, "mac-address")) is not None and not isinstance(node, Block)
    )
    ways = (text(route, "next-hop-interface") for _, route in routes(tree) if text(route, "destination") in DEFAULTS)
    return replace(
        summary,
        addresses=tuple(addresses(tree)),
        mac_addresses=tuple(macs),
        shape=shape_of(tree),
        ways=frozenset(ways),
        automatic=any(is_automatic(link) for _, link in present(tree)),
    )


def shape_of(tree: Block) -> Shape:
    """Return what the document gives a host; an address of br-ex is on the link below it."""
    below = _below(tree)
    listed = [address for address in addresses(tree) if address.is_of_a_host]
    return Shape(
        frozenset(str(address.value) for address in listed),
        frozenset(gateways(tree)),
        frozenset(below.get(address.interface, address.interface) for address in listed),
    )


def undefined(file: str, tree: Block) -> Iterator[Found]:
    """Yield the routes that leave by an interface which the document does not describe."""
    names = {text(link, "name") for _, link in interfaces(tree)} | {"lo"}
    for path, route in routes(tree):
        link = route.get("next-hop-interface")
        if link is not None and (name := text(route, "next-hop-interface")) and name not in names:
            said = (
                f"the document does not describe an interface {name}",
                f"Add {name} to `interfaces`, or correct the name",
            )
            yield at(Rule.UNDEFINED, file, link, f"{path}.next-hop-interface", said)


def _rule_of(finding: Finding) -> Rule:
    return Rule.KEY_TWICE if "duplicate key" in finding.cause else Rule.NMSTATE_KEY


def _of_steps(file: str, tree: Block, step: Step) -> Iterator[Found]:
    if step is Step.FIRST:
        yield from refusals(file, tree)
    else:
        yield from broken(file, tree)
    if step is Step.BOTH:
        yield from refusals_below(file, tree)
        yield from _not_derived(file, tree)


def _not_derived(file: str, tree: Block) -> Iterator[Found]:
    """Yield why the first step cannot be derived from a document with Open vSwitch."""
    bridge = next((link for _, link in interfaces(tree) if text(link, "type") in OVS), None)
    if bridge is None:
        return
    try:
        early(reading.values(tree))
    except ArtefactInvalid as error:
        cause, _, remedy = str(error).rpartition(": ")
        remedy = remedy[:1].upper() + remedy[1:]
        yield Found(
            Rule.STEP_OVS, file, f"the first step cannot be derived: {cause}", remedy, bridge.line, bridge.column
        )


def _below(tree: Block) -> dict[str, str]:
    """Return the link below each internal interface of a bridge that has one."""
    internal = {text(link, "name") for _, link in interfaces(tree) if text(link, "type") == "ovs-interface"}
    found: dict[str, str] = {}
    for _, link in interfaces(tree):
        if text(link, "type") == "ovs-bridge":
            ports = child(link, "bridge", "port")
            names = [text(port, "name") for port in getattr(ports, "items", ()) if isinstance(port, Block)]
            outside = [name for name in names if name not in internal]
            if len(outside) == 1:
                found |= {name: outside[0] for name in names if name in internal}
    return found


# Which rules do the node files of a folder break when they are looked at together?


def broken_together(files: Mapping[str, Summary], shown: Mapping[str, str]) -> Iterator[Found]:
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
