"""What can be wrong with a node file, where, and how is it reported?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.yaml_text import Node
from nodenet.core.value import frozen

MOST_SHOWN = 60
"""Characters of a wrong value that are shown."""
MOST_FINDINGS = 200
"""Findings of one file that are listed; a file with more is not a node file."""


class Severity(StrEnum):
    """Whether nodenetd refuses the file, or takes it though something looks wrong."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Finding:
    """One mistake: *key* is its path in the document, *value* what is written there, as far as it may be shown.

    *line* and *column* count from 1; 0 where the whole file is meant.
    """

    cause: str
    remedy: str
    line: int = 0
    column: int = 0
    key: str = ""
    value: str | None = None
    severity: Severity = Severity.ERROR
    names_its_key: bool = False
    """The cause says which key is meant."""
    by_table: bool = False
    """The finding is from our table of NMState's keys. If libnmstate accepts the file, the finding is dropped."""

    @property
    def is_missing(self) -> bool:
        """Whether a key is not there that should be: *key* is the place of its mapping."""
        return self.cause.endswith("` is missing")

    def sentence(self) -> str:
        """Return key, value and cause in one line."""
        if not self.key or self.names_its_key:
            return self.cause
        return f"{self.key}{'' if self.value is None else f' = {self.value}'}: {self.cause}"

    def place(self, name: str) -> str:
        """Return file, line and column."""
        if not self.line:
            return name
        return f"{name}, line {self.line}, column {self.column}" if self.column else f"{name}, line {self.line}"


def at(node: Node, key: str, cause: str, remedy: str, value: str | None = None) -> Finding:
    """Return the error at *node*, which the path *key* leads to."""
    return Finding(cause, remedy, node.line, node.column, key, value)


def shown(text: str) -> str:
    """Return a value for a message: MOST_SHOWN characters at most, each one printable."""
    short = text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."
    return printable(short) or "''"


def printable(text: str) -> str:
    """Return *text* with control characters written as escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings as one reads the file, each once."""
    once = dict.fromkeys(findings)
    return tuple(sorted(once, key=lambda each: (each.line, each.column)))[:MOST_FINDINGS]


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return those for which the file is refused."""
    return [each for each in findings if each.severity is Severity.ERROR]


def refusal(name: str, findings: Sequence[Finding]) -> NodeFileInvalid:
    """Return the error of the file *name*: the first finding, and how many there are beside it."""
    first, *others = findings
    more = f" (and {len(others)} more: `nodenetctl check FILE` shows them all)" if others else ""
    return NodeFileInvalid(f"{first.place(name)}: {first.sentence()}{more}", remedy=first.remedy)
