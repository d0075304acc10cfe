"""How do the rooms of the code lie over each other? `python tools/make_map.py` draws them in ARCHITECTURE.md.

Floors and arrows come from tools/rooms.py, the list that the tests hold the code to.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from rooms import EDGE, OTHERS, STAGES, floors

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
_BLOCK = re.compile(r"(<!-- rooms: made by tools/make_map.py -->\n).*?(<!-- end -->)", re.DOTALL)


def picture() -> str:
    """Return the floors of core from the top to the bottom, then the rooms beside core with what they may import."""
    lines = ["```"]
    made = list(enumerate(floors(), start=1))
    for number, floor in reversed(made):
        lines += _line(f"core, floor {number}", sorted(floor))
    lines += [*_line("core, floor 0", ["modules of core itself: errors, messages, ip and what every room uses"]), ""]
    for name, others in [*((name, others) for name, others in OTHERS.items() if name != "core"), ("stages/*", STAGES)]:
        lines += _line(name, [f"imports {_listed(others)}"])
    lines += _line("edge/*", ["imports the room of core with its name, and"])
    lines += [line for name in sorted(EDGE) if EDGE[name] for line in _line("", [f"{name}: {_listed(EDGE[name])}"])]
    return "\n".join([*lines, "```"]) + "\n"


def _line(name: str, words: Iterable[str]) -> list[str]:
    return textwrap.wrap(", ".join(words), 110, initial_indent=f"{name:<18}", subsequent_indent=" " * 20)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def made(page: str) -> str:
    """Return *page* with its marked block drawn again."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{picture()}\n{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
