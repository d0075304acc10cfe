"""How long does a selection wait for a better address when it has one already?

Later boots keep the first choice, so it must not depend on what is configured first. But no boot waits long for an
address that did not come in the boot before.
"""

from __future__ import annotations

from nodenet.core.ip import Family
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.pending import Pending
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Selection

SETTLE_SECONDS = 5.0
"""For what would still change the selection (duplicate address detection, a router's answer)."""
ANSWER_SECONDS = {Family.IPV6: SETTLE_SECONDS, Family.IPV4: 10.0}
"""For a router or DHCP server once the other family is there: a lost DHCP request is repeated after 4 s (RFC 2131)."""
BEGUN_SECONDS = 3.0
"""For what has begun by then in addition: the address of a late answer is in duplicate address detection."""
PATH_SECONDS = 60.0
"""Where hints or VIPs ask for another address, which may still come; not in every boot."""
FAMILY_SECONDS = 60.0
"""For a family that the settings name, once the other one is there."""
WISHED = frozenset({Rule.HINT, Rule.VIP_SUBNET})


def hoped(selection: Selection, record: LastPublished | None) -> list[Pending]:
    """Return what may come, without what did not come in the boot before."""
    return [item for item in selection.pending if record is None or item.reason not in record.in_vain]


def patience(selection: Selection, policy: Policy, record: LastPublished | None, asked: Family | None) -> float:
    """Return for how many seconds *selection*, which has node IPs, is not published yet; 0: publish.

    *asked*: the family of which a router or DHCP server may still give an address.
    """
    if selection.missing:
        return FAMILY_SECONDS
    as_before = record is not None and record.addresses == selection.node_ips
    waits = [ANSWER_SECONDS[asked]] if asked and not as_before else []
    if items := hoped(selection, record):
        wished = any(item.asked for item in items)
        elsewhere = wished or (bool(policy.vips or policy.hints) and selection.selected[0].rule not in WISHED)
        begun = BEGUN_SECONDS if any(item.begun for item in items) else 0.0
        waits.append(PATH_SECONDS if elsewhere and not as_before else SETTLE_SECONDS + begun)
    return max(waits, default=0.0)
