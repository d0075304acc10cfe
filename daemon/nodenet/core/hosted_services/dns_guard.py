"""Which clients may query this node's dnsmasq? This node and its pods, and no host outside. (nft(8))

dnsmasq asks other servers for every client that reaches it, and hosts outside would use it to attack others (RFC 5358).
Programs of this node come in by the loopback link and pods by links of their own; what comes in by the link of the node
IP is from outside. Only the node IPs are guarded: another DNS server on another address stays as it is.
"""

from __future__ import annotations

import re

from nodenet.core.hosted_services.model import Here, Place
from nodenet.core.ip import Family, family_of

TABLE = "inet nodenet_dns"
REMOVAL = f"table {TABLE}\ndelete table {TABLE}\n"
"""Removes the table, and is no error where there is none: it is declared first."""
_PLAIN = re.compile(r"[A-Za-z0-9_.@-]{1,15}")


def rules(here: Here) -> str:
    """Return the rules in nft's syntax, which replace the whole table in one transaction."""
    lines = "".join(f"        {_rule(place)}\n" for place in here.places.values())
    chain = f"    chain from_outside {{\n        type filter hook input priority 0; policy accept;\n{lines}    }}\n"
    return f"{REMOVAL}table {TABLE} {{\n{chain}}}\n"


def _rule(place: Place) -> str:
    protocol = "ip6" if family_of(place.address) is Family.IPV6 else "ip"
    # A name with a quote would end the string; then every link but loopback is outside.
    link = f'iifname "{place.link}"' if _PLAIN.fullmatch(place.link) else 'iifname != "lo"'
    return f"{link} {protocol} daddr {place.address} meta l4proto {{ tcp, udp }} th dport 53 reject"
