"""Does another stack serve the VIPs or the load balancer on this node?

The stack that nodenet replaces runs as static pods. Two haproxy can listen on one port without an error (SO_REUSEPORT),
and two keepalived on one node make two holders. So ours wait until the other stack is gone, and go when it comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import IPv4Address
from pathlib import PurePosixPath

from nodenet.core.hosted_services.model import Service
from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

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
