"""How is a fleet shown: rows for a table, a document for programs, and one HTML page that needs nothing else?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from nodenet.core.fleet.host import NONE, Host
from nodenet.core.fleet.odd import DIGITS, Mark, Marks, natural
from nodenet.core.page.markup import hash_of
from nodenet.core.value import frozen

SCHEMA = 1
MOST_LISTED = 200
"""Odd nodes in the summary of the page; the table has them all."""
COLUMNS = ("host", "role", "health", "since", "node IPs", "uplink", "MTU", "digest", "version", "boot", "odd")
MARKED = frozenset(COLUMNS) - {"odd"}


@frozen
class Fleet:
    """Nodes, what is odd about them, and what was left out; *expected*: names of nodes without any document."""

    hosts: tuple[Host, ...]
    marks: Marks
    expected: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Places, and why they are not in the table."""

    @property
    def is_odd(self) -> bool:
        """Whether anything needs a look."""
        return bool(self.marks or self.expected)

    @property
    def summary(self) -> str:
        """The fleet in one sentence."""
        missing = f", {len(self.expected)} expected and missing" if self.expected else ""
        left = f", {len(self.left_out)} left out" if self.left_out else ""
        return f"{_counted(len(self.hosts), 'node')}, {len(self.marks)} odd{missing}{left}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def cells(one: Host, marks: Sequence[Mark]) -> tuple[str, ...]:
    """Return the row of a node."""
    took = "" if one.boot_seconds is None else f"{one.boot_seconds:.1f} s"
    digest = f"{one.digest[:DIGITS]} {one.node_file}" if one.digest else one.node_file
    said = (*(f"{mark.column}: {mark.why}" for mark in marks), *(f"missing: {each}" for each in one.missing))
    row = (one.name, one.role, one.health, one.since, " ".join(one.node_ips), one.uplink, str(one.mtu or ""), digest)
    return tuple(each or NONE for each in (*row, one.version, f"{took} {one.boot}".strip(), "; ".join(said)))


def document(fleet: Fleet) -> dict[str, Any]:
    """Return the fleet for programs."""
    return {
        "schema_version": SCHEMA,
        "odd": fleet.is_odd,
        "hosts": [_entry(one, fleet.marks.get(one.place, ())) for one in fleet.hosts],
        "expected_and_missing": list(fleet.expected),
        "left_out": [{"place": place, "why": why} for place, why in fleet.left_out],
    }


def _entry(one: Host, marks: Sequence[Mark]) -> dict[str, Any]:
    return {
        "host": one.name,
        "place": one.place,
        "role": one.role,
        "health": one.health or None,
        "cause": one.cause or None,
        "ready": one.ready if one.health else None,
        "made": one.made or None,
        "since": one.since or None,
        "node_ips": list(one.node_ips),
        "link": one.link or None,
        "uplink": one.uplink or None,
        "mtu": one.mtu,
        "macs": sorted(one.macs),
        "node_file": one.node_file or None,
        "digest": one.digest or None,
        "applied_digest": one.applied or None,
        "version": one.version or None,
        "boot": one.boot or None,
        "boot_seconds": one.boot_seconds,
        "odd": [{"what": mark.column, "why": mark.why} for mark in marks],
        "missing": list(one.missing),
    }


STYLE = """
:root{color-scheme:light dark;--line:#8884;--odd:#b00020;--mark:#ffe3e3}
body{font:14px/1.4 system-ui,sans-serif;margin:1rem}
h1{font-size:1.3rem;margin:0 0 .3rem}
table{border-collapse:collapse}
th,td{border-bottom:1px solid var(--line);padding:.2rem .6rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;background:Canvas}
button{font:inherit;font-weight:600;background:none;border:0;padding:0;cursor:pointer;color:inherit}
th[aria-sort=ascending] button::after{content:" \\25B2"}
th[aria-sort=descending] button::after{content:" \\25BC"}
td{white-space:nowrap}
td:last-child{white-space:normal;min-width:20rem}
td.odd{background:var(--mark);color:var(--odd);font-weight:600}
tbody{content-visibility:auto}
.controls{margin:.6rem 0;display:flex;gap:1rem;align-items:center;flex-wrap:wrap}
@media(prefers-color-scheme:dark){:root{--odd:#ffb4b4;--mark:#5a1f1f}}
@media print{.controls{display:none}}
"""
SCRIPT = """
'use strict';
const body = document.querySelector('tbody'), rows = Array.from(body.rows), step = 500;
const words = document.getElementById('words'), odd = document.getElementById('only-odd');
const count = document.getElementById('count'), more = document.getElementById('more');
const texts = rows.map(row => row.textContent.toLowerCase());
const compare = new Intl.Collator('en', {numeric: true}).compare;
let order = rows.map((row, i) => i), shown = step;
function show() {
  const wanted = words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const found = order.filter(i => (!odd.checked || rows[i].dataset.odd) && wanted.every(w => texts[i].includes(w)));
  body.replaceChildren(...found.slice(0, shown).map(i => rows[i]));
  count.textContent = found.length + ' of ' + rows.length + ' nodes';
  more.hidden = found.length <= shown;
}
function again() { shown = step; show(); }
words.addEventListener('input', again);
odd.addEventListener('change', again);
more.addEventListener('click', () => { shown += step; show(); });
addEventListener('beforeprint', () => { shown = rows.length; show(); });
document.querySelectorAll('thead button').forEach((button, column) => button.addEventListener('click', () => {
  const head = button.parentElement, down = head.getAttribute('aria-sort') === 'ascending';
  document.querySelectorAll('thead th').forEach(each => each.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const keys = rows.map(row => row.cells[column].textContent);
  order.sort((a, b) => (down ? -1 : 1) * compare(keys[a], keys[b]) || a - b);
  again();
}));
document.querySelector('.controls').hidden = false;
show();
"""
"""Rows beyond the first 500 are shown on demand: a browser lays out ten thousand in seconds."""


def page(fleet: Fleet, moment: str) -> Iterator[str]:
    """Yield the HTML page in parts; *moment* is when it is made. Without JavaScript it is the whole table."""
    policy = f"default-src 'none'; style-src '{hash_of(STYLE)}'; script-src '{hash_of(SCRIPT)}'; base-uri 'none'"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">\n'
    yield '<meta name="viewport" content="width=device-width">\n<title>nodenet: fleet</title>\n'
    yield f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>Fleet: {escape(fleet.summary)}</h1>\n"
    yield f"<p>Made {escape(moment)} from saved documents; nodes were not asked.</p>\n"
    yield from _listed("Expected, and no document", fleet.expected)
    yield from _listed("Left out", [f"{place}: {why}" for place, why in fleet.left_out])
    yield '<div class="controls" hidden><label>Filter <input id="words" type="search"></label>'
    yield '<label><input id="only-odd" type="checkbox"> only odd nodes</label>'
    yield '<output id="count"></output><button id="more" type="button" hidden>Show more</button></div>\n'
    heads = "".join(f'<th scope="col"><button type="button">{each}</button></th>' for each in COLUMNS)
    yield f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n"
    for one in fleet.hosts:
        yield _row(one, fleet.marks.get(one.place, ()))
    yield f"</tbody>\n</table>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _row(one: Host, marks: Sequence[Mark]) -> str:
    odd = {mark.column if mark.column in MARKED else "host" for mark in marks}
    texts = zip(COLUMNS, cells(one, marks), strict=True)
    made = "".join(f'<td class="odd">{escape(t)}</td>' if c in odd else f"<td>{escape(t)}</td>" for c, t in texts)
    return f'<tr data-odd="1">{made}</tr>\n' if marks else f"<tr>{made}</tr>\n"


def _listed(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        more = f"<li>and {len(texts) - MOST_LISTED} more</li>" if len(texts) > MOST_LISTED else ""
        items = "".join(f"<li>{escape(each)}</li>" for each in texts[:MOST_LISTED])
        yield f"<details><summary>{title}: {len(texts)}</summary><ul>{items}{more}</ul></details>\n"


def expected(names: Sequence[str], hosts: Sequence[Host]) -> tuple[tuple[str, ...], Mapping[str, Mark]]:
    """Return the *names* without a document, and a mark for each node (by its place) that is not among them.

    A short name and a whole one are the same host.
    """
    wanted = {name.lower() for name in names}
    there = {form for one in hosts for form in _forms(one.name)}
    stems = {form for name in wanted for form in _forms(name)}
    others = {one.place: Mark("host", "not expected") for one in hosts if not stems.intersection(_forms(one.name))}
    return tuple(sorted((name for name in wanted if not there.intersection(_forms(name))), key=natural)), others


def _forms(name: str) -> tuple[str, str]:
    return name.lower(), name.lower().partition(".")[0]
