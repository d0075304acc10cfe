"""Is a link configured as NetworkManager will configure it, or is its activation still to come?

After a cable came back, or NetworkManager was started again, a link may have addresses of an earlier activation and not
the routes. A plan of such a link would lack them.
"""

from __future__ import annotations

from nodenet.core.br_ex.condition import is_port
from nodenet.core.br_ex.facts import BridgeFacts


def awaited_profile(facts: BridgeFacts, link: str) -> str | None:
    """Return the name of the profile that NetworkManager is to activate on *link*, None where none is awaited.

    A link that another program configures has no profile, or one that does not connect by itself.
    """
    device = facts.device(link)
    if device is None or device.profile is not None:
        return None
    own = (each for each in facts.profiles if each.link == link and not each.kind.startswith("ovs-"))
    waiting = (
        each.name for each in own if not is_port(each) and each.setting("connection", "autoconnect") is not False
    )
    return next(waiting, None)
