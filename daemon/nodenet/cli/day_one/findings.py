"""Which findings does a check have in all, and how are they printed, with the lines that they are about?

Node files are judged by our rules, then by one libnmstate for all of them. Beside them are the folder, install-config,
hosts and MachineConfigs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.core.day_one import host_rules, reading, rules
from nodenet.core.day_one.document import early
from nodenet.core.day_one.host_rules import Manifest, machine_configs, of_network_config
from nodenet.core.day_one.machine_config import Cluster, Host, bare_metal_hosts, cluster_of, doubled
from nodenet.core.day_one.node_rules import Judgement, Step, Summary, broken_together, judge, machine_config_size
from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.day_one.rules import Found, Rule, misread, named_for_another_tool, of, ordered, template
from nodenet.core.errors import NodeFileInvalid, NodenetError, Unavailable, UsageInvalid
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file import policy
from nodenet.core.node_file.finding import Severity
from nodenet.core.node_file.secret import secrets_of
from nodenet.core.node_file.translate import finding_of
from nodenet.core.node_file.values import text
from nodenet.core.node_file.yaml_text import Block, Misread, Node
from nodenet.core.value import frozen

if TYPE_CHECKING:
    from nodenet.edge.nmstate.client import Transaction


def refuse(files: Mapping[str, bytes], step: Step) -> None:
    """Print what is wrong with node files that are to become an artefact: each, and all together, as `check` does.

    Raises NodeFileInvalid for an error.
    """
    judged = {file: judge(file, content, step) for file, content in files.items()}
    summaries = {Path(file).name: each.summary for file, each in judged.items() if each.summary is not None}
    together = broken_together(summaries, {Path(file).name: file for file in files})
    found = ordered([*(each for one in judged.values() for each in one.findings), *together])
    if printed([each for each in found if each.severity is Severity.ERROR]):
        wrong = len({each.file for each in found if each.severity is Severity.ERROR})
        said = "1 node file has errors" if wrong == 1 else f"{wrong} node files have errors"
        raise NodeFileInvalid(f"{said}: nothing was written", remedy="Correct them; `day-one check` has all rules")


def printed(found: Sequence[Found]) -> bool:
    """Print the findings; return whether there is an error among them."""
    if found:
        note(rules.text(found, Lines().line))
    return any(each.severity is Severity.ERROR for each in found)


class Lines:
    """The lines of the file that was asked for last."""

    def __init__(self) -> None:
        self._file = ""
        self._lines: list[str] = []

    def line(self, file: str, number: int) -> str | None:
        """Return line *number* of a file, None where there is none any more."""
        if file != self._file:
            self._file = file
            try:
                content = (
                    b"" if file.startswith("/dev/fd/") else folder.read_bytes(Path(file), folder.MOST_MANIFEST_BYTES)
                )
            except NodenetError:
                content = b""
            self._lines = content.decode(errors="replace").split("\n")
        return self._lines[number - 1] if 0 < number <= len(self._lines) else None


@frozen
class Task:
    """One file to judge: its name in the folder, where it is, how findings name it."""

    name: str
    path: Path
    shown: str


@frozen
class Result:
    """The result for one file; *summary* None: it could not be read as a node file."""

    name: str
    findings: tuple[Found, ...]
    summary: Summary | None = None


def judged(tasks: Sequence[Task], step: Step) -> list[Result]:
    """Return the result of each task. Raises Unavailable when libnmstate cannot be asked."""
    return asyncio.run(_judged(tasks, step))


def network_configs(hosts: Sequence[Host]) -> list[Found]:
    """Return what is wrong with the ``networkConfig`` of each host; libnmstate is asked, too. Raises Unavailable."""
    own = [host for host in hosts if host.network_config is not None]
    return asyncio.run(_network_configs(own)) if own else []


async def _network_configs(own: Sequence[Host]) -> list[Found]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    found: list[Found] = []
    async with Nmstate().transaction() as transaction:
        for host in own:
            document = host.network_config
            judged = of_network_config(host)
            found += judged
            if not isinstance(document, Block):
                continue
            content = json.dumps(reading.values(document)).encode()
            known = Judgement(tuple(judged), document=document)
            said = await from_libnmstate(host.file, content, known, Step.FIRST, transaction)
            place = document.line, document.column
            found += [each if each.line else replace(each, line=place[0], column=place[1]) for each in said]
    return found


async def _judged(tasks: Sequence[Task], step: Step) -> list[Result]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    async with Nmstate().transaction() as transaction:
        return [await _result(task, step, transaction) for task in tasks]


async def _result(task: Task, step: Step, transaction: Transaction) -> Result:
    try:
        content = folder.read_bytes(task.path)
    except NodeFileInvalid as error:
        return Result(task.name, (Found(Rule.TOO_LARGE, task.shown, _about(error.cause, task), error.remedy),))
    except UsageInvalid as error:
        remedy = error.remedy or "Correct its permissions, or remove it"
        return Result(task.name, (Found(Rule.UNREADABLE, task.shown, _about(error.cause, task), remedy),))
    known = judge(task.shown, content, step)
    found = [*known.findings, *await from_libnmstate(task.shown, content, known, step, transaction)]
    return Result(task.name, tuple(found), known.summary)


def _about(cause: str, task: Task) -> str:
    return cause.removeprefix(f"{task.path} ")


async def from_libnmstate(
    file: str, content: bytes, known: Judgement, step: Step, transaction: Transaction
) -> list[Found]:
    """Return libnmstate's findings about a document that breaks none of our rules. Raises Unavailable."""
    document = known.document
    if (
        document is None
        or policy.is_policy(document)
        or any(each.severity is Severity.ERROR for each in known.findings)
    ):
        return []
    found: list[Found] = []
    try:
        if step is not Step.FIRST:
            await transaction.validate(content.decode())
        if step is not Step.SECOND:
            first = json.dumps(early(reading.values(document))) if step is Step.BOTH else content.decode()
            files, said = await transaction.configurations(first)
            warned = ("", "Write into the file what is assumed")
            found += [Found(Rule.STEP_ASSUMED, file, line or warned[0], warned[1]) for line in said]
            if not files:
                cause = "libnmstate generates no keyfile from the document"
                found.append(Found(Rule.STEP_EMPTY, file, cause, "Name at least one interface that is up"))
    except ArtefactInvalid:
        return found  # said by the rules
    except NmstateFailure as failure:
        if failure.kind is not FailureKind.INVALID:
            raise Unavailable(f"{file} cannot be checked: {failure.cause}", remedy=failure.remedy) from failure
        return [*of(Rule.NMSTATE_REFUSED, file, [finding_of(failure, document, secrets_of(document))])]
    return found


def gathered(arguments: argparse.Namespace, listing: folder.Listing) -> tuple[list[Found], int]:
    """Return all findings by file and place, and how many node files there are. Raises UsageInvalid, Unavailable."""
    mapped = folder.mapped(arguments.map)
    step = Step(arguments.step)
    given = (arguments.install_config, arguments.hosts, *arguments.machine_config)
    others = {os.path.realpath(path) for path in given if path is not None}
    names = [name for name in listing.node_files if os.path.realpath(listing.place(name)) not in others]
    tasks = [Task(name, listing.place(name), str(listing.place(name))) for name in names]
    found: list[Found] = []
    summaries: dict[str, Summary] = {}
    for result in judged(tasks, step):
        found += result.findings
        if result.summary is not None:
            summaries[result.name] = result.summary
    summaries = dict(sorted(summaries.items()))
    found += broken_together(summaries, {name: str(listing.place(name)) for name in names})
    if step is not Step.FIRST:
        found += machine_config_size(summaries, str(arguments.path))
    found += _other_names(listing)
    found += _with_manifests(arguments, summaries, mapped)
    found += _changes(listing)
    return ordered(found), len(tasks)


def _other_names(listing: folder.Listing) -> Iterator[Found]:
    for name in sorted(listing.names):
        said = named_for_another_tool(name)
        if said is not None and name not in listing.node_files:
            rule, cause, remedy = said
            yield Found(rule, str(listing.place(name)), cause, remedy)


def _changes(listing: folder.Listing) -> Iterator[Found]:
    for name in listing.changed():
        remedy = "Run the check again when nothing writes to the folder"
        yield Found(Rule.CHANGED, str(listing.place(name)), "the file changed while the folder was read", remedy)


def _with_manifests(
    arguments: argparse.Namespace, summaries: dict[str, Summary], mapped: dict[str, str]
) -> Iterator[Found]:
    cluster: Cluster | None = None
    hosts: tuple[Host, ...] = ()
    if arguments.install_config is not None:
        tree, found = _tree(arguments.install_config)
        yield from found
        if not found:
            cluster, wrong = cluster_of(str(arguments.install_config), tree)
            yield from wrong
            hosts = cluster.hosts if cluster else ()
    if arguments.hosts is not None:
        manifests, found = _manifests(arguments.hosts)
        yield from found
        yield from _without(arguments.hosts, manifests, found, ("BareMetalHost", "Secret"))
        listed, wrong = bare_metal_hosts(str(arguments.hosts), [manifest.document for manifest in manifests])
        yield from wrong
        secrets = [each for each in manifests if text(each.document, "kind") == "Secret"]
        yield from host_rules.secrets(listed, secrets, summaries, mapped)
        hosts = (*hosts, *listed)
    if strange := sorted(set(mapped) - {host.name.text for host in hosts}):
        raise UsageInvalid(f"--map names the host {strange[0]}, which neither install-config nor hosts have")
    if lost := sorted(set(mapped.values()) - set(summaries)):
        raise UsageInvalid(f"--map names the node file {lost[0]}, which does not exist or cannot be read")
    yield from network_configs(hosts)
    yield from host_rules.among_each_other(hosts)
    yield from host_rules.with_files(hosts, summaries, mapped, cluster)
    if hosts:
        yield from host_rules.without_host(hosts, summaries, mapped)
    configs: list[Manifest] = []
    for path in arguments.machine_config:
        manifests, found = _manifests(path)
        yield from found
        yield from _without(path, manifests, found, ("MachineConfig",))
        configs += [each for each in manifests if text(each.document, "kind") == "MachineConfig"]
    yield from machine_configs(configs, summaries, folder.NODE_FILE_DIR)


def _without(path: Path, manifests: list[Manifest], found: list[Found], kinds: tuple[str, ...]) -> Iterator[Found]:
    """Yield a finding where a file that could be read has no object of these kinds: it is the wrong one."""
    if not found and not any(text(each.document, "kind") in kinds for each in manifests):
        yield Found(Rule.SHAPE, str(path), f"there is no {' or '.join(kinds)} in the file", "Name the right file")


def _text(path: Path) -> tuple[str, list[Found]]:
    try:
        content = folder.read_bytes(path, folder.MOST_MANIFEST_BYTES)
    except NodeFileInvalid as error:
        return "", [Found(Rule.TOO_LARGE, str(path), error.cause.removeprefix(f"{path} "), error.remedy)]
    try:
        decoded = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return "", [Found(Rule.NOT_TEXT, str(path), "not UTF-8", "Save the file as UTF-8", line)]
    placeholder = template(str(path), decoded)
    return decoded, [placeholder] if placeholder else []


def _tree(path: Path) -> tuple[Node | None, list[Found]]:
    decoded, found = _text(path)
    if found:
        return None, found
    try:
        return reading.tree(str(path), decoded), []
    except Misread as error:
        return None, [misread(str(path), error)]


def _manifests(path: Path) -> tuple[list[Manifest], list[Found]]:
    decoded, found = _text(path)
    manifests = []
    for before, document in reading.documents(decoded) if not found else ():
        try:
            tree = reading.at_line(reading.tree(str(path), document), before)
        except Misread as error:
            wrong = misread(str(path), error)
            found.append(Found(wrong.rule, wrong.file, wrong.cause, wrong.remedy, wrong.line + before, wrong.column))
            continue
        if isinstance(tree, Block):
            found += doubled(str(path), tree)
            listed = tree.get("items") if text(tree, "kind") == "List" else None
            inner = listed.items if isinstance(listed, Block) else (tree,)
            manifests += [Manifest(str(path), each) for each in inner if isinstance(each, Block)]
    return manifests, [each for each in found if each.severity is Severity.ERROR]
