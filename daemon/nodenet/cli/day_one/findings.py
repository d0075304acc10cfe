"""How are findings printed on standard error, with the lines that they are about?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.core.day_one import report
from nodenet.core.day_one.node_rules import Step, judge
from nodenet.core.day_one.rules import Found, ordered
from nodenet.core.errors import NodeFileInvalid, NodenetError
from nodenet.core.node_file.finding import Severity


def refuse(files: Mapping[str, bytes], step: Step) -> None:
    """Print what is wrong with node files that are to become an artefact. Raises NodeFileInvalid for an error."""
    found = ordered(each for file, content in files.items() for each in judge(file, content, step).findings)
    if printed([each for each in found if each.severity is Severity.ERROR]):
        wrong = len({each.file for each in found if each.severity is Severity.ERROR})
        said = "1 node file has errors" if wrong == 1 else f"{wrong} node files have errors"
        raise NodeFileInvalid(f"{said}: nothing was written", remedy="Correct them; `day-one check` has all rules")


def printed(found: Sequence[Found]) -> bool:
    """Print the findings; return whether there is an error among them."""
    if found:
        note(report.text(found, Lines().line))
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
