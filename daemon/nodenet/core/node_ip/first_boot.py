"""Which addresses may still come before the first selection, although nothing shows them yet?

Later boots keep the first choice, so it must not depend on which link is configured first. ``pending`` has the
addresses that are visibly on their way.
"""

from __future__ import annotations

from nodenet.core.ip import Family, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_ip.inputs import own_links
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Selection

WISHED = frozenset({Rule.HINT, Rule.VIP_SUBNET})
"""What makes an address the one that the settings ask for."""


def unanswered(snapshot: Snapshot, policy: Policy, selection: Selection) -> Family | None:
    """Return the family that *selection* lacks on its link and of which a router or DHCP server may give an address.

    With `auto` it is unknown whether there is a router or a DHCP server, and NetworkManager calls a link activated once
    it has one family. The host asks for a router once its link-local IPv6 address has passed duplicate address
    detection (RFC 4861, section 6.3.7), and for a DHCP lease from the beginning.
    """
    link = selection.link
    families = {family_of(item.address) for item in selection.selected if item.link == link}
    lacking = next(iter(selection.second - families), None)
    if policy.families != "auto" or not families or lacking is None:
        return None
    on_link = [item for item in snapshot.addresses if item.link == link and item.family is lacking]
    asked = bool(on_link) or lacking is Family.IPV4
    return lacking if asked and all(item.address.is_link_local for item in on_link) else None


def rivals(snapshot: Snapshot, policy: Policy, selection: Selection, found: Inventory, *, starting: bool) -> list[str]:
    """Return the links, by index, that may still get a better address, and that NetworkManager has not settled.

    A link behind the chosen one gets the worse metric: it wins by a hint or VIP, or by a profile of an administrator,
    and not by a profile that NetworkManager made by itself. So a cabled NIC without DHCP server delays nothing.
    """
    chosen = {item.link for item in selection.selected}
    index = next((link.index for link in snapshot.links if link.name == selection.link), 0)
    unmet = bool(policy.hints or policy.vips) and all(item.rule not in WISHED for item in selection.selected)

    def is_open(link: str) -> bool:
        state = found.states.get(link, "")
        return link in found.activating or (
            starting and link not in found.settled and not state.startswith("unmanaged")
        )

    return [
        link.name
        for link in own_links(snapshot, policy)
        if link.name not in chosen and is_open(link.name)
        if unmet or link.index < index or link.name in found.activating - found.automatic
    ]
