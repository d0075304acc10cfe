"""The HTML page of a node: its sections and the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.boot_report import svg
from nodenet.core.boot_report.timeline import from_document
from nodenet.core.page import links
from nodenet.core.page.markup import (
    STYLE,
    Parts,
    entries,
    folded,
    hash_of,
    lines,
    listed,
    pill,
    sentence,
    strings,
    table,
    text,
)
from nodenet.core.report.parts import Made

Moment = svg.Moment
OPEN = ("waiting", "running", "to do")
"""Rows of the status that say what is under way."""
MOST_SECONDS = 1e9
MOST_LINES, MOST_CHANGES, MOST_PROBLEMS, LAST_CHANGES = 1500, 150, 40, 10
JOURNAL_BYTES, LAST_JOURNAL_BYTES, FOLDED_BYTES = 300 << 10, 120 << 10, 24 << 10
LABELS = ("node IPs", "note", "bridge", "node file", "left over", "trial", "waiting", "running")
"""Rows of the status that are facts; problems have their own section."""
FOLDED = (
    ("explain-node-ip.txt", "Why these addresses are the node IPs"),
    ("explain-br-ex.txt", "Which link is the uplink of br-ex"),
    ("explain-hostname.txt", "Why the node has its host name"),
    ("explain-nmstate.txt", "What answered before and after the last apply"),
    ("settings.txt", "Settings"),
    ("units.txt", "Units"),
    ("versions.txt", "Versions"),
)
KINDS = {
    "ok": "ok",
    "done": "ok",
    "waiting": "waiting",
    "running": "waiting",
    "failed": "failed",
    "degraded": "waiting",
}


def problems(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the problems of a status document, the cause first."""
    first = status.get("last_error")
    return entries(status, "problems") or ([first] if isinstance(first, dict) else [])


def verdict(parts: Parts, status: Mapping[str, Any]) -> str:
    """Return the state of the node in one word and colour, then its cause and what to do."""
    first, _, _ = parts.words("status.txt").partition("\n")
    health = str(status.get("health", "failed"))
    words = first or (health if status else "the status is not known")
    kind = health if health in KINDS else "failed"
    body = f'<p class="word">{text(words)}</p>'
    found = problems(status)
    if found:
        body += f"<p>{_cause(found[0])}</p>{_remedy(found[0])}"
        body += f'<p class="quiet">and {len(found) - 1} more: see Problems</p>' if len(found) > 1 else ""
    elif status:
        under_way = [each if label != "to do" else f"To do: {each}" for label, each in facts(parts) if label in OPEN]
        body += "".join(f"<p>{sentence(each)}</p>" for each in under_way)
    return f'<div class="verdict {kind}" role="status" aria-label="Status">{body}</div>'


def facts(parts: Parts) -> Iterator[tuple[str, str]]:
    """Yield the rows of the status that are facts, and what to do while it waits."""
    last = ""
    for line in parts.words("status.txt").splitlines()[1:80]:
        label, value = line[:13].strip(), line[13:].strip()
        if not line.strip():
            return
        if label in LABELS or (label == "to do" and last == "waiting"):
            yield label, value
        last = label


def _cause(problem: Mapping[str, Any]) -> str:
    stage = f"{problem['stage']}: " if problem.get("stage") else ""
    return f"<strong>{text(stage)}{sentence(problem.get('cause', ''))}</strong>"


def _remedy(problem: Mapping[str, Any]) -> str:
    return f"<p>To do: {sentence(problem['remedy'])}</p>" if problem.get("remedy") else ""


def status_section(parts: Parts, status: Mapping[str, Any]) -> str:
    """Return every problem with its remedy, and the stages."""
    found = problems(status)
    body = "".join(
        f"<article><h3>{_cause(each)}</h3>{_remedy(each)}"
        f'<p class="quiet">More: <code>journalctl -xb MESSAGE_ID={text(each.get("message_id", ""))}</code></p>'
        "</article>\n"
        for each in found[:MOST_PROBLEMS]
    )
    if not status:
        return parts.missing("status.json")
    stages = [
        (
            text(each.get("name", "")),
            pill(str(each.get("status", "")), KINDS.get(str(each.get("status")), "quiet")),
            _took(each),
            sentence(each.get("detail", "")),
        )
        for each in entries(status, "stages")[:40]
    ]
    body = body or "<p>None.</p>"
    return body + (table("Stages", ("stage", "status", "took", "what"), stages) if stages else "")


def _took(stage: Mapping[str, Any]) -> str:
    began, ended = stage.get("started"), stage.get("ended")
    if not (isinstance(began, int | float) and isinstance(ended, int | float)):
        return ""
    return f"{ended - began:.2f} s" if 0 <= began <= ended < MOST_SECONDS else ""


def links_section(parts: Parts, status: Mapping[str, Any]) -> str:
    """Return the drawing of the links, and the same as tables."""
    what = links.read(parts, status)
    if not what.links:
        return parts.missing("links.json")
    left = sum(one.name not in links.HIDDEN for one in what.links) - len(links.chosen(what))
    note = f'<p class="quiet">{left} more links, such as those of pods, are in the table.</p>' if left > 0 else ""
    return f"<figure>{links.svg(what)}</figure>{note}{links.answers(what)}{folded('All links', links.listing(what))}"


def boot_section(parts: Parts, moment: Moment) -> str:
    """Return the time line of this boot, and the last one folded."""
    body = parts.missing("boot-report.json")
    try:
        reports = [from_document(each) for each in parts.items("boot-report.json")[:1]]
        if reports:
            body = f"<figure>{svg.drawing(reports, moment)}</figure>"
    except (KeyError, TypeError, ValueError, AttributeError):
        body = '<p class="missing">boot-report.json is damaged.</p>'
    for name, title in (("boot-report.txt", "The same in words"), ("boot-report-last.txt", "The last boot")):
        if parts.words(name) and not parts.note(name):
            body += folded(title, lines(parts.words(name), FOLDED_BYTES))
    return body


def node_file_section(parts: Parts) -> str:
    """Return the node file, with its problems at their lines."""
    findings = [each for file in entries(parts.mapping("check.json"), "files") for each in entries(file, "findings")]
    content = parts.words("node-file.txt")
    by_line: dict[int, list[Mapping[str, Any]]] = {}
    every = content.splitlines()
    for each in findings:
        line = each.get("line")
        by_line.setdefault(line if isinstance(line, int) and 0 < line <= len(every) else 0, []).append(each)
    body = "".join(f"<p>{_finding(each)}</p>" for each in by_line.get(0, [])[:MOST_PROBLEMS])
    if not content:
        return body + parts.missing("node-file.txt")
    rows = []
    for number, line in enumerate(every[:MOST_LINES], 1):
        found = by_line.get(number, [])
        style = f' class="wrong {text(found[0].get("severity", ""), 20)}"' if found else ""
        rows.append(f'<tr{style}><th scope="row">{number}</th><td>{text(line)}</td></tr>')
        rows += [
            f'<tr class="finding {text(each.get("severity", ""), 20)}"><th></th><td>{_finding(each)}</td></tr>'
            for each in found[:8]
        ]
    cut = len(every) - MOST_LINES
    more = f'<p class="quiet">{cut} more lines are in the archive.</p>' if cut > 0 else ""
    kept = "No problem was found in it." if not findings and parts.mapping("check.json") else ""
    heading = f'<p class="quiet">Secrets and comments are left out. {kept}</p>'
    caption = "<caption>The node file, with its problems</caption>"
    return f'{body}{heading}<div class="wide"><table class="code">{caption}{"".join(rows)}</table></div>{more}'


def _finding(each: Mapping[str, Any]) -> str:
    severity = str(each.get("severity", "problem"))
    remedy = f" {each['remedy']}" if each.get("remedy") else ""
    key = f"{each['key']}: " if each.get("key") else ""
    said = f"{key}{each.get('cause', '')}.{remedy}"
    return f"{text(severity.capitalize(), 20)}: {sentence(said)}"


def difference_section(parts: Parts) -> str:
    """Return what the network has otherwise than the node file asks for."""
    found = parts.mapping("diff.json")
    if "changes" not in found:
        return parts.missing("diff.json")
    changes = entries(found, "changes")
    rows = [
        tuple(text(each.get(key) or "-", 200) for key in ("place", "key", "before", "after"))
        for each in changes[:MOST_CHANGES]
    ]
    body = table("What is not as the node file asks", ("where", "key", "network", "node file"), rows) if rows else ""
    more = len(changes) - MOST_CHANGES
    body += f'<p class="quiet">and {more} more differences, which are in the archive.</p>' if more > 0 else ""
    said = [*strings(found, "means"), *strings(found, "notes")]
    said += [f"Left over from {each}" for each in strings(found, "left_over")]
    none = "" if rows else "<p>The network is as the node file asks.</p>"
    return none + body + (listed(text(each) for each in said[:MOST_PROBLEMS]) if said else "")


def history_section(parts: Parts, moment: Moment) -> str:
    """Return the last changes of the network."""
    found = parts.mapping("history.json")
    if "entries" not in found:
        return parts.missing("history.json")
    rows = [_change(each, moment) for each in entries(found, "entries")[:LAST_CHANGES]]
    headings = ("change", "time", "what", "result", "node file", "cause")
    return table("The newest change first", headings, rows) if rows else "<p>The history has no entry yet.</p>"


def _change(each: Mapping[str, Any], moment: Moment) -> Sequence[str]:
    at = each.get("time")
    good = f" {pill('good', 'ok')}" if each.get("good") is True else ""
    result = str(each.get("result", ""))
    digest = f" ({str(each['digest'])[:12]})" if each.get("digest") else ""
    who = f", by {each['who']}" if each.get("who") else ""
    return (
        f"@{text(each.get('number', ''), 12)}",
        text(moment(at) if isinstance(at, int | float) else ""),
        text(f"{each.get('kind', '')}{who}"),
        pill(result, "quiet" if result == "committed" else "failed") + good,
        text(f"{each.get('node_file') or '-'}{digest}"),
        text(each.get("cause") or "-"),
    )


def hosted_section(parts: Parts) -> str:
    """Return the hosted services; empty on a node that has none."""
    names = ("explain-hosted.txt", "explain-vip.txt")
    return "".join(
        lines(parts.words(name), FOLDED_BYTES) for name in names if parts.words(name) and not parts.note(name)
    )


def journal_section(parts: Parts) -> str:
    """Return the journals, folded."""
    body = ""
    shown = (("journal.txt", "This boot", JOURNAL_BYTES), ("journal-last.txt", "The last boot", LAST_JOURNAL_BYTES))
    for name, title, most in shown:
        content = parts.words(name)
        none = f'<p class="missing">{title}: no journal. {sentence(parts.note(name))}</p>'
        body += folded(title, lines(content, most, newest=True)) if content else none
    return body


def more_section(parts: Parts) -> str:
    """Return other parts folded, and which part says what and what is missing."""
    body = "".join(folded(title, lines(parts.words(name), FOLDED_BYTES)) for name, title in FOLDED if parts.words(name))
    rows = [(text(one.name), text(one.what), text(len(one.content)), text(one.note or "")) for one in parts]
    return body + folded("All parts of the report", table("Parts", ("part", "what", "bytes", "note"), rows[:200]))


MOST_BYTES = 1_000_000
TOO_LARGE = '<p class="missing">Left out: the page would be too large. It is in the archive.</p>'


def page(made: Iterable[Made], about: Mapping[str, str], moment: Moment, notes: Iterable[str] = ()) -> str:
    """Return the page of a report, whose parts have no secrets.

    *about* has the node, the time and versions as in the contents of an archive. *moment* writes a time, which is in
    seconds since 1970. *notes* say what is wrong with the archive.
    """
    parts = Parts(made)
    status = parts.mapping("status.json")
    found = {
        "Problems": status_section(parts, status),
        "Links": links_section(parts, status),
        "Boot": boot_section(parts, moment),
        "Node file": node_file_section(parts),
        "Differences": difference_section(parts),
        "History": history_section(parts, moment),
        "Hosted services": hosted_section(parts),
        "Journal": journal_section(parts),
        "More": more_section(parts),
    }
    head = _header(parts, about, list(notes))
    shown = {title: body for title, body in found.items() if body}
    for largest in sorted(shown, key=lambda title: -len(shown[title])):
        if len(_document(head, shown, about).encode()) <= MOST_BYTES:
            break
        shown[largest] = TOO_LARGE
    return _document(head, shown, about)


def _header(parts: Parts, about: Mapping[str, str], notes: list[str]) -> str:
    status = parts.mapping("status.json")
    rows = [each for each in facts(parts) if each[0] not in OPEN][:40]
    if boot := status.get("boot_id"):
        rows.append(("boot", str(boot)))
    listed = "".join(f"<dt>{text(label)}</dt><dd>{text(value)}</dd>" for label, value in rows)
    said = "".join(f'<p class="missing" role="note">{text(note)}</p>' for note in notes)
    return (
        f'<p class="kicker">nodenet {text(about.get("nodenet", "of an unknown version"))}</p>\n'
        f"<h1>{text(about.get('node', 'A node'))}</h1>\n"
        f'<p class="when">as of {text(about.get("made", "an unknown time"))}</p>\n'
        f"{said}{verdict(parts, status)}\n<dl>{listed}</dl>\n"
    )


def _document(head: str, shown: Mapping[str, str], about: Mapping[str, str]) -> str:
    style = f"{STYLE}{svg.STYLE}"
    policy = f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
    title = f"{about.get('node', 'A node')}, {about.get('made', '')}"
    links = "".join(f'<li><a href="#{_name(each)}">{text(each)}</a></li>' for each in shown)
    body = "\n".join(
        f'<section aria-labelledby="{_name(each)}">\n<h2 id="{_name(each)}">{text(each)}</h2>\n{content}\n</section>'
        for each, content in shown.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n{head}</header>\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>\n{body}\n</main>\n'
        "<footer>Made by <code>nodenetctl report --html</code>. Host names and addresses are in it; secrets are not."
        "</footer>\n</body>\n</html>\n"
    )


def _name(title: str) -> str:
    return title.lower().replace(" ", "-")
