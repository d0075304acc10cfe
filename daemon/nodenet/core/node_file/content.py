"""What does a node file ask for, and can it be applied, as far as that is known without looking at the network?

libnmstate gets the *text* of the file, unchanged. The tree read here is used for look-ups and findings only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from nodenet.core.node_file.addresses import LinkAddress, static_addresses
from nodenet.core.node_file.contradictions import contradictions
from nodenet.core.node_file.demands import NO_DEMANDS, Demands, demands
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.finding import Finding, errors, ordered, refusal
from nodenet.core.node_file.gateways import unreachable_gateways
from nodenet.core.node_file.keys import wrong_keys
from nodenet.core.node_file.links import Links, links_of
from nodenet.core.node_file.secret import NO_SECRETS, Secrets, secrets_of
from nodenet.core.node_file.values import interfaces, text, wrong_values
from nodenet.core.node_file.yaml_text import Block, Node, load
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
