"""Which outcomes can an attempt of a stage have, and which events wake the stage again?

An attempt ends in one of four outcomes. ``core.boot.stage_state`` derives the next status of the stage from it,
``loop.journal`` logs it, the reconciler acts.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from nodenet.core.boot.facts import Facts
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.value import frozen


class Topic(StrEnum):
    """What a waiting stage may be woken by. Events carry no data: the stage reads the present state again."""

    KERNEL = "kernel"
    NETWORK_MANAGER = "network-manager"
    HOSTNAME = "hostname"
    BUS = "bus"
    DNS = "dns"
    """The DNS configuration of the host changed."""
    NODE_IP = "node-ip"
    """The node IPs, or the link that carries them, changed; raised by the reconciler."""
    NODE_IP_LOST = "node-ip-lost"
    """The node has lost published node IPs; raised by the reconciler."""
    OVS = "ovs"
    """Open vSwitch came or went."""
    UPLINK = "uplink"
    """The uplink has a carrier and gateways answer again; raised by the reconciler."""
    UNIT = "unit"
    """A systemd unit's job ended."""
    INHIBITOR = "inhibitor"
    """An inhibitor of a stage was released."""


@frozen
class Again:
    """A stage that is over is looked at again on an event of *topics*, at the latest after *seconds* (None: never).

    An event from before *since* (seconds of CLOCK_BOOTTIME) does not count: what failed had it already.
    """

    topics: frozenset[Topic] = frozenset()
    seconds: float | None = None
    since: float = 0.0


NEVER = Again()


@frozen
class Problem:
    """A failure as journal, status and bus show it."""

    message: Message
    cause: str
    remedy: str

    @classmethod
    def of(cls, error: NodenetError, cause: str = "") -> Problem:
        """Return *error* as a problem, in the words of *cause* where it is given."""
        return cls(error.message, cause or error.cause, error.remedy)


@frozen
class Done:
    """The stage did its work; a *problem* beside it means that something smaller was lost on the way."""

    detail: str
    facts: Facts
    message: Message
    problem: Problem | None = None
    again: Again | None = None


@frozen
class Skipped:
    """There was nothing to do, and why."""

    reason: str
    facts: Facts
    message: Message = Message.STAGE_SKIPPED
    again: Again | None = None


@frozen
class Waiting:
    """The awaited thing may still come: try again on an event of *topics*, at the latest after *seconds*."""

    reason: str
    topics: frozenset[Topic] = frozenset()
    seconds: float = 5.0
    facts: Facts | None = None
    """What the stage knows already, where that is worth showing while it waits."""
    aside: bool = False
    """Whether the later stages run while it waits: only READY waits then."""


@frozen
class Failed:
    """The stage did not succeed as things are: a reload changes that, or what *again* names."""

    problem: Problem
    facts: Facts
    again: Again | None = None


Outcome = Done | Skipped | Waiting | Failed


def detail_of(outcome: Outcome) -> str:
    """Return the words an outcome is shown with."""
    match outcome:
        case Done(detail=detail):
            return detail
        case Skipped(reason=reason) | Waiting(reason=reason):
            return reason
        case Failed(problem=problem):
            return problem.cause


def beside(outcome: Outcome, problem: Problem | None) -> Outcome:
    """Return *outcome* of a stage that did its work although there is a *problem*."""
    if problem is None:
        return outcome
    if isinstance(outcome, Skipped):
        return Done(outcome.reason, outcome.facts, outcome.message, problem, outcome.again)
    return replace(outcome, problem=problem) if isinstance(outcome, Done) else outcome


def again_of(outcome: Outcome) -> Again:
    """Return when a stage that said *outcome* is looked at again."""
    if isinstance(outcome, Waiting):
        return Again(outcome.topics, outcome.seconds)
    return outcome.again or NEVER
