"""Would nodenetd accept these node files? Checked on any machine, without touching the network."""

from __future__ import annotations

import argparse
import asyncio
import json
import stat
import sys
from collections.abc import Collection, Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodenet.cli.outputs import note
from nodenet.core.errors import NodeFileInvalid, NotAllowed, SettingsInvalid, Unavailable, UsageInvalid
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.node_file import find, host_values
from nodenet.core.node_file.content import Judged, cross_findings, is_node_file
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.finding import Finding, Severity, errors, ordered
from nodenet.core.node_file.yaml_text import Misread
from nodenet.core.value import frozen

if TYPE_CHECKING:
    from nodenet.core.kernel.snapshot import Link
    from nodenet.core.settings.model import Settings
    from nodenet.edge.nmstate.client import Transaction

STDIN = Path("-")


@frozen
class Checked:
    """The result for one file; *digest* is None if the file is empty or could not be read."""

    path: Path
    row: str = ""
    """The host of the table whose values the file was filled with."""
    digest: str | None = None
    findings: tuple[Finding, ...] = ()
    judged: Judged | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """How the file is named in messages."""
        if self.row:
            return f"{self.path.name} for {self.row}"
        return "standard input" if self.path == STDIN else self.path.name

    @property
    def own_name(self) -> str:
        """The name of the node file that only this host would have."""
        return f"{self.row}.yml" if self.row else self.path.name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Check node files as nodenetd would at boot: name, UTF-8, YAML, every NMState key and value that can be judged "
        "without the host, and what is wrong between the files of a directory. All findings are printed at once. "
        "Owner and mode are errors in the node's own directory, elsewhere warnings. What depends on the host (its "
        "links, its hardware) is not known here. Nothing is applied. Without FILE, the file of this node is checked, "
        "with a warning for each link in it that this node does not have. "
        "Exits 0 when all are good, 65 when one is not, 69 when libnmstate cannot be asked."
    )
    parser.add_argument(
        "path",
        type=Path,
        nargs="*",
        metavar="FILE|DIR",
        help="a node file, a directory of them, or - for standard input (default: this node's own file)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document with an entry for each file")


def run(arguments: argparse.Namespace) -> int:
    """Print one line a file and one a finding; return the exit code.

    Raises UsageInvalid, Unavailable, PermissionError.
    """
    groups = [_files_of(path) for path in arguments.path or (_own(),)]
    checked = asyncio.run(_check_all(groups))
    if not arguments.path:
        checked = _beside_hardware(checked)
    if arguments.json:
        print(json.dumps({"schema_version": 1, "files": [_entry(each) for each in checked]}, indent=2))
    else:
        _print_lines(checked)
    return 65 if any(errors(each.findings) for each in checked) else 0


def _own() -> Path:
    """Return the path of this node's file. Raises UsageInvalid where it has none, NodenetError."""
    from nodenet.cli import preview  # noqa: PLC0415 - a file that is given needs neither settings nor host name

    return Path(preview.own_path())


def _beside_hardware(checked: list[Checked]) -> list[Checked]:
    """Return the results for this node, with a warning for each link that a file names and this node lacks."""
    from nodenet.cli import preview  # noqa: PLC0415 - as for the file itself
    from nodenet.edge.kernel import netlink  # noqa: PLC0415

    name, links = preview.own_name(), netlink.snapshot().links
    of_node = [each for each in checked if each.row in ("", name)]
    return [replace(each, findings=(*each.findings, *of_hardware(each, links))) for each in of_node or checked]


def of_hardware(checked: Checked, links: Collection[Link]) -> Iterator[Finding]:
    """Yield a warning for each link of the file that is not among the *links* of its host."""
    from nodenet.core.apply.awaited_links import host_has, lacking  # noqa: PLC0415 - for the file of this node only

    remedy = "Correct the name, or identify the NIC by its MAC address; a NIC may also appear late"
    for name in lacking(checked.judged.desired.links, links) if checked.judged else ():
        cause = f"there is no link {name}: {host_has(links, {})}"
        yield Finding(cause, remedy, severity=Severity.WARNING)


def _files_of(path: Path) -> tuple[Path, list[str], list[str]]:
    """Return the directory, the names to check in it, and all of its names. Raises UsageInvalid."""
    if path == STDIN:
        return STDIN, ["-"], []
    try:
        whole = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageInvalid(f"{path} does not exist") from None
    directory = path if whole else path.parent
    beside = sorted(name.name for name in directory.iterdir())
    names = [name for name in (beside if whole else [path.name]) if is_node_file(name)]
    if not names:
        raise UsageInvalid(f"{path} has no node file", remedy="Node files end in .yml or .yaml")
    return directory, names, beside


def _entry(checked: Checked) -> dict[str, object]:
    wrong = errors(checked.findings)
    return {
        "file": str(checked.path),
        **({"host": checked.row} if checked.row else {}),
        "ok": not wrong,
        "digest": checked.digest,
        "cause": _placed(checked, wrong[0], wrong[0].sentence()) if wrong else None,
        "remedy": wrong[0].remedy if wrong else None,
        "findings": [
            {
                "severity": each.severity.value,
                "line": each.line or None,
                "column": each.column or None,
                "key": each.key or None,
                "value": each.value,
                "cause": each.cause,
                "remedy": each.remedy,
            }
            for each in checked.findings
        ],
    }


def _print_lines(checked: list[Checked]) -> None:
    for each in checked:
        if not errors(each.findings):
            good = f"good ({each.digest[:12]})" if each.digest else "empty: nothing to apply"
            print(f"{each.name}: {good}")
    lines = [line for each in checked for line in _lines(each)]
    for line in dict.fromkeys(lines):
        note(line)


def _lines(checked: Checked) -> Iterator[str]:
    for each in checked.findings:
        warning = "warning: " if each.severity is Severity.WARNING else ""
        yield _placed(checked, each, f"{warning}{each.sentence()}. {each.remedy}")


def _placed(checked: Checked, finding: Finding, said: str) -> str:
    """Return *said* after its place; a sentence about several files, or about a path, names them itself."""
    named = not finding.line and checked.name in finding.cause and finding.severity is Severity.ERROR
    return said if named else f"{finding.place(checked.name)}: {said}"


async def _check_all(groups: list[tuple[Path, list[str], list[str]]]) -> list[Checked]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415

    found: list[Checked] = []
    async with Nmstate().transaction() as transaction:
        for directory, names, beside in groups:
            checked = [each for name in names for each in await _check(transaction, directory, name)]
            found += _beside_each_other(checked, beside)
    return list({(each.path, each.row): each for each in found}.values())


def _beside_each_other(checked: list[Checked], beside: list[str]) -> Iterator[Checked]:
    judged = {each.own_name: each.judged for each in checked}
    across = cross_findings(judged, beside, _settings().ovn_masquerade_subnets)
    for each in checked:
        yield replace(each, findings=ordered((*across.get(each.own_name, ()), *each.findings)))


async def _check(transaction: Transaction, directory: Path, name: str) -> list[Checked]:
    """Look at a file as nodenetd would, once for each host of the table if it asks for values of a host.

    Raises Unavailable when libnmstate cannot be asked, NotAllowed.
    """
    checked = Checked(STDIN if directory == STDIN else directory / name)
    try:
        content, distrust = _read(directory, name)
        checked = replace(checked, findings=distrust)
        file = find.read(checked.name, content)
        if directory != STDIN and find.is_of_cluster(name) and host_values.placeholders(file.text):
            return [
                await _judged(transaction, replace(checked, row=row, findings=distrust + more), filled)
                for row, filled, more in _of_each_host(directory, file)
            ]
    except NodeFileInvalid as error:
        if isinstance(error.__cause__, PermissionError):
            raise NotAllowed(error.cause) from error
        return [replace(checked, findings=(*checked.findings, _of(error)))]
    return [await _judged(transaction, checked, file)]


def _of_each_host(directory: Path, file: NodeFile) -> Iterator[tuple[str, NodeFile, tuple[Finding, ...]]]:
    """Yield host, its document and what is wrong with the table, for each row. Raises NodeFileInvalid."""
    content, distrust = _read(directory, host_values.TABLE)
    table = host_values.read(content)
    if not table.rows:
        raise NodeFileInvalid(f"{host_values.TABLE} has no row", remedy="Add a row for each host")
    try:
        host_values.need_all(file.name, file.text, table)
    except NodeFileInvalid as error:
        distrust = (*distrust, _of(error))
    for row in table.rows:
        yield (
            row.name,
            find.read(file.name, host_values.filled(file.name, file.text, table, row).encode()),
            distrust,
        )


async def _judged(transaction: Transaction, checked: Checked, file: NodeFile) -> Checked:
    """Return the result with everything that is wrong with *file*. Raises Unavailable."""
    from nodenet.stages.apply.node_file import all_findings  # noqa: PLC0415

    try:
        judged = await all_findings(file, transaction)
    except NodeFileInvalid as error:
        return replace(checked, findings=(*checked.findings, _of(error)))
    except NmstateFailure as error:
        raise Unavailable(f"{checked.name} cannot be checked: {error.cause}", remedy=error.remedy) from error
    digest = None if judged.desired.empty else file.digest
    return replace(checked, digest=digest, findings=(*checked.findings, *judged.findings), judged=judged)


def _read(directory: Path, name: str) -> tuple[bytes, tuple[Finding, ...]]:
    """Return a file's bytes, and why nodenetd would not trust it. Raises NodeFileInvalid."""
    from nodenet.edge.files.node_file import look, whole  # noqa: PLC0415

    if directory == STDIN:
        return whole("standard input", sys.stdin.buffer), ()
    content, distrust = look(directory, name)
    severity = Severity.ERROR if _is_the_nodes_own(directory) else Severity.WARNING
    return content, tuple(Finding(error.cause, error.remedy, severity=severity) for error in distrust)


def _is_the_nodes_own(directory: Path) -> bool:
    """Whether nodenetd reads its node file from *directory* on this machine."""
    return directory.resolve() == Path(_settings().node_file_dir).resolve()


def _settings() -> Settings:
    """Return the settings of this machine, the defaults if they are not valid."""
    from nodenet.core.settings import model, parse  # noqa: PLC0415
    from nodenet.edge.files import settings as settings_files  # noqa: PLC0415

    try:
        return parse.parse(settings_files.read()).settings
    except SettingsInvalid:
        return model.Settings()


def _of(error: NodeFileInvalid) -> Finding:
    """Return the finding of an error that ended the reading."""
    if isinstance(error, Misread):
        return Finding(error.words, error.remedy, error.line, error.column)
    return Finding(error.cause, error.remedy)
