"""Which MACs does a node file name? Read without a YAML parser: a file of the largest size takes that seconds."""

from __future__ import annotations

import re

_KEY = re.compile(
    r"""^[^#\n]*?\bmac-address["']?\s*:\s*["']?((?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2})\b""", re.IGNORECASE | re.MULTILINE
)


def named_macs(text: str) -> frozenset[str]:
    """Return the MACs of links in *text*, in lower case and with colons; comments name none."""
    return frozenset(mac.lower().replace("-", ":") for mac in _KEY.findall(text))
