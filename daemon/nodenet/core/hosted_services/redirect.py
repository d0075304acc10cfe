"""Which rules send connections to an API VIP through this node's haproxy? (nft(8))

The table is nodenet's own and is replaced as a whole in one transaction. It exists only while this node's haproxy is
healthy: without it a connection to the VIP reaches the API server of the node that holds the VIP.
"""

from __future__ import annotations

import re

from nodenet.core.hosted_services.duties import Duty
from nodenet.core.hosted_services.model import Inputs, Service
from nodenet.core.ip import Family, family_of

TABLE = "inet nodenet_hosted"
_BEFORE = -100
"""NF_IP_PRI_NAT_DST; nft knows its name, dstnat, in the hook prerouting only."""
REMOVAL = f"table {TABLE}\ndelete table {TABLE}\n"
"""Removes the table, and is no error where there is none: it is declared first."""
BY_WIRE = 0x20
"""The mark (SO_MARK, socket(7)) of connections from this node that go to the holder of the VIP."""
_TO_ANOTHER_NODE = f'        meta mark {BY_WIRE:#x} oifname != "lo" accept'
"""Otherwise this node's check of the VIP would end at its own haproxy, and say nothing about the holder."""


def rules(inputs: Inputs, duties: tuple[Duty, ...]) -> str | None:
    """Return the rules in nft's syntax, None when this node balances no VIP."""
    if not any(duty.wanted for duty in duties if duty.service is Service.REDIRECT):
        return None
    lines = []
    for vip in inputs.options.api_vips:
        protocol = "ip6" if family_of(vip) is Family.IPV6 else "ip"
        match = f"{protocol} daddr {vip} tcp dport {inputs.options.api_port}"
        lines.append(f"        {match} redirect to :{inputs.options.lb_port}")
    chains = [_chain("from_outside", "prerouting", lines), _chain("from_here", "output", [_TO_ANOTHER_NODE, *lines])]
    return f"{REMOVAL}table {TABLE} {{\n" + "\n".join(chains) + "}\n"


def ports(text: str) -> frozenset[str]:
    """Return the ports to which the rules in *text* lead; they may be as nft prints them."""
    return frozenset(re.findall(r"redirect to :(\d+)", text))


def _chain(name: str, hook: str, lines: list[str]) -> str:
    head = f"    chain {name} {{\n        type nat hook {hook} priority {_BEFORE}; policy accept;\n"
    return head + "\n".join(lines) + "\n    }\n"
