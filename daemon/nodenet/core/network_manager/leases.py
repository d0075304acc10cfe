"""Does NetworkManager hold a DHCPv4 lease for a link, or only show the one that it has given up?

Where a profile is applied again with other IPv4 settings, NetworkManager drops its lease and asks for another one. It
leaves the old address on the link for 15 s meanwhile, and shows the old options for good. The two differ in whether
such settings were applied, and whether options came since. Of a DHCP client that had no lease yet it is not known
whether its first one came before the apply or after it: there the time says whether the address stays.
"""

from __future__ import annotations

from collections.abc import Collection

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

KEPT_SECONDS = 17.0
"""An address that is still there so long after an apply is held: NetworkManager was asked for nothing new."""


@frozen
class LeaseMark:
    """What NetworkManager shows of a link: its *address* by DHCP, which IPv4 settings are *applied*, the lease *given*.

    *applied* and *given* change with each apply and each lease; nothing else is known about them.
    """

    address: IPAddress | None
    applied: str
    given: str
    asks: bool = True
    """Whether the profile of the link asks for a lease."""


def is_held(before: LeaseMark | None, now: LeaseMark, seconds: float, on_link: Collection[IPAddress]) -> bool:
    """Return whether the lease of *now*, *seconds* after the apply, is one; *on_link* are the addresses of the link."""
    if now.address is None:
        return False
    if before is None or now.applied == before.applied:
        return True
    was_awaited = before.asks and before.address is None
    if now.given != before.given and not was_awaited:
        return True
    return seconds >= KEPT_SECONDS and now.address in on_link
