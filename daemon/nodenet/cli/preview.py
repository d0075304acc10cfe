"""What would a node file change on this node, and how is that printed?

libnmstate compares the file with the running state, as nodenetd does; the daemon itself is not needed.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any

from nodenet.cli import status
from nodenet.cli.outputs import printable
from nodenet.core.apply.renamed import in_words
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.errors import NodeFileInvalid, NodenetError, NotAllowed, PublishFailed, Unavailable, UsageInvalid
from nodenet.core.history.entry import Result
from nodenet.core.history.shown import left_over, left_over_lines, named_in, network
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.nmstate.state import uplinks
from nodenet.core.node_file import find
from nodenet.core.node_file.content import Desired, parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.finding import errors, refusal
from nodenet.core.node_file.links import with_names
from nodenet.core.ownership import rule
from nodenet.core.ownership.things import Others
from nodenet.core.trial.refusals import Change, Node, changes, meaning
from nodenet.core.value import frozen
from nodenet.edge import report
from nodenet.edge.files import disk, node_file
from nodenet.edge.files import settings as settings_files
from nodenet.edge.kernel.netlink import noted
from nodenet.edge.nmstate.client import Nmstate
from nodenet.edge.open_vswitch import Ovsdb
from nodenet.stages.apply.node_file import NodeFiles, all_findings
from nodenet.stages.apply.policies import Policies, own_part, resolved

STDIN = Path("-")
BRIDGES = (BRIDGE, EXTRA_BRIDGE)


@frozen
class Preview:
    """What *file* changes, what that *means* for the node, and what was not compared (*notes*)."""

    file: NodeFile
    changes: tuple[Change, ...]
    means: tuple[str, ...]
    notes: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    """What earlier files made and this one does not name, by the entry of the history."""

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "schema_version": 1,
            "node_file": self.file.name,
            "digest": self.file.digest,
            "changes": [asdict(change) for change in self.changes],
            "means": list(self.means),
            "notes": list(self.notes),
            "left_over": list(self.left_over),
        }

    def text(self) -> str:
        """Return it for people."""
        if not self.changes:
            left_over_lines = [f"{self.file.name} changes nothing on this node."]
        else:
            width = max(len(change.key) for change in self.changes)
            left_over_lines = []
            for place, group in groupby(self.changes, lambda change: change.place):
                left_over_lines += [
                    place,
                    *(f"  {one.key:<{width}}  {one.before or '-'} -> {one.after or '-'}" for one in group),
                ]
        left_over_lines += [f"Attention: {each}." for each in self.means]
        left_over_lines += [f"Note: {each}." for each in self.notes]
        left_over_lines += [
            f"Left over from {each}; `nodenetctl reload --prune` removes that." for each in self.left_over
        ]
        return "\n".join(map(printable, left_over_lines))


def read(path: Path) -> NodeFile:
    """Return the file at *path*, or standard input. Raises UsageInvalid, NodeFileInvalid."""
    if path == STDIN:
        return find.read("standard input", node_file.whole("standard input", sys.stdin.buffer))
    try:
        with path.open("rb") as opened:
            return find.read(path.name, node_file.whole(path, opened))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise UsageInvalid(f"{path} is not a file") from error


def own() -> NodeFile:
    """Return this node's node file. Raises UsageInvalid where it has none, NodenetError."""
    path = own_path()
    return NodeFiles(disk, Nmstate(), path.parent).read(path.name, own_name())


def own_path() -> PurePath:
    """Return the path of this node's node file. Raises UsageInvalid where it has none, NodenetError."""
    directory = _directory()
    search = NodeFiles(disk, Nmstate(), directory).find(own_name())
    if search.found is None:
        raise UsageInvalid(f"this node has no node file in {directory}", remedy="Name a file")
    return directory / search.found


def _directory() -> PurePath:
    from nodenet.core.settings import parse  # noqa: PLC0415

    return PurePath(parse.parse(settings_files.read()).settings.node_file_dir)


def own_name() -> str:
    """Return the name by which the node file is found: nodenetd's, else the kernel's."""
    from nodenet.core.hostname import normalised  # noqa: PLC0415

    document = status.read() or {}
    return str(document.get("hostname") or normalised(Path("/proc/sys/kernel/hostname").read_text(encoding="ascii")))


async def preview(file: NodeFile) -> Preview:
    """Return what *file* would change. Raises NodeFileInvalid, Unavailable, NotAllowed."""
    try:
        return await _compared(file)
    except NmstateFailure as failure:
        raise not_compared(file.name, failure) from failure


def not_compared(name: str, failure: NmstateFailure) -> NodenetError:
    """Return why the file *name* could not be compared with this node: *failure*, with the exit code that fits it."""
    return not_answered(f"{name} cannot be compared with this node", failure)


def not_answered(what: str, failure: NmstateFailure) -> NodenetError:
    """Return *failure* of libnmstate with the exit code that fits it; *what* could not be done."""
    cause = f"{what}: {failure.cause}"
    if failure.kind is FailureKind.PERMISSION:
        return NotAllowed(cause)
    kind = NodeFileInvalid if failure.kind is FailureKind.INVALID else Unavailable
    return kind(cause, remedy=failure.remedy)


async def own_network() -> dict[str, Any]:
    """Return the network that the captures of a policy see here, without secrets. Raises Unavailable, NotAllowed."""
    try:
        async with Nmstate().transaction() as transaction:
            return own_part(await transaction.show(), await _others())
    except NmstateFailure as failure:
        raise not_answered("libnmstate cannot show the network", failure) from failure


async def _others() -> Others:
    """Return what other programs have on links and bridges: it is no difference. Raises Unavailable."""
    ovsdb, found = Ovsdb(), noted()
    try:
        bridges = await ovsdb.bridges() if ovsdb.answers() else ()
    except NotAllowed:  # only root may ask it
        bridges = ()
    return Others(found, frozenset(rule.foreign_ports(bridges)))


async def _compared(file: NodeFile) -> Preview:
    async with Nmstate().transaction() as transaction:
        judged = await all_findings(file, transaction)
        if judged.desired.is_policy and not errors(judged.findings):
            file = _known(file)
            if not file.policy:
                file = await resolved(file, transaction, await _others())
            judged = await all_findings(file, transaction)
        if wrong := errors(judged.findings):
            raise refusal(file.name, wrong)
        if judged.desired.empty:
            return Preview(file, (), ())
        shown = status.read() or {}
        text, wish, renamed = _with_names_of_now(file, judged.desired, shown)
        state = await transaction.show()
        above = tuple(bridge for bridge in BRIDGES if bridge not in wish.bridges)
        below = uplinks(state, above) & wish.links.existing
        if below:
            difference = await transaction.difference_below(text, above, await _others())
        else:
            difference = await transaction.difference(text, await _others())
    notes = tuple(f"{link} is below a bridge that has its IP configuration, which is not compared" for link in below)
    node = Node(tuple(shown.get("node_ips", ())), shown.get("link"), shown.get("bridge"))
    hidden = wish.secrets.hidden_in
    found = tuple(Change(one.place, one.key, one.before, hidden(one.after)) for one in changes(difference, state))
    left = tuple(left_over_lines(_left_over(wish, state)))
    return Preview(file, found, meaning(difference, state, node), (*renamed, *sorted(notes)), left)


def _known(file: NodeFile) -> NodeFile:
    """Return the policy *file* with the document that nodenetd keeps, if it keeps one. Raises NotAllowed."""
    try:
        return Policies(disk, _directory()).known(file)
    except PublishFailed as error:
        raise NotAllowed(f"the document of the policy {file.name} cannot be read: {error.cause}") from error


def _with_names_of_now(file: NodeFile, wish: Desired, shown: dict[str, Any]) -> tuple[str, Desired, tuple[str, ...]]:
    """Return the text of *file* and what it asks for by the names that nodenetd uses, and the note about them."""
    found = [(each["name"], each["link"], each["mac"]) for each in shown.get("renamed") or ()]
    if not found or shown.get("digest") != file.digest or wish.document is None:
        return file.text, wish, ()
    text = with_names(file.text, wish.document, {name: now for name, now, _ in found})
    if text is None:
        return file.text, wish, ()
    return text, parse(replace(file, text=text)), (in_words(found),)


def _left_over(wish: Desired, state: dict[str, Any]) -> dict[str, Any]:
    last = next((each for each in report.history() if each.result is Result.COMMITTED), None)
    return left_over(last.owned, named_in(wish.document), network(state)) if last else {}
