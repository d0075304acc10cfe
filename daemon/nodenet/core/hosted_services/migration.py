"""How far has the API moved from one load balancer to another? (``status.migration`` of HostedNetServices)

nodenet-operator leads from phase to phase. Each node follows the phase, from its disk while the API is away, and both
load balancers serve until the last phase: a node that follows late fails no request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from ipaddress import ip_address
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

MOST_ADDRESSES = 2
LONGEST_MESSAGE = 2048


class Phase(StrEnum):
    """What all nodes do now. The API is at rest in the first two."""

    SELF_HOSTED = "SelfHosted"
    EXTERNAL = "External"
    VERIFY = "Verify"
    """Each control-plane node checks the external load balancer."""
    START_HAPROXY = "StartHaproxy"
    VERIFY_VIP = "VerifyVIP"
    """Each control-plane node checks that the VIP has one holder and that the API answers there."""
    SWITCH_DNS = "SwitchDNS"
    REDIRECT_OFF = "RedirectOff"
    DRAIN_HAPROXY = "DrainHaproxy"
    """haproxy serves the connections that it has."""
    DRAIN_EXTERNAL = "DrainExternal"
    """The external load balancer of before serves the connections that it has."""


class Outcome(StrEnum):
    """How the last migration ended."""

    NONE = ""
    COMPLETED = "Completed"
    ABORTED = "Aborted"
    """The object was edited before DNS was switched."""
    INVALID = "Invalid"
    """The address cannot be that of a load balancer."""
    VERIFY_FAILED = "VerifyFailed"
    ROLLED_BACK = "RolledBack"


AT_REST = frozenset({Phase.SELF_HOSTED, Phase.EXTERNAL})
SWITCHED = frozenset({Phase.SWITCH_DNS, Phase.REDIRECT_OFF, Phase.DRAIN_HAPROXY, Phase.DRAIN_EXTERNAL})
"""Phases in which ``api-int`` is the new address, and the old one still serves."""
_REDIRECT_OFF = frozenset({Phase.REDIRECT_OFF, Phase.DRAIN_HAPROXY})


@frozen
class Migration:
    """The record. *origin* and *target*: addresses of ``api-int``, none for the API VIPs.

    *attempt* counts migrations. *failed*: the generation of the object whose migration did not succeed, 0 without one.
    *deadline*: when the phase ends, or the next attempt begins (RFC 3339), empty without one. *vips*: the API VIPs in
    the settings of nodenet-operator, none where the cluster serves none itself.
    """

    phase: Phase
    origin: tuple[IPAddress, ...] = ()
    target: tuple[IPAddress, ...] = ()
    attempt: int = 0
    failed: int = 0
    outcome: Outcome = Outcome.NONE
    deadline: str = ""
    message: str = ""
    vips: tuple[IPAddress, ...] = ()

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves."""
        return self.phase in AT_REST

    @property
    def switched(self) -> bool:
        """Whether ``api-int`` is the new address, and the old one still serves."""
        return self.phase in SWITCHED

    @property
    def addresses(self) -> tuple[IPAddress, ...]:
        """The addresses that ``api-int`` has now, none for the API VIPs: at rest, those of the settings."""
        if self.phase is Phase.SELF_HOSTED:
            return ()
        return self.target if self.at_rest or self.switched else self.origin

    def at(self, vips: tuple[IPAddress, ...]) -> Migration:
        """Return the record for a reader whose settings have these API *vips*.

        The writer may have older settings: what is the VIPs to it is the VIPs to the reader.
        """
        own = set(self.vips)
        origin, target = (vips if own and set(side) == own else side for side in (self.origin, self.target))
        return replace(self, origin=origin, target=target)

    def balances(self, vips: tuple[IPAddress, ...]) -> bool:
        """Return whether haproxy runs on the control plane; *vips*: those that the cluster itself serves."""
        if self.at_rest:
            return self.phase is Phase.SELF_HOSTED
        return is_own(self.origin, vips) or is_own(self.target, vips)

    def redirects(self, vips: tuple[IPAddress, ...]) -> bool:
        """Return whether connections to the VIP are sent to haproxy."""
        return self.balances(vips) and self.phase not in _REDIRECT_OFF


def is_own(addresses: tuple[IPAddress, ...], vips: tuple[IPAddress, ...]) -> bool:
    """Return whether *addresses* of ``api-int`` are the VIPs that the cluster itself serves."""
    return not addresses or set(addresses) == set(vips)


def render(migration: Migration) -> dict[str, Any]:
    """Return the record as the object has it."""
    return {
        "from": [str(one) for one in migration.origin],
        "to": [str(one) for one in migration.target],
        "apiVips": [str(one) for one in migration.vips],
        "phase": migration.phase.value,
        "attempt": migration.attempt,
        "failedGeneration": migration.failed,
        "outcome": migration.outcome.value,
        "deadline": migration.deadline,
        "message": migration.message[:LONGEST_MESSAGE],
    }


def parse(document: object) -> Migration | None:
    """Return the record of an object, as JSON values; None where it has none. Raises ValueError."""
    status = document.get("status") if isinstance(document, Mapping) else None
    found = status.get("migration") if isinstance(status, Mapping) else None
    if found is None:
        return None
    try:
        return _parsed(found)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"status.migration cannot be used: {ascii(str(error))[:80]}") from None


def _parsed(found: Mapping[str, Any]) -> Migration:
    return Migration(
        Phase(found["phase"]),
        _addresses(found["from"]),
        _addresses(found["to"]),
        _number(found.get("attempt", 0)),
        _number(found.get("failedGeneration", 0)),
        Outcome(found.get("outcome", "")),
        str(found.get("deadline", "")),
        str(found.get("message", ""))[:LONGEST_MESSAGE],
        _addresses(found.get("apiVips", [])),
    )


def _addresses(found: object) -> tuple[IPAddress, ...]:
    if not isinstance(found, list) or len(found) > MOST_ADDRESSES or not all(isinstance(one, str) for one in found):
        raise TypeError("the addresses")
    return tuple(map(ip_address, found))


def _number(found: object) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise TypeError("a number")
    return found
