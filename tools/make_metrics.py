"""Which metrics are there? `python tools/make_metrics.py` writes the tables of docs/metrics.md.

A metric is described once, where its value is made (``FAMILIES``); the tables follow from that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "daemon")]

from nodenet.core import metrics as program
from nodenet.core.hosted_cluster import metrics as operator
from nodenet.core.hosted_services import metrics as hosted
from nodenet.core.metrics import Family
from nodenet.core.persistent_ips import metrics as ipam
from nodenet.core.status import metrics as status

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "metrics.md"
FAMILIES: Mapping[str, tuple[Family, ...]] = {
    "every-program": program.FAMILIES,
    "nodenetd": status.FAMILIES,
    "nodenet-hosted": hosted.FAMILIES,
    "nodenet-ipam": ipam.FAMILIES,
    "nodenet-operator": operator.FAMILIES,
}
"""Block of the page → its metrics."""
_BLOCK = re.compile(
    r"(?P<head><!-- (?P<name>[a-z-]+): made by tools/make_metrics.py -->\n\n).*?(?P<tail>\n<!-- end -->)", re.DOTALL
)


def made(page: str) -> str:
    """Return *page* with its marked blocks as they should be."""
    return _BLOCK.sub(lambda block: f"{block['head']}{_block(block['name'])}{block['tail']}", page)


def _block(name: str) -> str:
    if name == "events":
        return "".join(
            f"* {one}: {', '.join(f'`{event.name.lower()}`' for event in events)}\n"
            for one, events in program.COUNTED.items()
        )
    rows = ["| metric | type | labels | value |", "|---|---|---|---|", *map(_row, FAMILIES[name])]
    return "".join(f"{row}\n" for row in rows)


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.summary} |"


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
