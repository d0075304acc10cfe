"""Which addresses does systemd take off this node's links before its keepalived starts, and whenever it ends?

The unit of keepalived runs this file (ip(8), ``-batch``), so a keepalived that is killed leaves no VIP behind, whatever
nodenet-hosted does. An address goes from every link that has it, with any prefix; one that is not there is no error.
"""

from __future__ import annotations

from nodenet.core.hosted_services.plan import Plan


def batch(plan: Plan) -> str:
    """Return the lines, one for each VIP that this node may hold."""
    vips = (duty.address for duty in plan.vips if duty.wanted)
    return "".join(f"address flush to {vip}/{vip.max_prefixlen}\n" for vip in vips)
