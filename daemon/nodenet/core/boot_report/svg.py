"""How is the time line of a boot drawn? As SVG: one lane for each actor, waits hatched, the axis in seconds.

Written without a library (SVG 1.1, CSS media queries for a dark page): it has only rectangles, lines and text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from nodenet.core.boot_report.timeline import DAEMON, FOLLOWERS, LANES, Kind, Report, Span

LEFT, WIDTH, RIGHT = 150, 800, 30
LANE, BAR, HEAD, FOOT = 24, 14, 80, 44
LEAST = 1.5
"""The smallest width of a span, so that a very short one is visible."""
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
MOST_TICKS = 12
STYLE = """
  svg { background: #fff; color: #1b1f24; font: 12px system-ui, sans-serif; }
  text { fill: currentColor; } .title { font-size: 15px; font-weight: 600; } .small { font-size: 11px; opacity: .75; }
  .grid { stroke: currentColor; opacity: .15; } .lane { fill: currentColor; opacity: .04; }
  .work { fill: #2f6fbd; } .others { fill: #7d8794; } .failed { fill: #c23b3b; }
  .wait { fill: url(#hatch); stroke: #b7791f; } .stroke { stroke: #b7791f; stroke-width: 2; }
  .frame { fill: #2f6fbd; opacity: .3; } .system { fill: #7d8794; opacity: .3; }
  .mark { stroke: #2c8a4b; stroke-width: 1.5; stroke-dasharray: 4 3; } .ready { fill: #2c8a4b; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    svg { background: #14181d; color: #e3e8ee; } .work { fill: #68a4ea; } .others { fill: #8d98a6; }
    .failed { fill: #ea6a6a; } .frame { fill: #68a4ea; } .wait, .stroke { stroke: #e0a94c; }
    .mark { stroke: #57c27d; } .ready { fill: #57c27d; }
  }
"""
HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="stroke" x1="0" y1="0" x2="0" y2="6"/></pattern>'
)
LEGEND = (
    ("work", "nodenetd works"),
    ("wait", "waits (hover for why)"),
    ("others", "other programs work"),
    ("failed", "failed"),
)
OTHERS = frozenset(LANES[: LANES.index(DAEMON)]) | frozenset(LANES[-len(FOLLOWERS) :])


def picture(reports: Sequence[Report]) -> str:
    """Return an SVG document with one panel for each boot."""
    panels, top = [], 0
    for what in reports:
        height = HEAD + LANE * len(_lanes(what)) + FOOT
        panels.append(f'<g transform="translate(0 {top})">\n' + "\n".join(_panel(what)) + "\n</g>")
        top += height
    width = LEFT + WIDTH + RIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}" '
        f'role="img" aria-label="Time line of a boot">\n<style>{STYLE}</style>\n<defs>{HATCH}</defs>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def headline(what: Report) -> str:
    """Return a boot in one line."""
    name = f"Boot {what.boot_id[:8] or 'without a name'}"
    if what.ready is None or what.share is None:
        return f"{name}: not ready at the end of the journal"
    return f"{name}: ready after {what.ready:.2f} s; nodenetd's own work {what.own:.2f} s ({what.share:.1%})"


def _lanes(what: Report) -> list[str]:
    seen = {span.actor for span in what.spans}
    return [lane for lane in LANES if lane in seen] + sorted(seen - set(LANES))


def _panel(what: Report) -> Iterator[str]:
    end = max(what.end, 0.001)
    lanes = _lanes(what)
    bottom = HEAD + LANE * len(lanes)
    yield _text(12, 24, headline(what), "title")
    for number, (style, words) in enumerate(LEGEND):
        yield f'<rect class="{style}" x="{12 + 170 * number}" y="36" width="20" height="10"/>'
        yield _text(38 + 170 * number, 45, words, "small")
    for number, lane in enumerate(lanes):
        if number % 2 == 0:
            top, width = HEAD + LANE * number, LEFT + WIDTH + RIGHT
            yield f'<rect class="lane" x="0" y="{top}" width="{width}" height="{LANE}"/>'
        yield _text(LEFT - 10, HEAD + LANE * number + 16, lane, anchor="end")
    yield from _axis(end, bottom)
    for span in what.spans:
        yield _bar(span, end, HEAD + LANE * lanes.index(span.actor))
    for mark in what.marks:
        x = _x(mark.at, end)
        title = f"<title>{mark.at:.3f} s: {escape(mark.text)}</title>"
        yield f'<line class="mark" x1="{x}" y1="{HEAD - 8}" x2="{x}" y2="{bottom}">{title}</line>'
    if what.ready is not None:
        yield _text(_x(what.ready, end), HEAD - 12, "READY", "ready", anchor="middle")


def _axis(end: float, bottom: int) -> Iterator[str]:
    step = next((step for step in STEPS if end / step <= MOST_TICKS), STEPS[-1])
    for number in range(int(end / step) + 1):
        x = _x(number * step, end)
        yield f'<line class="grid" x1="{x}" y1="{HEAD}" x2="{x}" y2="{bottom}"/>'
        yield _text(x, bottom + 16, f"{number * step:g} s", "small", anchor="middle")


def _bar(span: Span, end: float, top: int) -> str:
    start, until = _x(span.start, end), _x(end if span.end is None else min(span.end, end), end)
    took = "running" if span.end is None else f"{span.end - span.start:.3f} s"
    title = f"{span.actor}, {span.start:.3f} s, {took}: {span.text or span.kind}"
    return (
        f'<rect class="{_class(span)}" x="{start}" y="{top + (LANE - BAR) // 2}" '
        f'width="{max(LEAST, until - start):.1f}" height="{BAR}"><title>{escape(title)}</title></rect>'
    )


def _class(span: Span) -> str:
    if span.kind is Kind.WAIT:
        return "wait"
    if span.text.startswith("failed"):
        return "failed"
    if span.actor == "userspace":
        return "system"
    if span.actor == DAEMON and span.text in ("started", "is starting"):
        return "frame"  # its work is in the lanes of its stages
    return "others" if span.actor in OTHERS else "work"


def _x(at: float, end: float) -> float:
    return round(LEFT + WIDTH * at / end, 1)


def _text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'
