"""What does an attempt of a stage know, and how does it end?"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.ip import Family, IPAddress
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.since import NEVER, Since, backoff
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen


@frozen
class Facts:
    """The known facts. Each stage gets them and returns them with what it found out. Orders are in `Request`."""

    hostname: str | None = None
    node_file: str | None = None
    """Name of the node file, without its directory; `a.yaml and a.yml` where two claim to be it."""
    digest: str | None = None
    """SHA-256 of the node file on the disk."""
    unused: tuple[str, str] | None = None
    """Name and SHA-256 of a node file that asks for nothing, and so is treated as absent."""
    applied_digest: str | None = None
    """SHA-256 of the node file that the network was last made by; differs when a newer file was refused."""
    brings_bridge: bool = False
    """Whether the node file makes br-ex by itself."""
    left_over: tuple[str, ...] = ()
    """What earlier node files have made and the present one does not name, by the entry of the history."""
    changed: tuple[str, ...] = ()
    """What another program has changed since of what the node file asks for."""
    compared: float | None = None
    """Since when the network is compared with the node file in force (CLOCK_BOOTTIME); None: it is not at present."""
    file_families: frozenset[Family] = frozenset()
    """The families in which the node file gives the node a way out."""
    file_addresses: frozenset[IPAddress] = frozenset()
    """The addresses that the node file names."""
    renamed: tuple[tuple[str, str, str], ...] = ()
    """NICs that have another name than in the node file: that one, the name of now, the permanent MAC."""
    file_failure: str = ""
    """Why the node file failed in this boot, if it did."""
    selection: Selection | None = None
    bridge: str | None = None
    """The bridge that carries the node IP, once it is made."""
    uplink: str | None = None
    """The link below it."""
    hostname_source: str = ""
    """Where the name comes from, in words; empty for a static one."""

    @property
    def node_ip_links(self) -> tuple[str | None, ...]:
        """The link of each node IP, None where it is not known."""
        selection = self.selection or Selection()
        found = {each.address: each.link for each in selection.selected}
        if not selection.node_ips:
            return ()
        # What was selected on a link that is below a bridge now went there with the first one.
        before = found.setdefault(selection.node_ips[0], selection.link or "")
        links = (found.get(address) for address in selection.node_ips)
        return tuple(selection.link if link == before else link for link in links)

    def same_place(self, other: Facts) -> bool:
        """Return whether the node IPs are the same as in *other*, on the same link."""
        mine, theirs = self.selection or Selection(), other.selection or Selection()
        return (mine.node_ips, mine.link) == (theirs.node_ips, theirs.link)


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


NOT_AGAIN = Again()


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
    return outcome.again or NOT_AGAIN


# Which outcome has a stage that raised an unexpected error? One with a cause, a count and a budget.
#
# Such an error never ends the daemon. The stage is tried again with a back-off. When the budget is spent the stage has
# failed; after that it is tried again more rarely.

TRIES = 5
BUDGET_SECONDS = 300.0
"""Kubelet waits: no further try holds the boot back once so much time has passed since the first error."""
REQUIRED = frozenset({StageName.HOSTNAME, StageName.NODEIP})
"""Kubelet cannot start without them: they are tried until they succeed."""
REPORT = "This is a fault of nodenetd: report it with the output of `journalctl -b -u nodenetd`"


@frozen
class Escapes:
    """The errors in a row that nothing in a stage has caught, and since when."""

    number: int = 0
    since: Since = NEVER

    def another(self, now: float) -> Escapes:
        """Return the count with one more at *now*."""
        return replace(self, number=self.number + 1, since=self.since.holds(now))

    def outcome(self, name: StageName, error: NodenetError, facts: Facts, now: float) -> Waiting | Failed:
        """Return the outcome of stage *name* after *error*, which is counted already."""
        within = self.number < TRIES and self.since.left(now, BUDGET_SECONDS) > 0
        if within or name in REQUIRED:
            bound = "" if name in REQUIRED else f" of {TRIES}"
            return Waiting(f"try {self.number + 1}{bound}, after: {error}", seconds=backoff(self.number, 2.0, 30.0))
        pause = backoff(max(self.number - TRIES, 0) + 1, 30.0, 900.0)
        return Failed(Problem.of(error, f"{error.cause} ({TRIES} tries)"), facts, Again(seconds=pause))


def named(error: BaseException, where: str) -> NodenetError:
    """Return any *error* as one with a cause and a remedy; *where* it happened."""
    if isinstance(error, NodenetError):
        return error
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return Unavailable(f"{where}: {reason}", remedy="Look at `journalctl -b -u nodenetd`")
    text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return NodenetError(f"{where} had an unexpected error: {text}{_place(error)}", remedy=REPORT)


def is_unforeseen(error: NodenetError) -> bool:
    """Return whether *error* is a fault of nodenetd itself, worth a traceback in the journal."""
    return error.message is Message.INTERNAL_ERROR and type(error) is NodenetError


def _place(error: BaseException) -> str:
    """Return the line of the code that raised."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return ""
    return f" ({frame.tb_frame.f_code.co_filename.rpartition('/nodenet/')[2]}, line {frame.tb_lineno})"
