"""What do the raw measurements say, and how are they shown?"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

OURS = ("nodenet", "dbus_next", "pyroute2", "structlog", "ruamel", "libnmstate")
STANDARD = "standard library"
LARGE_HOSTS = "## Node IP selection on large hosts\n"
LOOK_UPS = "## Changes of DNS\n"
BR_EX = "## The making of br-ex\n"
HOSTED = "## Hosted services\n"
HOSTED_CLUSTER = "## Hosted services in the cluster\n"
HOSTED_MIGRATION = "## Migration of the API\n"
DAY_ONE = "## Day one for many hosts\n"
FLEET = "## A fleet\n"
PACKAGES = "## Packages\n"
PERSISTENT_IPS = "## Persistent IPs\n"
BY_THEMSELVES = (
    *(BR_EX, LARGE_HOSTS, LOOK_UPS, HOSTED, HOSTED_CLUSTER, HOSTED_MIGRATION, DAY_ONE, PERSISTENT_IPS, FLEET),
    PACKAGES,
)
"""Headings of the sections that are measured by themselves."""
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


class Unit(enum.Enum):
    """What a figure counts, and how precisely it is shown."""

    MS = ("ms", 0)
    MB = ("MB", 1)
    PER_MINUTE = ("/min", 1)
    RATIO = ("", 2)
    SECONDS = ("s", 2)
    TIMES = ("", 0)

    def tell(self, value: float) -> str:
        """Return *value* with the unit."""
        word, digits = self.value
        return f"{value:.{digits}f} {word}".strip()


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. A figure with an aim that it misses must say why."""

    name: str
    value: float
    unit: Unit
    aim: float | None = None
    detail: str = ""
    why_missed: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached; None: there is none."""
        return None if self.aim is None else self.value <= self.aim

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Name, value, aim and verdict."""
        aim = "" if self.aim is None else f"≤ {self.unit.tell(self.aim)}"
        verdict = {None: "", True: "met", False: "missed"}[self.met]
        return self.name, self.unit.tell(self.value), aim, verdict


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run found."""

    machine: str
    figures: Sequence[Figure]
    breakdown: Sequence[tuple[str, float]]
    """Part of the boot with an unchanged file, and its milliseconds."""
    imports: Sequence[tuple[str, float]] = field(default=())
    """Package imported by the daemon, and its own milliseconds."""


def milliseconds(seconds: Iterable[float]) -> float:
    """Return the median in milliseconds."""
    return median(seconds) * 1000


def import_costs(trace: str) -> dict[str, float]:
    """Return milliseconds by package from what `python -X importtime` wrote, the most expensive first.

    Counted is the time of each module without what it imported in turn.
    """
    costs: Counter[str] = Counter()
    for own, module in _IMPORT.findall(trace):
        top = module.partition(".")[0]
        costs[top if top in OURS else STANDARD] += int(own)
    return {name: own / 1000 for name, own in costs.most_common()}


def markdown(report: Report) -> str:
    """Return the page that keeps the run."""
    parts = [
        "# Benchmarks\n\nWritten by `make bench`; medians of one run, ratios within that run.\n",
        report.machine + "\n",
        table(("figure", "measured", "aim", ""), [figure.cells for figure in report.figures]),
        *(f"- {figure.name}: {figure.detail}" for figure in report.figures if figure.detail),
        *missed(report.figures),
        "\n## Where a boot with an unchanged file spends its time\n",
        table(("part", "ms"), [(name, f"{value:.1f}") for name, value in report.breakdown]),
        "## What the daemon imports\n",
        "Measured with `-X importtime`, which itself costs time: read the proportions.\n",
        table(("package", "ms"), [(name, f"{value:.1f}") for name, value in report.imports]),
    ]
    return "\n".join(parts).rstrip() + "\n"


def missed(figures: Iterable[Figure]) -> list[str]:
    """Return the section on aims that were missed."""
    lines = [f"- {figure.name}: {figure.why_missed}" for figure in figures if figure.met is False]
    return ["\n## Missed aims\n", *lines] if lines else []


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose columns also line up on a terminal."""
    body = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(row[column]) for row in body) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in body
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def with_section(page: str, text: str) -> str:
    """Return *page* with *text*, a heading and what belongs to it, in the place of an older one or at the end."""
    heading = text.partition("\n")[0] + "\n"
    before, found, rest = page.partition(heading)
    _, following, after = rest.partition("\n## ") if found else ("", "", "")
    return f"{before.rstrip()}\n\n{text.rstrip()}\n{following}{after}".rstrip() + "\n"


def kept_section(page: str, heading: str) -> str:
    """Return the section of *page* under *heading*, empty when it has none."""
    _, found, rest = page.partition(heading)
    return found + rest.partition("\n## ")[0]
