"""NetworkManager is not on the bus: will it start by itself, and if not, what can an administrator do?

The states are systemd's own (org.freedesktop.systemd1(5)): load and active state, and the result of a service.
"""

from __future__ import annotations

from enum import StrEnum

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
