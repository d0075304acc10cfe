"""Which types of interfaces does libnmstate know, and what is reported for an unknown one?

For an unknown type libnmstate only logs a line: it finds the link by its name, drops the keys of the intended type,
and reports success.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from nodenet.core.node_file.finding import Finding, at, shown
from nodenet.core.node_file.yaml_text import Block, Scalar

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
"""The variants of the crate's InterfaceType that can be asked for; tests/libnmstate holds this to the crate in use."""
SHOWN = frozenset({"tun", "unknown"})
"""What ``show`` prints for links that libnmstate does not make: accepted, libnmstate then looks at the name alone."""


def unknown_types(links: Iterable[tuple[str, Block]]) -> Iterator[Finding]:
    """Yield a finding for each of the *links*, each with its path, whose type is not known."""
    for path, link in links:
        kind = link.get("type")
        state = link.get("state")
        ignored = isinstance(state, Scalar) and state.text == "ignore"
        if not isinstance(kind, Scalar) or not kind.text or ignored or kind.text in MADE | SHOWN:
            continue
        name = link.get("name")
        named = f" (interface {shown(name.text)!r})" if isinstance(name, Scalar) else ""
        yield at(kind, f"{path}.type", f"libnmstate knows no type {shown(kind.text)!r}{named}", _remedy(kind.text))


_MEANT = {"interface": "ethernet", "nic": "ethernet", "eth": "ethernet"}
"""Words that other tools have for a type, where the nearest spelling would be another kind of link."""


def _remedy(kind: str) -> str:
    if meant := _MEANT.get(kind.lower()):
        return f"Write `{meant}`; leave `type` out for a link that is there already"
    near = difflib.get_close_matches(kind[:40].lower(), sorted(MADE), n=3)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"Leave `type` out for a link that is there already; the types are: {', '.join(sorted(MADE))}"
