"""What happens to the unit of a hosted service, how often, and does another stack serve in its place?

And how do programs see the services on the bus?
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from ipaddress import IPv4Address
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.boot.outcome import Problem
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.model import COMPANION_NAME, Inputs, Origin, Service
from nodenet.core.ip import IPAddress
from nodenet.core.since import backoff
from nodenet.core.status.bus_interfaces import Interface
from nodenet.core.value import frozen

# How often may what costs something be done, when others decide how often it is due? (a token bucket)


@frozen
class Budget:
    """*burst* times at once, and once more every *seconds*; *spent* of them at the time *since*."""

    burst: int
    seconds: float
    spent: float = 0.0
    since: float = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until it may be done next; 0: at once."""
        over = self._spent(now) + 1 - self.burst
        return max(0.0, over * self.seconds)

    def used(self, now: float) -> Budget:
        """Return the budget after one more time at *now*."""
        return replace(self, spent=self._spent(now) + 1, since=now)

    def _spent(self, now: float) -> float:
        return max(0.0, self.spent - max(0.0, now - self.since) / self.seconds)


# When does nodenet start a unit again that systemd no longer restarts?

FIRST_SECONDS, LONGEST_SECONDS = 2.0, 60.0


@frozen
class Restarts:
    """How often in a row a unit was started after it had failed, and when the next start is due (CLOCK_BOOTTIME)."""

    failures: int = 0
    due_at: float = 0.0

    def left(self, now: float) -> float:
        """Return the seconds until the next start is due; not positive when it is."""
        return self.due_at - now

    def after_start(self, now: float) -> Restarts:
        """Return the value after a start at *now*: the next one, if it fails too, comes later."""
        failures = self.failures + 1
        return replace(self, failures=failures, due_at=now + backoff(failures, FIRST_SECONDS, LONGEST_SECONDS))


# What happens to the unit of a hosted service: start, reload, stop, or nothing?
#
# A service that runs is stopped only by the settings or by the API itself. A cached resource, or a list of nodes that
# was lost, stops nothing. Another stack on this node stops ours at once.


class Order(StrEnum):
    """What systemd is asked for."""

    NOTHING = "nothing"
    START = "start"
    RELOAD = "reload"
    STOP = "stop"
    RESTART = "restart"


@frozen
class Now:
    """The state of a service: *runs*, its configuration on disk *differs* from the one it runs with, and what stops it.

    *waits*: why another stack keeps it from running. *drained*: it was stopped on request. *hangs*: it does nothing.
    """

    runs: bool
    differs: bool = False
    waits: str | None = None
    drained: bool = False
    hangs: bool = False


def order(service: Service, *, wanted: bool, inputs: Inputs, now: Now) -> Order:
    """Return what to ask for."""
    if now.waits or now.drained:
        return Order.STOP if now.runs else Order.NOTHING
    if wanted and now.runs and now.hangs:
        return Order.RESTART
    if wanted:
        return Order.START if not now.runs else Order.RELOAD if now.differs else Order.NOTHING
    return Order.STOP if now.runs and may_stop(service, inputs) else Order.NOTHING


def may_stop(service: Service, inputs: Inputs) -> bool:
    """Return whether the inputs are certain enough to stop a service that runs."""
    options = inputs.options
    if why_disabled(options) is not None or options.user_managed_lb:
        return True
    known = inputs.spec_origin is Origin.LIVE or inputs.nodes_origin is Origin.LIVE
    return known and service is not Service.DNSMASQ


# Does the unit of a hosted service run, and in which state is it? (org.freedesktop.systemd1(5))

LOADED, ACTIVE, FAILED = "loaded", "active", "failed"


@frozen
class Running:
    """A unit's LoadState, ActiveState and Result; *missing* is the path of its program where that is not on this node.

    *result* and *missing* are known of a unit that does not run.
    """

    load: str
    active: str
    result: str = "success"
    job: bool = False
    """Whether a job is queued for it."""
    missing: str = ""

    @property
    def is_loaded(self) -> bool:
        """Whether systemd has such a unit."""
        return self.load == LOADED

    @property
    def is_up(self) -> bool:
        """Whether it runs, as far as systemd knows."""
        return self.active in (ACTIVE, "reloading", "refreshing")

    @property
    def is_settling(self) -> bool:
        """Whether it is about to run: it starts, or systemd restarts it."""
        return self.job or self.active == "activating"

    @property
    def why_down(self) -> str:
        """Why it does not run, in systemd's words."""
        if not self.is_loaded:
            return f"systemd has no such unit ({self.load})"
        if self.missing:
            return f"its program {self.missing} is not installed"
        return f"{self.active}, result {self.result}" if self.active == FAILED else self.active


@frozen
class DnsLook:
    """What a look at this node's DNS found: a *note* for the stage's line, a *problem*, and when to look again.

    *waits*: another stack serves DNS, and ours has to wait until it is gone. *lasts*: the problem does not pass by
    itself, so that the boot does not wait for it.
    """

    note: str = ""
    problem: Problem | None = None
    seconds: float | None = None
    waits: bool = False
    lasts: bool = False


# Does another stack serve the VIPs or the load balancer on this node?
#
# The stack that nodenet replaces runs as static pods. Two haproxy can listen on one port without an error
# (SO_REUSEPORT), and two keepalived on one node make two holders. So ours wait until the other stack is gone, and go
# when it comes back.

ANY = IPv4Address(0)
MANIFESTS = PurePosixPath("/etc/kubernetes/manifests")
_STEMS = {Service.DNSMASQ: "coredns", Service.KEEPALIVED: "keepalived", Service.HAPROXY: "haproxy"}
SUFFIXES = (".yaml", ".yml", ".json")


@frozen
class Listener:
    """A TCP socket that listens on *port* of *address*; *ours*: a process of our unit has it.

    *program*: the unit, or the control group, of the process that has it; empty where that is unknown.
    """

    port: int
    ours: bool
    address: IPAddress = ANY
    program: str = ""

    def is_at(self, addresses: Collection[IPAddress]) -> bool:
        """Return whether it is in the way of a server on one of *addresses*: an unspecified address is on all."""
        return self.address.is_unspecified or self.address in addresses


@frozen
class Others:
    """What another stack may have on this node. *speakers*: how many sockets of other programs speak VRRP."""

    manifests: Collection[str] = ()
    listeners: Collection[Listener] = ()
    speakers: int = 0


def why_waiting(service: Service, others: Others, ports: Collection[int]) -> str | None:
    """Return why our *service*, which listens on *ports*, must not run now; None when it may."""
    return next(_reasons(service, others, ports), None)


def _reasons(service: Service, others: Others, ports: Collection[int]) -> Iterator[str]:
    stem = _STEMS.get(service)
    for name in sorted(others.manifests):
        if stem and name in {stem + suffix for suffix in SUFFIXES}:
            yield f"kubelet has the static pod {MANIFESTS / name}: move that file away to let nodenet serve instead"
    for listener in sorted(others.listeners, key=lambda one: one.port):
        if listener.port in ports and not listener.ours:
            who = listener.program or "another program"
            yield f"{who} listens on port {listener.port}: see `ss -ltnp sport = :{listener.port}`"
    if service is Service.KEEPALIVED and others.speakers:
        yield "another program of this node speaks VRRP: see `ss -lwnp`, and stop it"


# What does nodenet-hosted offer on the bus? The contract is ``units/dbus/org.nodenet1.Hosted.xml``.

PATH = "/org/nodenet1/hosted"
HOSTED = Interface(
    COMPANION_NAME,
    properties={
        "Node": "s",
        "Mode": "s",
        "Phase": "s",
        "Health": "s",
        "ApiInt": "as",
        "Vips": "a(ssbas)",
        "Services": "a(sbbs)",
        "Problems": "as",
        "SwitchedOff": "as",
    },
    methods={"GetStatus": ("", "s"), "Explain": ("s", "s"), "Drain": ("", "b"), "Undrain": ("", "")},
    signals={"VipChanged": "sbas"},
    mutators=frozenset({"Drain", "Undrain"}),
)
OBJECTS = {PATH: (HOSTED, None)}
"""Object path → its interface; no stage has an object here."""


def values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that a report's *document* has; absent texts are empty."""
    return {
        "Node": document["node"],
        "Mode": document["mode"],
        "Phase": document["phase"],
        "Health": document["health"],
        "ApiInt": document["api_int"]["addresses"],
        "Vips": [[vip["address"], vip["purpose"], vip["here"], vip["holders"]] for vip in document["vips"]],
        "Services": [
            [service["name"], service["wanted"], service["running"], service["problem"] or ""]
            for service in document["services"]
        ],
        "Problems": document["problems"],
        "SwitchedOff": document["switched_off"],
    }


def signals(before: Mapping[str, Any], document: Mapping[str, Any]) -> list[list[Any]]:
    """Return the body of ``VipChanged`` for each VIP whose holders differ: address, whether it is here, the holders."""
    known = {vip["address"]: vip for vip in before["vips"]}
    return [
        [vip["address"], vip["here"], vip["holders"]]
        for vip in document["vips"]
        if known.get(vip["address"], {}).get("holders") != vip["holders"]
    ]
