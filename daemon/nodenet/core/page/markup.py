"""How is text from outside put into HTML, and how does the page look?

Every text is escaped and cut: names of links, files and hosts come from other programs and other hosts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from nodenet.core.report.parts import Made

MOST_TEXT = 400
"""Characters of one value."""


def text(value: object, most: int = MOST_TEXT) -> str:
    """Return *value* for HTML: printable, without markup, *most* characters at most."""
    words = str(value)
    words = words if len(words) <= most else f"{words[: most - 1]}…"
    return escape("".join(char if char.isprintable() else "?" for char in words))


def sentence(value: object) -> str:
    """Return a sentence for HTML; what stands in backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value, 1200))


def lines(content: str, most_bytes: int, *, newest: bool = False) -> str:
    """Return *content* as a block of lines: the first ones that fit, or the last ones; a note says what is cut off."""
    every = content.splitlines()
    left, kept = most_bytes, list[str]()
    for line in reversed(every) if newest else every:
        shown = text(line, 2000)
        left -= len(shown.encode()) + 1
        if left < 0:
            break
        kept.append(shown)
    if newest:
        kept.reverse()
    cut = len(every) - len(kept)
    note = f'<p class="quiet">{cut} {"earlier" if newest else "more"} lines are in the archive.</p>' if cut else ""
    return f'{note}<pre tabindex="0">{chr(10).join(kept)}</pre>'


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are HTML, and the first one of each row is its heading."""
    head = "".join(f'<th scope="col">{text(each)}</th>' for each in headings)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>\n'
        for first, *others in rows
    )
    return (
        f'<div class="wide"><table><caption>{text(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def listed(items: Iterable[str]) -> str:
    """Return a list; the items are HTML."""
    return f"<ul>{''.join(f'<li>{each}</li>' for each in items)}</ul>\n"


def folded(summary: str, body: str) -> str:
    """Return *body*, which is HTML, behind a line that opens it."""
    return f"<details><summary>{text(summary)}</summary>\n{body}\n</details>\n"


def pill(words: str, kind: str) -> str:
    """Return a status in colour; the words say it too."""
    return f'<span class="pill {kind}">{text(words)}</span>'


def hash_of(script: str) -> str:
    """Return the source that lets a page use *script*, or a style, of its own (Content Security Policy)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


class Parts:
    """The parts of a report, as this page reads them: any of them may be missing, cut off, damaged or hostile."""

    def __init__(self, made: Iterable[Made]) -> None:
        """Take the parts of a report, without secrets."""
        self._made = {one.name: one for one in made}

    def __iter__(self) -> Any:  # noqa: ANN401
        """Iterate over the parts."""
        return iter(self._made.values())

    def words(self, name: str) -> str:
        """Return a part as text, empty if it is missing."""
        one = self._made.get(name)
        return one.content.decode(errors="replace") if one else ""

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return a JSON object, empty if it is none."""
        try:
            found = json.loads(self.words(name))
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def items(self, name: str) -> list[Mapping[str, Any]]:
        """Return the objects of a JSON list; of one that is cut off, those that are whole."""
        content, reader = self.words(name).strip(), json.JSONDecoder()
        found: list[Mapping[str, Any]] = []
        at = 1 if content.startswith("[") else len(content)
        while at < len(content):
            at += len(content[at : at + 64]) - len(content[at : at + 64].lstrip(", \n\t\r"))
            try:
                item, at = reader.raw_decode(content, at)
            except (ValueError, RecursionError):
                break
            if isinstance(item, dict):
                found.append(item)
        return found

    def note(self, name: str) -> str:
        """Return what is wrong with a part."""
        one = self._made.get(name)
        return one.note if one else "this report has no such part: an older version of nodenet made it"

    def missing(self, name: str) -> str:
        """Return a paragraph that says why there is nothing to show of a part."""
        said = self.words(name).strip().partition("\n")[0].removeprefix("nodenetctl: ")
        said = said or self.note(name) or "it is empty"
        return f'<p class="missing">Not known: {text(name)}: {sentence(said)}</p>\n'


def entries(values: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the objects of the list *key*; none if it is another thing."""
    found = values.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def strings(values: Mapping[str, Any], key: str) -> list[str]:
    """Return the texts of the list *key*; none if it is another thing."""
    found = values.get(key)
    return [str(each) for each in found] if isinstance(found, list) else []


STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #fff; --sheet: #f6f7f9; --rule: #dde1e6;
  --accent: #2f6fbd; --good: #237a40; --warn: #8a5a0b; --bad: #b42318;
  --good-bg: #e6f4ea; --warn-bg: #fdf3dc; --bad-bg: #fdecea; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; }
main, header, nav, footer { max-width: 1120px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 40px; } h1 { margin: 0; font-size: 32px; line-height: 1.2; letter-spacing: -.01em; }
.kicker { margin: 0 0 4px; color: var(--accent); font-weight: 600; } .when, .quiet { color: var(--soft); }
.when { margin: 4px 0 20px; } .quiet { font-size: 13px; }
h2 { margin: 56px 0 16px; padding-top: 12px; border-top: 2px solid var(--rule); font-size: 20px; }
h3 { margin: 24px 0 8px; font-size: 15px; } p { margin: 8px 0; max-width: 80ch; } a { color: var(--accent); }
.verdict { padding: 16px 20px; border-left: 5px solid; border-radius: 6px; background: var(--sheet); }
.verdict p { margin: 6px 0 0; } .verdict .word { margin: 0; font-size: 19px; font-weight: 650; }
.verdict.ok { border-color: var(--good); background: var(--good-bg); } .verdict.ok .word { color: var(--good); }
.verdict.degraded, .verdict.waiting { border-color: var(--warn); background: var(--warn-bg); }
.verdict.degraded .word, .verdict.waiting .word { color: var(--warn); }
.verdict.failed { border-color: var(--bad); background: var(--bad-bg); } .verdict.failed .word { color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 24px; margin: 20px 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 24px 0 0; padding: 0; list-style: none; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 14px; }
caption { text-align: left; padding: 0 0 8px; color: var(--soft); font-size: 13px; }
th, td { padding: 6px 14px 6px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule);
  overflow-wrap: anywhere; } thead th { color: var(--soft); font-weight: 500;
  overflow-wrap: normal; } tbody th { font-weight: 600; }
pre, code, .code { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { margin: 8px 0; padding: 14px 16px; overflow: auto; max-height: 70vh;
  background: var(--sheet); border-radius: 6px; }
.code td, .code th { padding: 0 12px 0 0; border: 0; white-space: pre-wrap; }
.code th { width: 4ch; color: var(--soft); font-weight: 400; text-align: right; user-select: none; }
.code { background: var(--sheet); border-radius: 6px; } .code .wrong { background: var(--bad-bg); }
.code .finding td { padding: 4px 12px 8px 0; color: var(--bad); font-family: system-ui, sans-serif; font-weight: 600; }
.code .warning.finding td { color: var(--warn); } .code .wrong.warning { background: var(--warn-bg); }
details { margin: 10px 0; border: 1px solid var(--rule); border-radius: 6px; padding: 0 16px; }
summary { padding: 10px 0; cursor: pointer; font-weight: 600; } article { margin: 16px 0; }
article h3 { margin: 0; } .missing { color: var(--soft); font-style: italic; }
.pill { display: inline-block; padding: 0 9px; border-radius: 10px; font-size: 13px; font-weight: 600;
  white-space: nowrap; background: var(--sheet); color: var(--soft); }
.pill.ok { background: var(--good-bg); color: var(--good); }
.pill.failed { background: var(--bad-bg); color: var(--bad); }
.pill.waiting { background: var(--warn-bg); color: var(--warn); }
svg { display: block; max-width: 100%; height: auto; } figure { margin: 16px 0; overflow-x: auto; }
.links text { fill: var(--ink); font: 12px system-ui, sans-serif; } .links .name { font-size: 14px; font-weight: 650; }
.links .quiet { fill: var(--soft); } .links .good { fill: var(--good); }
.links .bad { fill: var(--bad); font-weight: 600; }
.links rect { fill: var(--sheet); stroke: var(--rule); } .links .box-ok rect { stroke: var(--good); }
.links .box-failed rect { stroke: var(--bad); } .links .main rect { stroke: var(--accent); stroke-width: 2; }
.links path { fill: none; stroke: var(--soft); stroke-width: 1.5; } .links path.lost { stroke: var(--bad);
  stroke-dasharray: 5 4; } footer { margin: 56px auto 40px; color: var(--soft); font-size: 13px; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e3e8ee; --soft: #9aa4b0; --paper: #14181d; --sheet: #1c2229; --rule: #313a44; --accent: #7fb2ee;
    --good: #6fd08c; --warn: #e8bd6b; --bad: #ff8a80; --good-bg: #16301f; --warn-bg: #33280f; --bad-bg: #3a1d1b; }
}
@media screen and (max-width: 900px) { figure svg { max-width: none; } }
@media print {
  @page { margin: 14mm; } body { font-size: 11px; } nav { display: none; }
  header { padding-top: 0; } h1 { font-size: 24px; }
  main, header, footer { max-width: none; padding: 0; } h2 { margin-top: 24px; font-size: 15px; break-after: avoid; }
  h3, .verdict .word { font-size: 13px; } table, pre, code, .code, .quiet, caption, .pill { font-size: 10px; }
  th, td { padding: 3px 10px 3px 0; } article, tr, figure { break-inside: avoid; }
  caption, thead { break-after: avoid; }
  pre { max-height: none; white-space: pre-wrap; } figure, .wide { overflow: visible; }
  .verdict, .pill, .code { print-color-adjust: exact; }
}
"""
