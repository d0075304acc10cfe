"""What did a check find, where, and what is the remedy? One value for each finding; a report sorts and prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodenet.core.day_one.rules import Rule
from nodenet.core.node_file.finding import Finding, Severity, shown
from nodenet.core.node_file.yaml_text import Misread, Node, Scalar
from nodenet.core.value import frozen


@frozen
class Found:
    """One broken rule. *line* and *column* count from 1; 0 where the whole file is meant."""

    rule: Rule
    file: str
    cause: str
    remedy: str
    line: int = 0
    column: int = 0
    key: str = ""
    value: str | None = None
    """What is written there, as far as it may be shown."""

    @property
    def severity(self) -> Severity:
        """Whether the rule is an error or a warning."""
        return self.rule.severity

    def sentence(self) -> str:
        """Return key, value and cause in one line."""
        if not self.key:
            return self.cause
        return f"{self.key}{'' if self.value is None else f' = {self.value}'}: {self.cause}"


def at(rule: Rule, file: str, node: Node, key: str, said: tuple[str, str]) -> Found:
    """Return the finding at *node*: *said* is cause and remedy. A scalar is quoted: *key* must not be a secret's."""
    value = shown(node.text) if isinstance(node, Scalar) and node.text else None
    return Found(rule, file, *said, node.line, node.column, key, value)


def of(rule: Rule, file: str, findings: Iterable[Finding]) -> Iterator[Found]:
    """Yield the findings about one node file as findings of *rule*."""
    for each in findings:
        key = "" if each.names_its_key else each.key
        yield Found(rule, file, each.cause, each.remedy, each.line, each.column, key, each.value)


def misread(file: str, error: Misread) -> Found:
    """Return the finding for a text that cannot be read as YAML."""
    rule = Rule.TEMPLATE if "template" in error.words else Rule.NOT_YAML
    return Found(rule, file, error.words, error.remedy, error.line, error.column)


def ordered(findings: Iterable[Found]) -> list[Found]:
    """Return the findings by file and place, each once."""
    return sorted(dict.fromkeys(findings), key=lambda each: (each.file, each.line, each.column, each.rule.word))
