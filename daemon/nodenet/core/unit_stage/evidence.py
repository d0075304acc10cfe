"""A unit did the work of a stage: what proves it, and which facts follow from it?

A unit that ended well is believed only when what the stage publishes is there. One table: a stage, what must be
found, and the facts that follow. The paths are those for which the node's other software waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import PurePosixPath

from nodenet.core.boot.facts import Facts
from nodenet.core.hostname.name import normalised, why_invalid
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_file import content as desired
from nodenet.core.node_file import find as node_file
from nodenet.core.node_ip import published_files
from nodenet.core.node_ip.published_files import BRIDGE_UP, IPV4, IPV6, PRIMARY, REMOTE_WORKER
from nodenet.core.node_ip.select import Selection
from nodenet.core.resolver.view import DONE
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

UNIT = "unit:"
NODE_IP_FILES = (PRIMARY, IPV4, IPV6)


@frozen
class Applied:
    """The marker, a copy of the applied file: its digest, and what the file asked for; None if it cannot be read."""

    digest: str | None = None
    brings_bridge: bool = False


@frozen
class Evidence:
    """What was found: the host's name, the names beside the node files, files by path, and the kernel's state."""

    hostname: str = ""
    listing: tuple[str, ...] = ()
    applied: Applied | None = None
    """What the marker beside the node files says, None where there is none."""
    files: Mapping[PurePosixPath, bytes] = field(default_factory=dict)
    """Those of WATCHED that exist."""
    snapshot: Snapshot = field(default_factory=Snapshot)


WATCHED = (*NODE_IP_FILES, REMOTE_WORKER, DONE, BRIDGE_UP)


@frozen
class Proof:
    """*missing* says what is not there yet, None when all is; *learnt* adds the facts that follow from it."""

    missing: Callable[[Evidence], str | None] = lambda _: None
    learnt: Callable[[Evidence, Facts], Facts] = lambda _, facts: facts


def _no_hostname(found: Evidence) -> str | None:
    problem = why_invalid(normalised(found.hostname))
    return f"the host name {found.hostname!r} is not valid: {problem}" if problem else None


def _hostname(found: Evidence, facts: Facts) -> Facts:
    return replace(facts, hostname=normalised(found.hostname))


def _not_applied(found: Evidence) -> str | None:
    if found.applied is None and node_file.search(None, found.listing).found:
        return "there is a node file and no marker `applied` beside it"
    return None


def _network(found: Evidence, facts: Facts) -> Facts:
    """Read from the marker what the applied file asked for."""
    if found.applied is None or found.applied.digest is None:
        return facts
    return replace(facts, applied_digest=found.applied.digest, brings_bridge=found.applied.brings_bridge)


def _not_there(path: PurePosixPath) -> Callable[[Evidence], str | None]:
    return lambda found: None if path in found.files else f"{path} is not there"


def _no_node_ip(found: Evidence) -> str | None:
    if PRIMARY not in found.files:
        return f"{PRIMARY} is not there"
    published, _ = published_files.node_ips(found.files)
    if not published:
        return f"{PRIMARY} contains something that is not an address"
    if _link_of(found, published[0]) is None:
        return f"{published[0]} of {PRIMARY} is on no link of this node"
    return None


def _link_of(found: Evidence, address: IPAddress) -> str | None:
    return next((known.link for known in found.snapshot.addresses if known.address == address), None)


def _selection(found: Evidence, facts: Facts) -> Facts:
    published, _ = published_files.node_ips(found.files)
    selection = Selection(published, _link_of(found, published[0]), remote_worker=REMOTE_WORKER in found.files)
    return replace(facts, selection=selection)


def _no_bridge(found: Evidence) -> str | None:
    if BRIDGE_UP in found.files or _has_bridge(found):
        return None
    return f"there is neither {BRIDGE_UP} nor a link {desired.BRIDGE}"


def _has_bridge(found: Evidence) -> bool:
    return any(link.name == desired.BRIDGE for link in found.snapshot.links)


def _bridge(found: Evidence, facts: Facts) -> Facts:
    if not _has_bridge(found):
        return facts
    selection = facts.selection
    if selection and selection.node_ips and (link := _link_of(found, selection.node_ips[0])):
        selection = replace(selection, link=link)  # the node IP may have moved to it
    return replace(facts, bridge=desired.BRIDGE, selection=selection)


PROOFS: Mapping[StageName, Proof] = {
    StageName.HOSTNAME: Proof(_no_hostname, _hostname),
    StageName.NMSTATE: Proof(_not_applied, _network),
    StageName.RESOLV_PREPENDER: Proof(_not_there(DONE)),
    StageName.NODEIP: Proof(_no_node_ip, _selection),
    StageName.CONFIGURE_OVS: Proof(_no_bridge, _bridge),
}
"""Of a stage that is not here nothing is known: the good end of its unit is believed."""


def proof_of(stage: StageName) -> Proof:
    """Return what a unit that does *stage* must leave behind."""
    return PROOFS.get(stage, Proof())


def unit_of(provider: str) -> str | None:
    """Return the unit that *provider* names, None when it names none."""
    return provider.removeprefix(UNIT) if provider.startswith(UNIT) else None
