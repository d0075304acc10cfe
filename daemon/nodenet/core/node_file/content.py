"""What does a node file ask for, and can it be applied, as far as that is known without looking at the network?

libnmstate gets the *text* of the file, unchanged. The tree read here is used for look-ups and findings only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from ipaddress import ip_address

from nodenet.core.hostname import normalised, why_invalid
from nodenet.core.ip import IPAddress, IPNetwork, is_like_masquerade, is_masquerade
from nodenet.core.node_file import policy
from nodenet.core.node_file.contradictions import LinkAddress, contradictions, static_addresses, unreachable_gateways
from nodenet.core.node_file.find import CLUSTER, EXTENSIONS, NodeFile, Rivals
from nodenet.core.node_file.finding import Finding, Severity, errors, ordered, refusal, shown
from nodenet.core.node_file.keys import wrong_keys
from nodenet.core.node_file.links import NO_DEMANDS, Demands, Links, demands, links_of
from nodenet.core.node_file.secret import NO_SECRETS, Secrets, secrets_of
from nodenet.core.node_file.values import interfaces, text, wrong_values
from nodenet.core.node_file.yaml_text import Block, Node, Scalar, load
from nodenet.core.value import frozen

BRIDGE = "br-ex"
OVS_KEYS = ("ovs-db", "ovn")
"""Top-level keys that libnmstate writes into Open vSwitch's database (nmstate's API reference)."""
NO_LINKS = Links()


@frozen
class Desired:
    """The look-ups: *empty*: nothing but comments; *uses_ovs*: Open vSwitch must be there first."""

    empty: bool
    uses_ovs: bool = False
    bridges: frozenset[str] = frozenset()
    """What it brings itself of Open vSwitch."""
    secrets: Secrets = NO_SECRETS
    """Values that must not get into journal, status or bus."""
    links: Links = NO_LINKS
    """The links that it configures."""
    addresses: tuple[LinkAddress, ...] = ()
    """The static addresses that it gives them."""
    demands: Demands = NO_DEMANDS
    """The leases and gateways that it asks for."""
    document: Block | None = field(default=None, compare=False, repr=False)
    """The tree, for look-ups under other names of its links; it may contain secrets."""
    is_policy: bool = False
    """It is an NMState policy: what it asks for is known once it is resolved on a host."""

    @property
    def stated(self) -> frozenset[IPAddress]:
        """The static addresses, whatever their links."""
        return frozenset(address for _, address in self.addresses)

    @property
    def brings_bridge(self) -> bool:
        """Whether configure-ovs has nothing to do."""
        return BRIDGE in self.bridges


@frozen
class Judged:
    """The look-ups of a file, everything that is wrong with it, and the document itself."""

    desired: Desired
    findings: tuple[Finding, ...] = ()
    document: Node | None = None


def parse(file: NodeFile) -> Desired:
    """Return the look-ups of a node file. Raises NodeFileInvalid naming file, line and remedy.

    A file of the largest size takes seconds: not on the loop (``stages.apply.node_file``).
    """
    judged = judge(file)
    if found := errors(judged.findings):
        raise refusal(file.name, found)
    return judged.desired


def judge(file: NodeFile) -> Judged:
    """Return everything that is known about a node file offline. Raises NodeFileInvalid where it is no YAML."""
    document = load(file.name, file.text)
    if document is None:
        return Judged(Desired(empty=True))
    if not isinstance(document, Block) or document.is_list:
        cause = "not a mapping of NMState keys"
        finding = Finding(
            cause, "An NMState document begins with keys such as `interfaces:`", document.line, document.column
        )
        return Judged(Desired(empty=False), (finding,), document)
    if policy.is_policy(document):
        filled = policy.template(document)
        bridges = _desired(filled).bridges if filled else frozenset[str]()
        wish = Desired(empty=False, bridges=bridges, secrets=secrets_of(document), is_policy=True)
        return Judged(wish, ordered(policy.findings(document)), document)
    return Judged(_desired(document), ordered(_findings(document)), document)


def _findings(document: Block) -> Iterator[Finding]:
    """Yield what is wrong, without what only follows from it: a mistyped key is not missing, and has no gateway."""
    keys = list(wrong_keys(document))
    yield from keys
    mistyped_in = {each.key.rpartition(".")[0] for each in keys}
    values = [each for each in wrong_values(document) if each.key not in mistyped_in or not each.is_missing]
    yield from values
    yield from contradictions(document)
    if not errors([*keys, *values]):
        yield from unreachable_gateways(document)


def secrets_in(text: str) -> Secrets:
    """Return the secrets of a document. Raises NodeFileInvalid when it cannot be read."""
    return secrets_of(load("the document", text))


def _desired(document: Block) -> Desired:
    present = [link for _, link in interfaces(document) if text(link, "state") != "absent"]
    return Desired(
        empty=False,
        uses_ovs=any(document.get(key) is not None for key in OVS_KEYS) or any(_is_ovs(link) for link in present),
        bridges=frozenset(text(link, "name") for link in present if _is_ovs(link)),
        secrets=secrets_of(document),
        links=links_of(present),
        addresses=tuple(static_addresses(present)),
        demands=demands(document),
        document=document,
    )


def _is_ovs(link: Block) -> bool:
    return text(link, "type").startswith("ovs-")


# What is wrong with the node files of a directory when they are looked at together?

EMPTY = "the file asks for nothing, and {} would be the node file without it"


def cross_findings(
    files: Mapping[str, Judged | None], beside: Sequence[str], masquerade: Sequence[IPNetwork] = ()
) -> dict[str, list[Finding]]:
    """Return what is wrong with each of the *files* beside the others; None: it could not be read.

    *beside* are all names of the directory, *masquerade* the subnets that OVN-Kubernetes has beside its defaults.
    """
    found: dict[str, list[Finding]] = {name: [] for name in files}
    for name, finding in (*_twins(beside), *_names(beside), *_empty(files, beside), *_same_address(files, masquerade)):
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


def _same_address(files: Mapping[str, Judged | None], masquerade: Sequence[IPNetwork]) -> Iterator[tuple[str, Finding]]:
    """Yield the static addresses that the files of two hosts have, and those that every node would get."""
    first: dict[str, tuple[str, int]] = {}
    for name, judged in files.items():
        for node, path in _addresses(judged, masquerade):
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


def _addresses(judged: Judged | None, masquerade: Sequence[IPNetwork]) -> Iterator[tuple[Scalar, str]]:
    document = judged.document if judged else None
    for path, link in interfaces(document) if isinstance(document, Block) else ():
        if text(link, "type") == "loopback" or text(link, "state") == "absent":
            continue
        for family in ("ipv4", "ipv6"):
            section = link.get(family)
            entries = section.get("address") if isinstance(section, Block) else None
            for number, entry in enumerate(entries.items if isinstance(entries, Block) else ()):
                ip = entry.get("ip") if isinstance(entry, Block) else None
                length = text(entry, "prefix-length") if isinstance(entry, Block) else ""
                if isinstance(ip, Scalar) and _is_unique(text(link, "name"), ip.text, length, masquerade):
                    yield ip, f"{path}.{family}.address[{number}].ip"


def _is_unique(link: str, value: str, length: str, masquerade: Sequence[IPNetwork]) -> bool:
    """Whether *value* is an address that one host alone may have."""
    try:
        address = ip_address(value)
    except ValueError:
        return False
    alike = address.version == 6 and length.isdecimal() and is_like_masquerade(link, int(address), int(length[:4]))
    return not (address.is_loopback or address.is_link_local or is_masquerade(address, masquerade) or alike)


def _warning(cause: str, remedy: str) -> Finding:
    return Finding(cause, remedy, severity=Severity.WARNING)
