"""Which findings does a check have in all: from node files, folder, install-config, hosts and MachineConfigs?"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.cli.day_one.batch import Task, judged, network_configs
from nodenet.core.day_one import folder_rules, host_rules, manifest_rules, reading
from nodenet.core.day_one.found import Found, misread, ordered
from nodenet.core.day_one.hosts import Cluster, Host, bare_metal_hosts, cluster_of, doubled
from nodenet.core.day_one.manifest_rules import Manifest
from nodenet.core.day_one.node_rules import Step, Summary
from nodenet.core.day_one.recognise import named_for_another_tool, template
from nodenet.core.day_one.rules import Rule
from nodenet.core.errors import NodeFileInvalid, UsageInvalid
from nodenet.core.node_file.finding import Severity
from nodenet.core.node_file.values import text
from nodenet.core.node_file.yaml_text import Block, Misread, Node


def gathered(
    arguments: argparse.Namespace, listing: folder.Listing, done: Callable[[int], None]
) -> tuple[list[Found], int]:
    """Return all findings by file and place, and how many node files there are. Raises UsageInvalid, Unavailable."""
    mapped = folder.mapped(arguments.map)
    step = Step(arguments.step)
    given = (arguments.install_config, arguments.hosts, *arguments.machine_config)
    others = {os.path.realpath(path) for path in given if path is not None}
    names = [name for name in listing.node_files if os.path.realpath(listing.place(name)) not in others]
    tasks = [Task(name, listing.place(name), str(listing.place(name))) for name in names]
    found: list[Found] = []
    summaries: dict[str, Summary] = {}
    for result in judged(tasks, step, done):
        found += result.findings
        if result.summary is not None:
            summaries[result.name] = result.summary
    summaries = dict(sorted(summaries.items()))
    found += folder_rules.broken(summaries, {name: str(listing.place(name)) for name in names})
    if step is not Step.FIRST:
        found += folder_rules.machine_config_size(summaries, str(arguments.path))
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
        yield from manifest_rules.secrets(listed, secrets, summaries, mapped)
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
    yield from manifest_rules.machine_configs(configs, summaries, folder.NODE_FILE_DIR)


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
