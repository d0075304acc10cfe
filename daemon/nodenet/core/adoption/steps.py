"""What are the steps of an adoption, which step undoes which, and what happens when one fails?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from enum import StrEnum

from nodenet.core.adoption.former_chain import BRIDGES, DNS, GATE, MARKER, NETWORK_UNITS, NODENETD, OURS, RESOLVER_PATH
from nodenet.core.errors import NodenetError
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.value import frozen


class Kind(StrEnum):
    """What a step is about; each is done forward (towards nodenet) or backward (towards the former chain)."""

    DROP_INS = "drop-ins"
    ENABLED = "enabled"
    BRIDGE_ON_DISK = "bridge-on-disk"
    OLD_RECORD = "old-record"
    MARKER = "marker"
    NOT_HELD = "not-held"
    PREPENDER_STOPPED = "prepender-stopped"
    RESOLV_CONF = "resolv-conf"
    NODENETD = "nodenetd"
    CHECK = "check"
    FILES_GONE = "files-gone"


class Event(StrEnum):
    """What is to be done with a step."""

    DO = "do"
    UNDO = "undo"


@frozen
class Step:
    """One step: *forward* is towards nodenet. *text* says what it does, *names* what it is about (units, bridges)."""

    kind: Kind
    forward: bool
    text: str
    names: tuple[str, ...] = ()
    back_text: str = ""
    """What undoes it; "": nothing has to."""

    @property
    def undone(self) -> Step | None:
        """The step that undoes this one, None where nothing has to."""
        if not self.back_text:
            return None
        return replace(self, forward=not self.forward, text=self.back_text, back_text=self.text)

    def __str__(self) -> str:
        """Return its name in the record."""
        return f"{self.kind}{'+' if self.forward else '-'}"


@frozen
class Ended:
    """How it ended: the *error* that stopped it, at which *step*, and what could not be undone."""

    error: NodenetError | None = None
    step: Step | None = None
    left: tuple[tuple[Step, NodenetError], ...] = ()


def walk(steps: Sequence[Step]) -> Generator[tuple[Event, int, Step], NodenetError | None, Ended]:
    """Yield each step to do; send the error of a step that failed, and each done step is yielded to be undone.

    The step that failed is undone too: it may be half done. Undoing goes on when it fails: each step that is undone
    is one less to do by hand.
    """
    for index, step in enumerate(steps):
        error = yield Event.DO, index, step
        if error is None:
            continue
        left: list[tuple[Step, NodenetError]] = []
        for number in range(index, -1, -1):
            back = steps[number].undone
            if back is not None and (trouble := (yield Event.UNDO, number, back)) is not None:
                left.append((back, trouble))
        return Ended(error, step, tuple(left))
    return Ended()


# What does each step of an adoption say to the person who reads it, and what undoes it?


def listed(names: tuple[str, ...]) -> str:
    """Return *names* as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def drop_ins_written(units: tuple[str, ...], *, adopted: bool) -> Step:
    """Return the step that writes the drop-ins of *units* and of nodenet's own.

    On an *adopted* node they are only completed, and nothing undoes that: both sides would start in the next boot.
    """
    ours = f"{listed(OURS)} start only while {MARKER} exists"
    if units:  # those of the former chain may have been removed since the adoption
        ours = f"{listed(units)} start only while {MARKER} does not exist, and {listed(OURS)} only while it does"
    text = f"Write drop-ins that let {ours}, and a copy of {GATE} for the case that nodenet gets lost"
    if adopted:
        text = f"{text}; some of them are missing, or from another version"
        return Step(Kind.DROP_INS, forward=True, text=text, names=units)
    text = f"{text}; they have no effect yet"
    return Step(Kind.DROP_INS, forward=True, text=text, names=units, back_text="Remove the drop-ins and the copy")


def drop_ins_removed(units: tuple[str, ...]) -> Step:
    """Return the step that removes the drop-ins."""
    text = f"Remove the drop-ins of {listed((*units, *OURS))}, and the copy of {GATE}"
    return Step(Kind.DROP_INS, forward=False, text=text, names=units, back_text="Write them again")


def bridge_saved(bridges: tuple[str, ...]) -> Step:
    """Return the step that saves the profiles of *bridges*, which are in memory."""
    return Step(
        Kind.BRIDGE_ON_DISK,
        forward=True,
        text=f"Save the profiles of {listed(bridges)} on the disk again",
        names=bridges,
        back_text=f"Keep the profiles of {listed(bridges)} in memory only",
    )


def bridge_in_memory(bridges: tuple[str, ...]) -> Step:
    """Return the step after which the next boot begins without *bridges*."""
    text = (
        f"Remove the profiles of {listed(bridges)} from {KEYFILES}, where the uplink gets its former one; they stay in "
        "NetworkManager's memory, and the running network does not change"
    )
    back = f"Save the profiles of {listed(bridges)} on the disk again"
    return Step(Kind.BRIDGE_ON_DISK, forward=False, text=text, names=bridges, back_text=back)


def files_gone(*, drop_ins: bool) -> Step:
    """Return the step before nodenet is removed; *drop_ins*: those with the node IPs are nodenetd's."""
    programs = ("kubelet", "CRI-O") if drop_ins else ()
    named = f"the drop-ins of {listed(programs)}, " if programs else ""
    text = (
        f"Remove what nodenetd published below /etc: {named}its line in resolv.conf and, where {DNS} runs, that DNS "
        "server"
    )
    return Step(Kind.FILES_GONE, forward=False, text=text, names=programs)


ENABLED = Step(
    Kind.ENABLED,
    forward=True,
    text=f"Enable {NODENETD} and {GATE}, which kubelet and CRI-O wait for from the next boot on",
    names=(NODENETD,),
    back_text=f"Disable {NODENETD} and {GATE}",
)
FORGOTTEN = Step(Kind.OLD_RECORD, forward=True, text="Forget an earlier br-ex that nodenet made")
MARKED = Step(
    Kind.MARKER,
    forward=True,
    text=f"Write {MARKER} and {BRIDGES.name}: nodenet configures this node from the next boot on",
    back_text=f"Remove {MARKER} and {BRIDGES.name}: the former chain configures this node from the next boot on",
)
PREPENDER_STOPPED = Step(
    Kind.PREPENDER_STOPPED,
    forward=True,
    text=f"Stop {RESOLVER_PATH}",
    names=(RESOLVER_PATH,),
    back_text=f"Start {RESOLVER_PATH}",
)
RESOLV_CONF_KEPT = Step(
    Kind.RESOLV_CONF,
    forward=True,
    text="Keep a copy of /etc/resolv.conf for the way back",
    back_text="Write /etc/resolv.conf as it was",
)
RESOLV_CONF_GIVEN_BACK = Step(
    Kind.RESOLV_CONF,
    forward=False,
    text="Write /etc/resolv.conf with the first lines of the former chain; the DNS servers stay",
)
STARTED = Step(
    Kind.NODENETD,
    forward=True,
    text=(
        f"Start {NODENETD} and wait until it is ready; it writes /etc/resolv.conf with its own first lines and the "
        "same DNS servers, and keeps its records in /var/lib/nodenet and /var/lib/ovnk"
    ),
    names=(NODENETD,),
    back_text=f"Stop {NODENETD}; the running network does not change",
)
NOT_HELD = Step(
    Kind.NOT_HELD,
    forward=True,
    text=f"Let {listed(NETWORK_UNITS)} start again as their drop-ins say",
    names=NETWORK_UNITS,
    back_text=f"Keep {listed(NETWORK_UNITS)} from starting until the next boot",
)
CHECK_ADOPTED = Step(
    Kind.CHECK, forward=True, text="Check that node IPs, br-ex and DNS servers are as before, and that no stage failed"
)
CHECK_HANDED_BACK = Step(
    Kind.CHECK, forward=False, text="Check that node IPs, br-ex and DNS servers are as before, and that nodenetd ended"
)
