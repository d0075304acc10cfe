"""Does another stack serve the VIPs or the load balancer on this node?

The stack that nodenet replaces runs as static pods. Two haproxy can listen on one port without an error (SO_REUSEPORT),
and two keepalived on one node make two holders. So ours wait until the other stack is gone, and go when it comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from nodenet.core.hosted_services.model import Service

MANIFESTS = PurePosixPath("/etc/kubernetes/manifests")
_STEMS = {Service.KEEPALIVED: "keepalived", Service.HAPROXY: "haproxy"}
SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Listener:
    """A TCP socket that listens on *port*; *ours*: a process of our unit has it."""

    port: int
    ours: bool


@dataclass(frozen=True, slots=True)
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
            yield f"another program listens on port {listener.port}: see `ss -ltnp sport = :{listener.port}`"
    if service is Service.KEEPALIVED and others.speakers:
        yield "another program of this node speaks VRRP: see `ss -lwnp`, and stop it"
