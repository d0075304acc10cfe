"""A node file, which the world has in JSON, with other names for its NICs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulation.world import World


def as_written(world: World, text: str) -> str:
    """Return a document with the names that the NICs had when the node was installed."""
    return with_names(text, {now: world.rules.names_of_file.get(mac, now) for mac, now in world.nics.items()})


def with_names(text: str, names: dict[str, str]) -> str:
    """Return *text* with new names: *names* has old name → new name."""
    found = {old: new for old, new in names.items() if old != new}
    if not found:
        return text
    pattern = "|".join(re.escape(json.dumps(old)) for old in found)
    return re.sub(pattern, lambda match: json.dumps(found[json.loads(match[0])]), text)
