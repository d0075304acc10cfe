"""What happens to the unit of a hosted service: start, reload, stop, or nothing?

A service that runs is stopped only by the settings or by the API itself. A cached resource, or a list of nodes that was
lost, stops nothing. Another stack on this node stops ours at once.
"""

from __future__ import annotations

from enum import StrEnum

from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.model import Inputs, Origin, Service
from nodenet.core.value import frozen


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
