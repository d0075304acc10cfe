"""What does NetworkManager say of itself, its checkpoints and its leases?"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen


class ManagerState(StrEnum):
    """How far NetworkManager is, in the words of a wait."""

    NO_BUS = "the system bus does not answer"
    ABSENT = "NetworkManager is not on the bus yet"
    SILENT = "NetworkManager is on the bus, but does not answer (systemctl restart NetworkManager)"
    STARTING = "NetworkManager is still starting (its first activations are not over)"
    READY = "NetworkManager is ready"


UNIT = "NetworkManager.service"
START_LIMIT = "start-limit-hit"
OWN_RESTARTS = 3
"""After so many restarts by systemd a failure means the same: not every version reports the start limit then."""
PAUSES = (5.0, 20.0, 60.0)
"""Seconds of being given up before nodenetd starts it, each time; no further time after the last."""


@frozen
class Service:
    """How systemd sees a service; *job*: the kind of the one that is queued or runs for it, if any."""

    load_state: str = "loaded"
    active_state: str = "inactive"
    job: str = ""
    result: str = "success"
    restarts: int = 0
    """How often systemd started it again by itself (NRestarts)."""

    @property
    def failed(self) -> bool:
        """Whether it rests in failure: also one that was stopped, and did not end well."""
        return (self.load_state, self.active_state, self.job) == ("loaded", "failed", "")

    @property
    def given_up(self) -> bool:
        """Whether systemd has given it up after too many failures in a row, and it was not stopped.

        A time that was up says less: such starts are tried again for ever, and a stop may follow crashes.
        """
        crashed = self.restarts >= OWN_RESTARTS and self.result != "timeout"
        return self.failed and (self.result == START_LIMIT or crashed)


_NOT_LOADED = {
    "masked": "NetworkManager is masked (systemctl unmask NetworkManager; systemctl start NetworkManager)",
    "not-found": "NetworkManager is not installed (there is no NetworkManager.service)",
}
_STANDING = {
    "inactive": "NetworkManager is stopped (systemctl start NetworkManager)",
    "deactivating": "NetworkManager is being stopped",
    "active": "NetworkManager runs, but has lost the bus (systemctl restart NetworkManager)",
}


def absence(service: Service | None, starts: int) -> str:
    """Return the words of the wait for NetworkManager, which nodenetd has started *starts* times.

    *service* is None while systemd does not answer.
    """
    if service is None:
        return ManagerState.ABSENT.value
    if service.load_state != "loaded":
        unread = f"NetworkManager's unit cannot be loaded: {service.load_state} (systemctl status NetworkManager)"
        return _NOT_LOADED.get(service.load_state, unread)
    if service.failed:
        return _failed(service, starts)
    if service.job in ("start", "restart", "try-restart"):
        return ManagerState.ABSENT.value
    return _STANDING.get(service.active_state, ManagerState.ABSENT.value)


def _failed(service: Service, starts: int) -> str:
    failed = f"NetworkManager has failed: {service.result}"
    if service.given_up and starts < len(PAUSES):
        return f"{failed} (journalctl -u NetworkManager); nodenetd starts it again"
    way = "journalctl -u NetworkManager; systemctl reset-failed NetworkManager; systemctl start NetworkManager"
    tried = f", also after nodenetd started it {starts} times" if starts else ""
    return f"{failed}{tried} ({way})"


def is_due(starts: int, seconds: float) -> bool:
    """Return whether a service that systemd gave up *seconds* ago is started now, after *starts* starts of ours."""
    return starts < len(PAUSES) and seconds >= PAUSES[starts]


@frozen
class Checkpoint:
    """A pending checkpoint of NetworkManager: D-Bus path, and creation in seconds of CLOCK_BOOTTIME.

    *seconds*: how long after its creation NetworkManager rolls it back, 0: never; None: NetworkManager does not say.
    """

    path: str
    created: float
    seconds: int | None = None


def of_another(checkpoint: Checkpoint) -> str:
    """Return what is waited for where another program has made *checkpoint*: words that do not change with time."""
    made = f"made {checkpoint.created:.0f} s after the start of this boot"
    match checkpoint.seconds:
        case None:
            ends = ""
        case 0:
            ends = ", without a time-out: it stays until that program ends it"
        case seconds:
            ends = f", which NetworkManager rolls back {seconds} s later"
    return f"another program holds NetworkManager's checkpoint {checkpoint.path}, {made}{ends}"


def rollback_forgets_dns(version: str) -> bool:
    """Return whether NetworkManager *version* leaves the global DNS configuration out of its checkpoints (< 1.48)."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return numbers < [1, 48]


# Does NetworkManager hold a DHCPv4 lease for a link, or only show the one that it has given up?
#
# Where a profile is applied again with other IPv4 settings, NetworkManager drops its lease and asks for another one. It
# leaves the old address on the link for 15 s meanwhile, and shows the old options for good. The two differ in whether
# such settings were applied, and whether options came since. Of a DHCP client that had no lease yet it is not known
# whether its first one came before the apply or after it: there the time says whether the address stays.

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
