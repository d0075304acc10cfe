"""Which addresses may still come before the first selection, although nothing shows them yet?

Later boots keep the first choice, so it must not depend on which link is configured first. ``pending`` has the
addresses that are visibly on their way.
"""

from __future__ import annotations

from collections.abc import Collection

from nodenet.core.ip import Family, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip.inputs import own_links
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import Candidate


def unanswered(snapshot: Snapshot, policy: Policy, link: str | None, chosen: Collection[Candidate]) -> Family | None:
    """Return the family that *chosen* lacks on *link* and of which a router or DHCP server there may give an address.

    With `auto` it is unknown whether there is a router or a DHCP server. The host asks for a router once its link-local
    IPv6 address has passed duplicate address detection (RFC 4861, section 6.3.7), and for a DHCP lease from the
    beginning. The answer takes up to some seconds, or never comes.
    """
    families = {family_of(item.address) for item in chosen if item.link == link}
    if policy.families != "auto" or len(families) != 1:
        return None
    (lacking,) = set(Family) - families
    on_link = [item for item in snapshot.addresses if item.link == link and item.family is lacking]
    asked = bool(on_link) or lacking is Family.IPV4
    return lacking if asked and all(item.address.is_link_local for item in on_link) else None


def undecided_links(snapshot: Snapshot, policy: Policy, chosen: Collection[Candidate]) -> tuple[str, ...]:
    """Return the links, by index, that may still get a better address than one that is chosen on another link.

    Which of several links is configured first is a matter of chance, and later boots keep the choice. A link is
    done in a family that is chosen when it has both a default route and an address: NetworkManager adds a static
    default route at once, and its address after conflict detection (RFC 5227); DHCP's come the other way round.
    """
    routed = {(hop.link, route.family) for route in snapshot.routes if route.is_default for hop in route.next_hops}
    addressed = {(item.link, item.family) for item in snapshot.addresses if not item.address.is_link_local}
    done = routed & addressed
    return tuple(
        link.name
        for link in own_links(snapshot, policy)
        if any(item.link != link.name and (link.name, family_of(item.address)) not in done for item in chosen)
    )
