"""Why does this node's dnsmasq not answer, and what can an administrator do?"""

from __future__ import annotations

from nodenet.core.boot.outcome import Problem
from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.paths import UNITS
from nodenet.core.hosted_services.running import Running
from nodenet.core.messages import Message

UNIT = UNITS[Service.DNSMASQ]


def of(cause: str, remedy: str) -> Problem:
    """Return a problem of this node's DNS; an empty *remedy* leads to the unit."""
    return Problem(Message.NODE_DNS_FAILED, cause, remedy or f"See `systemctl status {UNIT}`")


def down(running: Running) -> Problem:
    """Return why the unit does not run."""
    if not running.is_loaded:
        return of(f"{UNIT} cannot be started: {running.why_down}", "Install nodenet's units again")
    return of(f"{UNIT} does not run: {running.why_down}", f"See `journalctl -u {UNIT}`")


def missing(program: str) -> Problem:
    """Return that the *program* of the unit is not on this node."""
    return of(
        f"dnsmasq of this node is not started: {program} is not installed",
        'Install dnsmasq, or set `enabled = "no"` in `[hosted]`',
    )


def nameless() -> Problem:
    """Return that dnsmasq runs and cannot be called."""
    return of(f"{UNIT} is not on the system bus: its servers cannot be set", "See `journalctl -b -u dbus`")


def taken(reason: str) -> Problem:
    """Return that another program has dnsmasq's port."""
    cause = f"dnsmasq of this node is not started: {reason}"
    return Problem(Message.DNS_PORT_TAKEN, cause, 'Stop that program, or set `enabled = "no"` in `[hosted]`')
