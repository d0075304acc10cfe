"""How is a length of time written on the command line?"""

from __future__ import annotations

import argparse
import math
import re

UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
"""Seconds in each unit; the names are those of systemd.time(7)."""
_SPAN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)")


def seconds(text: str) -> float:
    """Return the seconds in `90`, `1.5`, `5s` or `2min`. Raises ArgumentTypeError."""
    found = _SPAN.fullmatch(text.strip())
    if found is None or found[2] not in UNITS or not math.isfinite(float(found[1])):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid number of seconds (examples: 90, 5s, 2min)")
    return float(found[1]) * UNITS[found[2]]
