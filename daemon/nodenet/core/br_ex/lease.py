"""May the static copy of a DHCPv4 lease stay on a bridge, and when must it be removed?

A client may use an address until its lease ends (RFC 2131 section 4.4.5), also across a reboot in which no server
answers (section 3.7). Within a boot only CLOCK_BOOTTIME decides. The wall clock is used across boots only, and with
doubt: a machine without a battery-backed clock may start with any date, so a clock behind the one of the record proves
nothing.
"""

from __future__ import annotations

from enum import StrEnum

from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.nmstate import state
from nodenet.core.value import frozen


@frozen
class Moment:
    """Now: the boot, seconds of CLOCK_BOOTTIME, and seconds of CLOCK_REALTIME."""

    boot_id: str
    boottime: float
    unix: float


@frozen
class StaticLease:
    """A leased address that is static on a bridge until its DHCP server confirms it.

    *seconds*: what was left of the lease at *noted*; None: unknown.
    """

    address: str
    noted: Moment
    seconds: float | None = None

    def at(self, now: Moment) -> StaticLease:
        """Return the same lease as noted *now*, in whose boot CLOCK_BOOTTIME decides from then on."""
        return StaticLease(self.address, now, self.left(now))

    def left(self, now: Moment) -> float | None:
        """Return the seconds until the lease ends, None where that is unknown."""
        same = now.boot_id == self.noted.boot_id
        passed = now.boottime - self.noted.boottime if same else now.unix - self.noted.unix
        return None if self.seconds is None or passed < 0 else self.seconds - passed


class Verdict(StrEnum):
    """What to do about the static copy."""

    KEEP = "keep"
    CONFIRMED = "confirmed"
    """The server gives the same address: the copy is not needed any more."""
    OTHER = "other"
    """The server gives another address; the lease has not ended."""
    ENDED = "ended"
    REPLACED = "replaced"
    """It was noted in another boot, and the server gives another address in this one."""
    UNKNOWN = "unknown"
    """It was noted in another boot, and the clock cannot say whether it has ended."""


REMOVED = frozenset({Verdict.CONFIRMED, Verdict.ENDED, Verdict.REPLACED, Verdict.UNKNOWN})
"""With these verdicts the static copy is removed."""


def verdict(lease: StaticLease, given: str | None, now: Moment) -> Verdict:
    """Return what to do about *lease*; *given* is the address that DHCP gives the bridge now, None: no answer."""
    if given == lease.address:
        return Verdict.CONFIRMED
    left, same_boot = lease.left(now), now.boot_id == lease.noted.boot_id
    if left is not None and left <= 0:
        return Verdict.ENDED
    if given:
        return Verdict.OTHER if same_boot else Verdict.REPLACED
    return Verdict.KEEP if same_boot or left is not None else Verdict.UNKNOWN


def lease_of(facts: BridgeFacts, link: str, now: Moment) -> StaticLease | None:
    """Return the DHCPv4 lease that *link* has now, None without one.

    The kernel's lifetime of the address comes first: no change of the wall clock moves it. It alone is known where
    NetworkManager was asked before the server answered, or was started again since. NetworkManager's time of expiry is
    a date; one that the length of the lease contradicts was noted by another clock.
    """
    device = facts.device(link)
    lease = device.lease4 if device else None
    shown = (state.link(facts.state, link) or {}).get("ipv4", {}).get("address") or ()
    lifetimes = {str(item.get("ip")): _seconds(item.get("valid-life-time")) for item in shown}
    if lease is None:
        ending = ((address, left) for address, left in lifetimes.items() if left is not None)
        return next((StaticLease(address, now, left) for address, left in ending), None)
    address = str(lease.address.ip)
    seconds = lifetimes.get(address)
    if seconds is None and lease.expires is not None:
        left = lease.expires - now.unix
        believable = left > 0 and (lease.seconds is None or left <= lease.seconds)
        seconds = left if believable else lease.seconds
    return StaticLease(address, now, seconds)


def _seconds(text: object) -> float | None:
    """Return a lifetime as libnmstate shows it (``3596sec``), None where it is without end or missing."""
    digits = str(text).removesuffix("sec")
    return float(digits) if digits.isdigit() else None
