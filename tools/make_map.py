"""How do the rooms of the code lie over each other? `python tools/make_map.py` draws them in ARCHITECTURE.md.

Floors and arrows come from tools/rooms.py, the list that the tests hold the code to; what a room is for is the first
line of its docstring. So the picture always shows the rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rooms import CORE, EDGE, OTHERS, STAGES, floors

ROOT = Path(__file__).resolve().parents[1]
CODE = ROOT / "daemon" / "nodenet"
PAGE = ROOT / "ARCHITECTURE.md"
_BLOCK = re.compile(r"(<!-- rooms: made by tools/make_map.py -->\n).*?(<!-- end -->)", re.DOTALL)


def purpose(room: str) -> str:
    """Return the first line of the docstring of a room: of its package, or of the module."""
    place = CODE / room.replace(".", "/")
    source = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def picture() -> str:
    """Return the floors of core from the top to the bottom, then the rooms beside core, as Markdown tables."""
    lines = ["| floor | room of `core` | what it holds | imports |", "|---|---|---|---|"]
    made = list(enumerate(floors(), start=1))
    for number, floor in reversed(made):
        lines += [_row(str(number), f"`{room}`", purpose(f"core.{room}"), CORE[room]) for room in sorted(floor)]
    lines += [_row("0", "modules of `core` itself", "`errors`, `messages`, `ip` and what every room uses", ())]
    lines += ["", "| beside core | what it holds | may import |", "|---|---|---|"]
    lines += [
        f"| `{name}` | {purpose(name)} | {_listed(others)} |" for name, others in OTHERS.items() if name != "core"
    ]
    lines += [f"| `stages/*` | {purpose('stages')} | {_listed(STAGES)} |"]
    lines += [f"| `edge/{name}` | {purpose(f'edge.{name}')} | {_listed(_of_edge(name))} |" for name in sorted(EDGE)]
    return "\n".join(lines) + "\n"


def _of_edge(name: str) -> Iterator[str]:
    if name in CORE:
        yield f"core.{name}"
    yield from EDGE[name]


def _row(floor: str, room: str, holds: str, imports: Iterable[str]) -> str:
    return f"| {floor} | {room} | {holds} | {_listed(imports)} |"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"


def made(page: str) -> str:
    """Return *page* with its marked block drawn again."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{picture()}\n{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
