"""Which types of interfaces does libnmstate know, and what is said of another one?

Of a type that it does not know libnmstate only logs a line: it looks the link up by its name, drops what only the
meant type has, and reports success.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from nodenet.core.errors import NodeFileInvalid

MADE = frozenset(
    {
        "bond",
        "dummy",
        "ethernet",
        "hsr",
        "infiniband",
        "ip-tunnel",
        "ipsec",
        "ipvlan",
        "linux-bridge",
        "loopback",
        "mac-vlan",
        "mac-vtap",
        "macsec",
        "ovs-bridge",
        "ovs-interface",
        "veth",
        "vlan",
        "vrf",
        "vxlan",
        "xfrm",
    }
)
"""The variants of the crate's InterfaceType that can be asked for; tests/libnmstate holds this to the crate at hand."""
SHOWN = frozenset({"tun", "unknown"})
"""What ``show`` prints for links that libnmstate does not make: taken, for the name alone counts then."""


def refuse_unknown(file: str, links: Sequence[object]) -> None:
    """Raise NodeFileInvalid for the first of the *links*, the list `interfaces` of *file*, whose type is not known."""
    for number, link in enumerate(links):
        kind = _type(link)
        if kind and kind not in MADE | SHOWN:
            raise NodeFileInvalid(
                f"{file}: interfaces[{number}].type: libnmstate knows no type {kind!r} (interface {_name(link)!r})",
                remedy=_remedy(kind),
            )


def _type(link: object) -> str:
    """Return the type that a link is given; of one that is to be ignored none counts."""
    kind = link.get("type") if isinstance(link, Mapping) and link.get("state") != "ignore" else None
    return kind if isinstance(kind, str) else ""


def _name(link: Any) -> str:  # noqa: ANN401  (a part of a YAML document)
    return str(link.get("name", ""))


def _remedy(kind: str) -> str:
    near = difflib.get_close_matches(kind.lower(), sorted(MADE), n=3)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"Leave `type` out for a link that is there already; the types are: {', '.join(sorted(MADE))}"
