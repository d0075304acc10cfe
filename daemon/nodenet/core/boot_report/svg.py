"""How is the time line of a boot drawn? As SVG: one lane for each actor, with its reasons and durations in words.

Written without a library (SVG 1.1, CSS media queries for a dark page): it has only rectangles, lines and text. Nothing
depends on a pointer: a picture in a mail or on paper says as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from nodenet.core.boot_report.timeline import DAEMON, FOLLOWERS, LANES, Kind, Report, Span
from nodenet.core.value import frozen

LEFT, WIDTH, RIGHT = 150, 880, 30
BAR, LANE, LINE, HEAD, FOOT = 14, 26, 17, 94, 40
EDGE = LEFT + WIDTH + RIGHT - 6
"""Where a caption ends at the latest."""
LEAST = 2.0
"""The smallest width of a span, so that a very short one is visible."""
LETTER = 6.1
"""The width of a letter of a caption, roughly: system fonts differ."""
STEPS = (*(0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600), 7200, 21600, 43200, 86400)
MOST_TICKS, MOST_LANES, MOST_SPANS, MOST_CAPTIONS = 12, 40, 400, 4
BRIEF = 0.005
"""Seconds; a stage that was skipped in less time is folded, with the others."""
STYLE = """
  .boot { background: #fff; color: #1b1f24; font: 12px system-ui, sans-serif; }
  .boot text { fill: currentColor; } .boot .title { font-size: 16px; font-weight: 600; }
  .boot .small { font-size: 11px; opacity: .72; } .boot .lane { fill: currentColor; opacity: .04; }
  .boot .grid { stroke: currentColor; opacity: .13; } .boot .end { stroke: currentColor; opacity: .5; }
  .boot .caption { font-size: 11.5px; paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-linejoin: round; }
  .boot .bad { fill: #b42318; font-weight: 600; } .boot .slow { fill: #8a5a0b; }
  .boot .work { fill: #2f6fbd; } .boot .others { fill: #8b95a1; } .boot .failed { fill: #c23b3b; }
  .boot .wait { fill: url(#hatch); stroke: #b7791f; } .boot .stroke { stroke: #b7791f; stroke-width: 2; }
  .boot .frame { fill: #2f6fbd; opacity: .3; } .boot .system { fill: #8b95a1; opacity: .3; }
  .boot .mark { stroke: #2c8a4b; stroke-width: 1.5; stroke-dasharray: 4 3; }
  .boot .ready { fill: #237a40; font-weight: 600; }
  @media screen and (prefers-color-scheme: dark) {
    .boot { background: #14181d; color: #e3e8ee; } .boot .caption { stroke: #14181d; }
    .boot .bad { fill: #ff8a80; } .boot .slow { fill: #e8bd6b; }
    .boot .work { fill: #68a4ea; } .boot .frame { fill: #68a4ea; } .boot .failed { fill: #ea6a6a; }
    .boot .wait, .boot .stroke { stroke: #e0a94c; } .boot .mark { stroke: #57c27d; } .boot .ready { fill: #57c27d; }
  }
"""
HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="stroke" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
)
LEGEND = (
    ("work", "nodenetd works", 12),
    ("wait", "waits", 146),
    ("others", "other programs work", 226),
    ("failed", "failed", 386),
)
"""Class of a bar, its meaning, and where it stands."""
OTHERS = frozenset(LANES[: LANES.index(DAEMON)]) | frozenset(LANES[-len(FOLLOWERS) :])
Moment = Callable[[float], str]
"""Writes a time, which is in seconds since 1970."""
SKIPPED, EVENTS = "skipped", "events"


def picture(reports: Sequence[Report], moment: Moment) -> str:
    """Return an SVG document with one panel for each boot."""
    return drawing(reports, moment, f"<style>{STYLE}</style>\n")


def drawing(reports: Sequence[Report], moment: Moment, style: str = "") -> str:
    """Return the same picture for a page that has the STYLE itself."""
    panels, top = [], 0
    for what in reports:
        panel, height = _panel(what, heading(what, moment))
        panels.append(f'<g transform="translate(0 {top})">\n' + "\n".join(panel) + "\n</g>")
        top += height
    width = LEFT + WIDTH + RIGHT
    label = "; ".join(f"{heading(what, moment)} {headline(what)}".strip() for what in reports)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="boot" width="{width}" height="{top}" '
        f'viewBox="0 0 {width} {top}" role="img" aria-label="Time line of a boot: {_escaped(label)}">\n{style}'
        + "\n".join([HATCH, *panels])
        + "\n</svg>\n"
    )


def heading(what: Report, moment: Moment) -> str:
    """Return host and date of a boot, as far as they are known."""
    return ", ".join(filter(None, (what.host, "" if what.began is None else moment(what.began))))


def headline(what: Report) -> str:
    """Return a boot in one line."""
    name = f"Boot {what.boot_id[:8] or 'without a name'}"
    kubelet = "" if what.kubelet is None else f"; kubelet started after {what.kubelet:.2f} s"
    if what.ready is None or what.share is None:
        now = f"not ready after {what.end:.1f} s" if what.is_present else "not ready at the end of the journal"
        return f"{name}: {now}{kubelet}"
    return f"{name}: ready after {what.ready:.2f} s; nodenetd's own work {what.own:.2f} s ({what.share:.1%}){kubelet}"


@frozen
class _Caption:
    """Words about the part of a lane between *start* and *end*."""

    words: str
    style: str
    start: float
    end: float


def _lanes(what: Report) -> tuple[list[tuple[str, list[Span]]], list[Span]]:
    """Return the lanes in their order, and the stages that were skipped at once, which get one lane together."""
    by_actor: dict[str, list[Span]] = {}
    for span in what.spans[:MOST_SPANS]:
        by_actor.setdefault(span.actor, []).append(span)
    known = {lane: number for number, lane in enumerate(LANES)}
    actors = sorted(by_actor, key=lambda actor: (known.get(actor, len(known)), actor))[:MOST_LANES]
    folded = [span for actor in actors if all(map(_is_brief, by_actor[actor])) for span in by_actor[actor]]
    return [(actor, by_actor[actor]) for actor in actors if not all(map(_is_brief, by_actor[actor]))], folded


def _is_brief(span: Span) -> bool:
    return span.text.startswith(SKIPPED) and span.end is not None and span.end - span.start < BRIEF


def _panel(what: Report, title: str) -> tuple[list[str], int]:
    """Return the parts of the panel of one boot, and its height."""
    end = max(what.end, 0.001)
    lanes, folded = _lanes(what)
    rows: list[str] = []
    top = HEAD
    for number, (actor, spans) in enumerate(lanes):
        drawn, height = _lane(spans, end, top)
        rows += [*_stripe(number, top, height), _text(LEFT - 10, top + 17, actor[:24], anchor="end"), *drawn]
        top += height
    for number, (name, words) in enumerate(_below(what, folded), len(lanes)):
        texts = [_text(LEFT, top + 17 + LINE * line, each, "caption") for line, each in enumerate(words)]
        height = LANE + LINE * (len(words) - 1)
        rows += [*_stripe(number, top, height), _text(LEFT - 10, top + 17, name, "small", "end"), *texts]
        top += height
    return [*_head(what, title), *_axis(what, end, top), *_marks(what, end, top), *rows], top + FOOT


def _head(what: Report, title: str) -> Iterator[str]:
    yield _text(12, 26, title or "A boot", "title")
    yield _text(12, 46, headline(what), "" if what.ready is not None else "bad")
    for style, words, x in LEGEND:
        yield f'<rect class="{style}" x="{x}" y="57" width="20" height="10"/>'
        yield _text(x + 26, 66, words, "small")


def _below(what: Report, folded: Sequence[Span]) -> Iterator[tuple[str, list[str]]]:
    """Yield what stands below the lanes: what was skipped, and what happened at one moment."""
    if folded:
        yield SKIPPED, [_clipped(", ".join(dict.fromkeys(span.actor for span in folded)), WIDTH)]
    if marks := [_clipped(f"{mark.at:.2f} s: {mark.text}", WIDTH) for mark in what.marks]:
        yield EVENTS, [*marks[:MOST_CAPTIONS], *([f"and {len(marks) - MOST_CAPTIONS} more"] * (len(marks) > 4))]
    if len(what.spans) > MOST_SPANS:
        yield "left out", [f"{len(what.spans) - MOST_SPANS} spans of time"]


def _stripe(number: int, top: int, height: int) -> Iterator[str]:
    if number % 2 == 0:
        yield f'<rect class="lane" x="0" y="{top}" width="{LEFT + WIDTH + RIGHT}" height="{height}"/>'


def _axis(what: Report, end: float, bottom: int) -> Iterator[str]:
    step = next((step for step in STEPS if end / step <= MOST_TICKS), end / MOST_TICKS)
    last = end / step
    for number in range(int(last) + 1):
        x = _x(number * step, end)
        yield f'<line class="grid" x1="{x}" y1="{HEAD}" x2="{x}" y2="{bottom}"/>'
        if not what.is_present or last - number > 0.7:
            yield _text(x, bottom + 16, _tick(number * step), "small", anchor="middle")
    if what.is_present:
        x = _x(end, end)
        yield f'<line class="end" x1="{x}" y1="{HEAD - 8}" x2="{x}" y2="{bottom}"/>'
        yield _text(x, bottom + 16, f"now, {_tick(round(end, 1))}", "small", anchor="middle")


def _tick(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:g} s"


def _marks(what: Report, end: float, bottom: int) -> Iterator[str]:
    for mark in what.marks:
        x = _x(mark.at, end)
        yield f'<line class="mark" x1="{x}" y1="{HEAD - 6}" x2="{x}" y2="{bottom}"/>'
    if what.ready is not None:
        yield _text(_x(what.ready, end), HEAD - 10, f"READY {what.ready:.2f} s", "ready", anchor="middle")


def _lane(spans: Sequence[Span], end: float, top: int) -> tuple[list[str], int]:
    """Return bars and captions of one actor, and the height of its lane.

    The last caption is beside the bars if there is room, each other one has a line of its own below them.
    """
    bars = [_bar(span, end, top) for span in spans]
    captions = list(_captions(spans, end))
    inline = _beside(captions[-1], spans, end, top + 17) if captions else None
    below = captions[:-1] if inline else captions
    height = LANE + LINE * len(below)
    lines = [_under(one, end, top + LANE + 10 + LINE * number) for number, one in enumerate(below)]
    return [*bars, *lines, *([inline] if inline else [])], height


def _captions(spans: Sequence[Span], end: float) -> Iterator[_Caption]:
    """Yield what is said of a lane: its longest waits, each failure, and its last work."""
    waits = [span for span in spans if span.kind is Kind.WAIT]
    longest = sorted(waits, key=lambda span: _until(span, end) - span.start)[-MOST_CAPTIONS:]
    failures = [span for span in spans if _is_failure(span)][-MOST_CAPTIONS:]
    works = [] if spans[-1].kind is Kind.WAIT else [span for span in spans if span.kind is Kind.WORK]
    if spans[0].actor in OTHERS:
        works.sort(key=lambda span: _until(span, end) - span.start)
    said = [*longest, *failures, *works[-1:]]
    for span in (span for span in spans if span in said):
        until = _until(span, end)
        took = f"{until - span.start:.2f} s" if until - span.start >= BRIEF else ""
        words, style = span.text, ""
        if span.kind is Kind.WAIT:
            words, style, took = span.text, "slow", f"waits {took}"
        elif _is_failure(span):
            style = "bad"
        took += " so far" if span.end is None else ""
        yield _Caption(": ".join(filter(None, (took, words))), style, span.start, until)


def _beside(one: _Caption, spans: Sequence[Span], end: float, y: int) -> str | None:
    """Return the caption beside the bars of its lane; None if there is no room."""
    first, last = _x(min(span.start for span in spans), end), _x(max(_until(span, end) for span in spans), end)
    if last + 7 + _width(one.words) <= EDGE:
        return _text(last + 7, y, one.words, f"caption {one.style}".strip())
    if LEFT + 4 + _width(one.words) <= first - 7:
        return _text(first - 7, y, one.words, f"caption {one.style}".strip(), "end")
    return None


def _under(one: _Caption, end: float, y: int) -> str:
    """Return the caption in a line of its own: it begins with its bar, or ends at the edge."""
    words = _clipped(one.words, EDGE - LEFT)
    fits = _x(one.start, end) + _width(words) <= EDGE
    x, anchor = (_x(one.start, end), "start") if fits else (EDGE, "end")
    return _text(x, y, words, f"caption {one.style}".strip(), anchor)


def _bar(span: Span, end: float, top: int) -> str:
    start, until = _x(span.start, end), _x(_until(span, end), end)
    took = "running" if span.end is None else f"{span.end - span.start:.3f} s"
    title = f"{span.actor}, {span.start:.3f} s, {took}: {span.text or span.kind}"
    return (
        f'<rect class="{_class(span)}" x="{start}" y="{top + (LANE - BAR) // 2}" '
        f'width="{max(LEAST, until - start):.1f}" height="{BAR}"><title>{_escaped(title)}</title></rect>'
    )


def _until(span: Span, end: float) -> float:
    return max(span.start, end if span.end is None else min(span.end, end))


def _is_failure(span: Span) -> bool:
    return span.kind is Kind.WORK and span.text.startswith("failed")


def _class(span: Span) -> str:
    if span.kind is Kind.WAIT:
        return "wait"
    if _is_failure(span):
        return "failed"
    if span.actor == "userspace":
        return "system"
    if span.actor == DAEMON and span.text in ("started", "is starting"):
        return "frame"  # its work is in the lanes of its stages
    return "others" if span.actor in OTHERS else "work"


def _x(at: float, end: float) -> float:
    return round(LEFT + WIDTH * min(at, end) / end, 1)


def _width(words: str) -> float:
    return LETTER * len(words)


def _clipped(words: str, room: float) -> str:
    most = int(room / LETTER)
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _escaped(words: str) -> str:
    """Return *words* for XML, which has no control characters; names come from outside."""
    return escape("".join(char if char.isprintable() else "?" for char in words))


def _text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.5g}" y="{y}" text-anchor="{anchor}">{_escaped(words)}</text>'
