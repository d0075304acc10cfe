"""What would new node files do to each node of a fleet? Computed from saved documents; no node is asked."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

from nodenet.cli import fleet
from nodenet.cli.outputs import Table, has_colours, note, printable
from nodenet.core.errors import NodeFileInvalid, NodenetError, SettingsInvalid, UsageInvalid
from nodenet.core.fleet import odd, what_if
from nodenet.core.fleet.host import Host
from nodenet.core.fleet.what_if import REFUSED, Known, NewFiles, Outcome
from nodenet.core.nmstate.failure import NmstateFailure, shaped
from nodenet.core.node_file.content import is_node_file
from nodenet.core.node_file.find import read as read_file
from nodenet.core.node_file.policy import KEYS, parse_record
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.policy_from_settings import read_policy
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import parse
from nodenet.edge.files import node_file

DESCRIPTION = """Show for each node of a fleet what new node files would do to it: whether its file would be taken,
which node IP, uplink, addresses, default routes and MTU it has afterwards, whether it loses a way out, which address
several hosts would have, what is left over, and an order for the roll-out. DIR is as for `nodenetctl fleet`. The
network after the file is a prediction from the snapshot of the node: leases that it does not have yet are not known.
Run `nodenetctl check` on the files as well: only it asks libnmstate."""
EPILOG = """exit codes: 0 every file is taken and no node has a problem, 1 a node has a problem or is not known,
64 wrong option or directory, 65 a file is refused, 78 invalid settings."""
MOST_SETTINGS = 1 << 20
MOST_NAMED = 40
"""Hosts of a wave that are printed; the document has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    fleet.add_reading(parser)
    add = parser.add_argument
    add("--files", type=Path, required=True, metavar="DIR", help="the new node files, with hosts.csv if they need it")
    add("--settings", type=Path, metavar="FILE", help="the settings of all nodes (default: those in each report)")
    add("--json", action="store_true", help="print a JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Print the outcomes; return the exit code. Raises UsageInvalid, SettingsInvalid."""
    files = _new_files(arguments.files)
    given = _policy_of(arguments.settings) if arguments.settings else None
    left_out: list[tuple[str, str]] = []
    found: list[tuple[Host, Outcome]] = []
    for one, saved in fleet.hosts_of(arguments, left_out, _of_policies(files)):
        policy, said = (given, ()) if given else policy_of_report(saved.documents.get("settings.txt"))
        made = what_if.outcome(one, files, policy, _known(one, saved.documents))
        found.append((fleet.without_network(one), what_if.with_notes(made, said)))
    kept, _ = odd.newest([one for one, _ in found])
    by_place = {one.place: made for one, made in found}
    outcomes = what_if.duplicates([by_place[one.place] for one in kept])
    waves = what_if.roll_out(outcomes)
    left_out += [(name, "it is the file of none of these hosts") for name in files.of_no_host(one.name for one in kept)]
    if arguments.json:
        print(json.dumps(_document(outcomes, waves, left_out), indent=1))
    else:
        _print(outcomes, waves, left_out)
    refused = any(one.verdict == REFUSED for one in outcomes)
    return 65 if refused else int(any(one.problems for one in outcomes))


def _new_files(directory: Path) -> NewFiles:
    """Return the new files. Raises UsageInvalid for what is no folder of node files."""
    if not directory.is_dir():
        raise UsageInvalid(f"{directory} is not a folder", remedy="Name the folder with the new node files")
    names = node_file.listing(PurePath(directory))
    if not any(name.endswith((".yml", ".yaml")) for name in names):
        raise UsageInvalid(f"{directory} has no node file", remedy="Node files end in .yml or .yaml")
    contents: dict[str, bytes] = {}

    def read(name: str) -> bytes:
        if name not in contents:
            contents[name], _ = node_file.look(PurePath(directory), name)
        return contents[name]

    return NewFiles(names, read)


def _policy_of(path: Path) -> Policy:
    """Return what the settings file *path* asks for. Raises UsageInvalid, SettingsInvalid."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_SETTINGS)
    except OSError as error:
        raise UsageInvalid(f"{path} cannot be read: {error.strerror}") from error
    return _read(str(path), text)


def _read(path: str, text: bytes) -> Policy:
    settings: Settings = parse([(path, text)]).settings
    return read_policy(settings, None).policy


def policy_of_report(printed: bytes | None) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy of the settings that `nodenetctl settings` has *printed*, and notes about missing settings."""
    if printed is None:
        return Policy(), ("its settings are not known: the defaults are used",)
    try:
        return _read("settings.txt", settings_of_report(printed).encode()), ()
    except SettingsInvalid as error:
        return Policy(), (f"its settings cannot be read, the defaults are used: {error.cause}",)


def settings_of_report(printed: bytes) -> str:
    """Return the settings that `nodenetctl settings` has *printed*, as TOML."""
    lines: list[str] = []
    for line in printed.decode(errors="replace").splitlines():
        key, _, rest = line.partition(" ")
        try:
            _, end = json.JSONDecoder().raw_decode(rest := rest.strip())
        except ValueError:
            continue
        lines.append(f"{key} = {rest[:end]}")
    return "\n".join(lines)


def _known(one: Host, documents: Mapping[str, bytes]) -> Known:
    """Return what the report has beside the snapshot; secrets are hidden in it."""
    old, network, resolved = None, None, dict[str, str]()
    with suppress(NodeFileInvalid):
        if content := documents.get(f"node-files/{one.node_file}.json"):
            old = read_file(one.node_file, content)
    with suppress(ValueError, RecursionError):
        resolved = parse_record(documents.get("policies.json", b""))
    with suppress(ValueError, RecursionError, NmstateFailure):
        network = _with_names(shaped(json.loads(documents.get("network.json", b""))))
    return Known(old, network, resolved)


def _with_names(network: dict[str, Any]) -> dict[str, Any] | None:
    """Return *network*, None if it has an interface without name or type: libnmstate makes none."""
    links = network.get("interfaces", ())
    return network if all(isinstance(each.get(key), str) for each in links for key in ("name", "type")) else None


def _of_policies(files: NewFiles) -> tuple[str, ...]:
    """Return which parts of a report the new files need: a policy needs those that few others do."""
    for name in files.listing:
        with suppress(NodenetError):
            if is_node_file(name) and any(key.encode() in files.read(name) for key in KEYS):
                return ("network.json", "policies.json")
    return ()


def _document(outcomes: list[Outcome], waves: list[list[str]], left_out: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "hosts": [{key: value for key, value in asdict(one).items() if key != "reachable"} for one in outcomes],
        "roll_out": waves,
        "left_out": [{"place": place, "why": why} for place, why in left_out],
    }


def _print(outcomes: list[Outcome], waves: list[list[str]], left_out: list[tuple[str, str]]) -> None:
    table = Table(("HOST", "ROLE", "VERDICT", "FILE", "NODE IPS", "UPLINK"))
    for one in outcomes:
        cells = (one.host, one.role, one.verdict, one.file, " ".join(one.node_ips), one.uplink)
        table.add([each or "-" for each in cells], "33" if one.problems else "")
    print(table.render(coloured=has_colours()))
    for line in _lines(outcomes):
        print(printable(line))
    if waves:
        print("\nOrder of the roll-out; look at each wave before the next one:")
        for number, wave in enumerate(waves, 1):
            print(printable(f"{number:>3}. {what_if.listed(wave, MOST_NAMED)}"))
    for place, why in left_out:
        note(printable(f"nodenetctl: {place}: left out: {why}"))
    counts = Counter(one.verdict for one in outcomes)
    summary = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    print(f"\n{summary}; {sum(1 for one in outcomes if one.problems)} with a problem.")


def _lines(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield what happens to nodes, each text once with all its hosts."""
    for title in ("problems", "changes", "routes", "left_over", "notes"):
        by_text: dict[str, list[str]] = {}
        for one in outcomes:
            for each in getattr(one, title):
                by_text.setdefault(each, []).append(one.host)
        if by_text:
            yield ""
            yield f"{title.replace('_', ' ').capitalize()}:"
            yield from (f"  {text}  ({what_if.listed(hosts)})" for text, hosts in by_text.items())
