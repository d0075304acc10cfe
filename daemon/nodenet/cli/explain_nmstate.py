"""Why was the last node file kept or rolled back? From the report that nodenetd wrote with its last apply."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from nodenet.cli import status
from nodenet.cli.outputs import Table, has_colours, note, printable
from nodenet.core.errors import NodenetError, Unavailable

DESCRIPTION = """Show what answered before and after the last apply of a node file, and whether the file was kept.

The answer is what nodenetd wrote with the last apply of this boot. nodenetd need not run. docs/probes.md explains which
silence rolls a file back. If the node file is an NMState policy, the document that it led to is printed as well."""
EPILOG = """exit codes: 0 the file was kept, or nothing was applied in this boot, 1 it was rolled back, its trial is not
over, or its apply was interrupted."""
GOOD, BAD = "32", "31"
"""SGR parameters (ECMA-48)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topic's options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="print the JSON document instead of a table")
    parser.add_argument("--report", type=Path, metavar="FILE", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; return the exit code. Raises Unavailable where the report cannot be read."""
    from nodenet.core.probes.verdict import PATH  # noqa: PLC0415 - the other topics need no probes

    document = _read(arguments.report or Path(PATH))
    renamed = () if arguments.json else _renamed(status.read() or {})
    if document is None:
        note("nodenetctl: nodenetd has applied no node file in this boot, or `probe_timeout` is 0")
    else:
        print(json.dumps(document, indent=1) if arguments.json else _text(document))
    for line in (*renamed, *(() if arguments.json else _of_policy())):
        print(line)
    return 0 if document is None or document["kept"] else 1


def _renamed(shown: dict[str, Any]) -> tuple[str, ...]:
    """Return which NICs have another name than in the node file, and the edit to make, in lines."""
    from nodenet.core.apply.renamed import block, in_words  # noqa: PLC0415

    found = tuple((each["name"], each["link"], each["mac"]) for each in shown.get("renamed") or ())
    if not found:
        return ()
    file = shown.get("node_file")
    edit = f"Write into {file}, in the place of `name` and `type` of each entry, or as entries where it has none:"
    return tuple(map(printable, ("", f"{in_words(found)}.", edit, "", *block(found).splitlines())))


def _of_policy() -> tuple[str, ...]:
    """Return the document of a node file that is a policy, in lines."""
    from nodenet.cli import preview  # noqa: PLC0415 - the report is shown where the node file cannot be read
    from nodenet.core.node_file.content import secrets_in  # noqa: PLC0415

    try:
        file = preview.own()
    except NodenetError:  # `nodenetctl check` says what is wrong with it
        return ()
    if not file.policy:
        return ()
    text = secrets_in(file.text).hidden_in(file.text)
    return ("", f"{file.name} is an NMState policy, and led to this document:", "", *map(printable, text.splitlines()))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Unavailable(f"{path} cannot be read: {error}", remedy="Look at `nodenetctl status`") from error
    return document


def _text(document: dict[str, Any]) -> str:
    from nodenet.core.probes.questions import Answer  # noqa: PLC0415

    table = Table(("WHEN", "PROBE", "NAME", "LINK", "ANSWER", "SECONDS"))
    for row in document["probes"]:
        seconds = "-" if row["seconds"] is None else f"{row['seconds']:.3f}"
        cells = (row["when"], row["what"], row["name"], row["link"] or "-", row["answer"], seconds)
        table.add(cells, GOOD if row["answer"] == Answer.YES else BAD)
    verdict = "was kept" if document["kept"] else "is not kept"
    lines = [f"{document['node_file']} {verdict}.", *(f"{text}." for text in document["failed"])]
    lines += [f"Not counted: {text}." for text in document["noted"]]
    return "\n".join([table.render(coloured=has_colours()), "", *map(printable, lines)])
