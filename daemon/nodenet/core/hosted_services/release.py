"""Which addresses does systemd take off this node's links whenever its keepalived ends? (ip(8), ``-batch``)

The unit of keepalived runs this file, so that a keepalived which is killed leaves no VIP behind even while
nodenet-hosted is dead. An address that is not there is no error (``-force``).
"""

from __future__ import annotations

from nodenet.core.hosted_services.model import Here
from nodenet.core.hosted_services.plan import Plan
from nodenet.core.ip import family_of


def batch(plan: Plan, here: Here) -> str:
    """Return the lines, one for each VIP that this node may hold."""
    lines = []
    for duty in plan.vips:
        place = here.places.get(family_of(duty.address))
        if duty.wanted and place is not None:
            length = 128 if duty.address.version == 6 else place.network.prefixlen
            lines.append(f"address delete {duty.address}/{length} dev {place.link}\n")
    return "".join(lines)
