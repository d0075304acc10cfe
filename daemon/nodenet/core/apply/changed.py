"""What has another program changed of a network that nodenet made, in a few words?

Names of links and keys only: a value may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.apply.intent import Intent, Phase

MOST = 8
"""Links in one line of the journal."""
SILENT = frozenset({"name", "type", "state", "identifier"})
"""Keys of each link in a difference, whatever differs."""


def was_good(record: Intent | None, boot_id: str) -> bool:
    """Return whether an apply of an earlier boot has made the network of *record*, and nothing has been tried since."""
    return record is not None and record.phase is Phase.GOOD and record.boot_id != boot_id


def summary(difference: Mapping[str, Any]) -> str:
    """Return what is in libnmstate's *difference*: each link with its keys, then the other keys of the document."""
    links = [_link(item) for item in difference.get("interfaces", ())]
    more = [f"{len(links) - MOST} more links"] if len(links) > MOST else []
    others = [key for key, value in difference.items() if key != "interfaces" and value]
    return ", ".join([*links[:MOST], *more, *others])


def _link(item: Mapping[str, Any]) -> str:
    keys = sorted(item.keys() - SILENT)
    return f"{item.get('name')} ({', '.join(keys)})" if keys else str(item.get("name"))
