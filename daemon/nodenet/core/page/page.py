"""How do the sections become one file? It opens anywhere: no network, no script, one megabyte at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodenet.core.boot_report import svg
from nodenet.core.page import sections
from nodenet.core.page.markup import STYLE, Parts, hash_of, text
from nodenet.core.report.parts import Made

MOST_BYTES = 1_000_000
TOO_LARGE = '<p class="missing">Left out: the page would be too large. It is in the archive.</p>'


def page(made: Iterable[Made], about: Mapping[str, str], moment: sections.Moment, notes: Iterable[str] = ()) -> str:
    """Return the page of a report, whose parts have no secrets.

    *about* has the node, the time and versions as in the contents of an archive. *moment* writes a time, which is in
    seconds since 1970. *notes* say what is wrong with the archive.
    """
    parts = Parts(made)
    status = parts.mapping("status.json")
    found = {
        "Problems": sections.status_section(parts, status),
        "Links": sections.links_section(parts, status),
        "Boot": sections.boot_section(parts, moment),
        "Node file": sections.node_file_section(parts),
        "Differences": sections.difference_section(parts),
        "History": sections.history_section(parts, moment),
        "Hosted services": sections.hosted_section(parts),
        "Journal": sections.journal_section(parts),
        "More": sections.more_section(parts),
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
    rows = [each for each in sections.facts(parts) if each[0] not in sections.OPEN][:40]
    if boot := status.get("boot_id"):
        rows.append(("boot", str(boot)))
    facts = "".join(f"<dt>{text(label)}</dt><dd>{text(value)}</dd>" for label, value in rows)
    said = "".join(f'<p class="missing" role="note">{text(note)}</p>' for note in notes)
    return (
        f'<p class="kicker">nodenet {text(about.get("nodenet", "of an unknown version"))}</p>\n'
        f"<h1>{text(about.get('node', 'A node'))}</h1>\n"
        f'<p class="when">as of {text(about.get("made", "an unknown time"))}</p>\n'
        f"{said}{sections.verdict(parts, status)}\n<dl>{facts}</dl>\n"
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
