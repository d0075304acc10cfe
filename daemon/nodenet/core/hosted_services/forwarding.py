"""Which link must forward packets between the network and the pods?

On-premises platforms with VIPs need it on the link that carries the node IP, and only there (ip-sysctl in the
kernel's documentation: ``conf/LINK/forwarding``). NetworkManager handles router advertisements by itself, so it
does not matter that the kernel ignores them on a forwarding link.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodenet.core.boot.facts import Facts
from nodenet.core.hosted_services.model import ON_PREMISES
from nodenet.core.settings.model import Settings

SYSCTLS = ("net/ipv4/conf/forwarding", "net/ipv6/conf/forwarding")


def forwarding_link(settings: Settings, facts: Facts) -> str | None:
    """Return the link that carries the node IP now and has to forward, None while there is none."""
    if settings.platform not in ON_PREMISES or not settings.api_vips or facts.selection is None:
        return None
    moved = facts.bridge is not None and facts.selection.link == facts.uplink
    return facts.bridge if moved else facts.selection.link


def to_set(present: Mapping[str, str]) -> dict[str, str]:
    """Return what differs of a link's *present* settings; a family that the kernel lacks has none."""
    return {name: "1" for name in SYSCTLS if present.get(name, "1") != "1"}
