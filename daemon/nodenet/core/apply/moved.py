"""Which profiles must lose their name servers before libnmstate can end a family on their link?

libnmstate keeps the name servers of a node file in the profile of a link that has a static address. Where a file moves
that address to another link, libnmstate (2.2.62) leaves them in the old profile, and NetworkManager refuses a profile
that has name servers and no addresses: the file could be applied on a fresh node only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.network_manager.objects import Inventory

Changes = dict[str, dict[str, None]]
"""Section of a profile → property → None: its default."""
FAMILIES = ("ipv4", "ipv6")
KEYS = ("dns", "dns-data", "dns-search")
GONE = "down"
"""A link that is deleted has no profile any more."""


def ends_a_family(difference: Mapping[str, Any]) -> bool:
    """Return whether a *difference* of libnmstate takes a family of addresses from a link."""
    return any(_ends(item, family) for item in difference.get("interfaces") or () for family in FAMILIES)


def to_prepare(difference: Mapping[str, Any], found: Inventory) -> Iterator[tuple[str, Changes]]:
    """Yield the UUID of each profile with what it must lose, for a *difference* of libnmstate."""
    for item in difference.get("interfaces") or ():
        ended = [family for family in FAMILIES if _ends(item, family)]
        for profile in found.profiles if ended else ():
            is_used = any(each.link == item.get("name") and each.profile == profile for each in found.devices)
            if not is_used and profile.link != item.get("name"):
                continue
            changes: Changes = {}
            for family in ended:
                lost = {key: None for key in KEYS if profile.setting(family, key)}
                if lost:
                    changes[family] = lost
            if changes:
                yield profile.uuid, changes


def _ends(item: Any, family: str) -> bool:  # noqa: ANN401  (JSON of libnmstate)
    if not isinstance(item, Mapping):
        return False
    section = item.get(family)
    return item.get("state") == GONE or (isinstance(section, Mapping) and section.get("enabled") is False)
