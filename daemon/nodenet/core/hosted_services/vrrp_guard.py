"""Whose VRRP may reach this node's keepalived? That of the peers, on the link of the VIP, past no router. (nft(8))

keepalived takes an advertisement with any TTL in unicast mode, and one of a host that is no peer restarts the timer of
a holder in some versions. Pods and hosts of other subnets would otherwise move a VIP by one packet.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.keepalived import FORMER_SECONDS, peers
from nodenet.core.hosted_services.model import Inputs
from nodenet.core.hosted_services.packets import NEAR, VRRP_PROTOCOL
from nodenet.core.ip import Family, IPAddress, family_of

TABLE = "inet nodenet_vrrp"
_LIMITS = {Family.IPV4: ("ip", "ttl"), Family.IPV6: ("ip6", "hoplimit")}


def rules(inputs: Inputs, vips: tuple[VipDuty, ...]) -> str | None:
    """Return the rules in nft's syntax, which replace the table; None where this node holds no VIP."""
    held = [duty for duty in vips if duty.wanted]
    if not held:
        return None
    lines = "".join(f"        {line}\n" for line in (*_accepted(inputs, held), f"meta l4proto {VRRP_PROTOCOL} drop"))
    chain = f"    chain from_outside {{\n        type filter hook input priority -1; policy accept;\n{lines}    }}\n"
    return f"table {TABLE}\ndelete table {TABLE}\ntable {TABLE} {{\n{chain}}}\n"


def _accepted(inputs: Inputs, held: list[VipDuty]) -> Iterator[str]:
    for family, (protocol, limit) in _LIMITS.items():
        allowed: set[IPAddress] = set()
        for duty in held:
            if family_of(duty.address) is family:
                allowed.update(peers(inputs, duty, inputs.here.places[family]))
        if allowed:
            shown = ", ".join(map(str, sorted(allowed, key=int)))
            link = inputs.here.places[family].link
            # The former stack sends VRRP by IPv6 with the hop limit of the kernel.
            former = family is Family.IPV6 and inputs.options.advert_interval >= FORMER_SECONDS
            near = "" if former else f"{protocol} {limit} {NEAR} "
            yield f'iifname "{link}" {protocol} saddr {{ {shown} }} {near}meta l4proto {VRRP_PROTOCOL} accept'
