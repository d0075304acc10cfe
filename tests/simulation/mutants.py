"""Faults of the first review, put back one at a time: does the simulation find them?

Each takes the place of functions of the product, in memory and for a while.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from nodenet.core.apply.intent import Intent, is_end_of
from nodenet.core.boot.outcome import Again, Done, Failed, Problem
from nodenet.core.boot.stage_state import Pace
from nodenet.core.boot.stages import Boot
from nodenet.core.br_ex import plan as bridge_plan
from nodenet.core.br_ex.lease import StaticLease
from nodenet.core.change import way_back
from nodenet.core.change.record import Change
from nodenet.core.change.way_back import Network
from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.network_manager.state import LeaseMark
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip import last_published
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.status.document import document, line
from nodenet.core.trial import drift
from nodenet.daemon import ServiceManager, StateFile
from nodenet.edge.files.store import Store
from nodenet.loop.journal import Guard
from nodenet.loop.reload import InForce
from nodenet.loop.uplink import UplinkWatch
from nodenet.stages.apply import changes, pipeline, probes
from nodenet.stages.apply.probing import Probing
from nodenet.stages.br_ex import verify
from nodenet.stages.br_ex.later_looks import CAUSES
from nodenet.stages.br_ex.recovery import Recovery
from nodenet.stages.br_ex.repair import BridgeRepairer
from nodenet.stages.br_ex.stage import ConfigureOvsStage
from nodenet.stages.br_ex.verify import Verifier
from nodenet.stages.hostname import HostnameStage
from nodenet.stages.nmstate import in_force as tries
from nodenet.stages.nmstate.drift import Drift
from nodenet.stages.nmstate.links import OtherNames
from nodenet.stages.nmstate.quarantine import Quarantine
from nodenet.stages.node_ip.publish import RELOAD_OWED, Confirmation, Publisher
from nodenet.stages.node_ip.stage import NodeipStage

_AFTER, _PAY, _LOOK = Pace.after, Store.pay, Drift.look


@dataclass(frozen=True, slots=True)
class Mutant:
    """*entry* of the review, in words, and what takes the place of which attribute."""

    entry: str
    words: str
    places: tuple[tuple[Any, str, object], ...]


@contextmanager
def put_back(mutant: Mutant) -> Iterator[None]:
    """Let the product have the fault for a while."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in mutant.places]
    try:
        for owner, name, value in mutant.places:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _any_profile(profile: Profile, kept: Network) -> bool:
    return profile.link in kept.links


def _closed_by_any_end(change: Change, result: Intent | None) -> bool:
    return result is not None and is_end_of(result, change.apply)


def _ours_by_phase(_checkpoint: object, record: Intent, boot_id: str, _began: float) -> bool:
    return record.boot_id == boot_id


def _left_by_wall_clock(self: StaticLease, now: Any) -> float | None:
    return None if self.seconds is None else self.noted.unix + self.seconds - now.unix


async def _not_shielded(work: Any, _what: str = "") -> Any:
    return await work


async def _addressed(self: Any, expect: Any) -> None:
    wanted = [(address, item.bridge) for item in expect for address in item.addresses]

    async def there() -> bool:
        return not self._missing(wanted)

    if not await verify._until(there, self.address_seconds, verify.LOOK_SECONDS):
        address, bridge = self._missing(wanted)[0]
        raise NmstateFailure(FailureKind.VERIFICATION, f"{address} did not appear on {bridge}")


def _at_once(_self: object, facts: Any, failure: NmstateFailure, _run: int) -> Failed:
    return Failed(Problem(Message.BRIDGE_FAILED, failure.cause, failure.remedy), facts, Again(CAUSES, 5.0))


def _fresh(_self: object, _now: float, *, failed: bool | None) -> Pace:  # noqa: ARG001
    return Pace()


def _never_rests(self: Pace, now: float, *, failed: bool | None) -> Pace:
    return replace(_AFTER(self, now, failed=failed), rests_until=-math.inf)


def _for_ever(failure: NmstateFailure, _tries: int, _seconds: float) -> bool:
    return failure.kind in (FailureKind.UNAVAILABLE, FailureKind.KILLED, FailureKind.DIED, FailureKind.PLUGIN)


async def _always_confirmed(_self: object, *_: object, **__: object) -> None:
    return None


async def _one_reload(self: Any, _wanted: object) -> tuple[Any, ...]:
    if self._files.read(RELOAD_OWED) is not None:
        with suppress(NodenetError):
            await self._systemd.reload()
        self._files.remove(RELOAD_OWED)
    return ()


async def _only_lost(self: Any, facts: Any, *, kept: bool) -> str | None:  # noqa: ARG001
    lost = self.drift(facts)
    return lost.cause if lost else None


def _this_boot_by_record(self: Any) -> Any:
    return self._record()


async def _not_adopted(self: Any) -> Any:
    return self._published()


def _remembered_for_this_boot(self: Any, selection: Any, snapshot: Any, _wanted: Any = None) -> None:
    mac = next((link.hardware_mac for link in snapshot.links if link.name == selection.link), None)
    record = LastPublished(selection.node_ips, mac, self._boot_id)
    self._records.save(last_published.SELECTION, last_published.render(record))


def _shown_once(self: Any, status: Any) -> float | None:
    if getattr(self, "_tried", None) == status.ready:
        return None
    self._tried = status.ready
    with suppress(NodenetError):
        self._files.write(self._path, self._rendered(document(status)))
    return None


def _ready_once(self: Any, status: Any) -> float | None:
    text = line(status)
    if status.ready and not self._ready.is_set():
        self._ready.set()
        self._notifier.ready(text)
    elif text != self._line:
        self._notifier.status(text)
    self._line = text
    return None


def _nothing_lost(_published: Sequence[object], _snapshot: object) -> tuple[object, ...]:
    return ()


def _has_any_address(self: Any, record: Any) -> bool:
    return any(self._kernel.can_bind(address, 0) for address in record.addresses)


def _unguarded(_self: object, work: Any, otherwise: object, *given: object) -> Any:  # noqa: ARG001
    return work(*given)


async def _not_renamed(_self: object, *_: object) -> dict[str, str]:
    return {}


def _not_watched(_self: object, _status: object) -> None:
    return None


def _all_settings(source: Any, _bridge: str) -> dict[str, str]:
    own, new = source.facts.sysctls.get(source.link, {}), source.facts.sysctls.get("default", {})
    return {name: value for name, value in own.items() if new.get(name) != value}


def _any_name(self: Any, _why: object, facts: Any) -> Any:
    name = self._host.name()
    return Done(f"This node is {name}", replace(facts, hostname=name), Message.HOSTNAME_KNOWN)


def _looks_first(self: Boot, now: float) -> Any:
    looks = [stage for stage in self.stages if stage.over and stage.due is not None and stage.due <= now]
    if looks:
        return looks[0].name
    name = self.next()
    return name if name is not None and (self[name].due or 0.0) <= now else None


async def _accepted(_self: object) -> None:
    return None


def _no_last_good(_self: object, *_: object) -> tuple[None, None]:
    return None, None


def _not_synced(self: Store) -> PublishFailed | None:
    self._keyfiles = PurePath("/run/nodenet")
    return _PAY(self)


def _shown_lease(_before: LeaseMark | None, now: LeaseMark, *_: object) -> bool:
    return now.address is not None


async def _not_followed_by_mac(_self: object, job: object) -> object:
    """Take the names of a node file for those of now, whatever NIC has them."""
    return job


async def _not_in_use(_self: object, _published: object, _selection: object) -> bool:
    return False


async def _free(_self: object, _record: object, _digests: object) -> bool:
    return False


async def _never_differs(_self: object, _job: object, _facts: object) -> tuple[str, ...]:
    return ()


async def _look_that_undoes(self: Any, facts: Any, request: Any) -> Any:
    found = await _LOOK(self, facts, request)
    if facts.changed and facts.selection.link == "eth0":
        await self._edges.profiles.connect(facts.selection.link)
    return found


def _always_other_servers(*_: object) -> str:
    return "DNS servers 192.0.2.1, not 192.0.2.1"


MUTANTS = (
    Mutant("R1", "an undo replaces the profiles of others", ((way_back, "is_ours", _any_profile),)),
    Mutant(
        "R2",
        "every checkpoint counts as ours while an apply is open",
        ((pipeline, "is_ours", _ours_by_phase), (changes, "is_ours", _ours_by_phase)),
    ),
    Mutant("R4", "the wall clock ends a lease", ((StaticLease, "left", _left_by_wall_clock),)),
    Mutant("R5", "a stop cancels a rollback", ((pipeline, "shielded", _not_shielded),)),
    Mutant(
        "R6",
        "an address that comes in the moment in which its time is over ends the apply with an error",
        ((Verifier, "addressed", _addressed),),
    ),
    Mutant(
        "R7",
        "a failed br-ex is tried again at once, on its own events",
        ((ConfigureOvsStage, "_rolled_back", _at_once), (Pace, "after", _fresh)),
    ),
    Mutant("R8", "tries are not counted", ((tries, "may_try_again", _for_ever),)),
    Mutant(
        "R9",
        "a look at a stage that is over keeps the next one from its turn",
        ((Boot, "due", _looks_first), (Pace, "after", _never_rests)),
    ),
    Mutant("R13", "READY without a last look", ((InForce, "confirmed", _always_confirmed),)),
    Mutant(
        "R14",
        "a failed reload of systemd is passed over",
        ((Publisher, "let_systemd_read", _one_reload), (Confirmation, "of_files", _only_lost)),
    ),
    Mutant(
        "R15",
        "only the record says what is published",
        (
            (NodeipStage, "_published", _this_boot_by_record),
            (NodeipStage, "_adopted", _not_adopted),
            (NodeipStage, "_remember", _remembered_for_this_boot),
        ),
    ),
    Mutant("R16", "state.json is written once", ((StateFile, "show", _shown_once),)),
    Mutant("R17", "READY is sent once", ((ServiceManager, "show", _ready_once),)),
    Mutant("R22", "bind says what is lost", ((last_published, "lost", _nothing_lost),)),
    Mutant("R22b", "bind says what an interrupted br-ex has left", ((Recovery, "_has_address", _has_any_address),)),
    Mutant("R23", "an error while the loop sleeps", ((Guard, "run", _unguarded),)),
    Mutant("R26", "a renamed uplink is not followed", ((BridgeRepairer, "renamed", _not_renamed),)),
    Mutant("R27", "the uplink is not watched", ((UplinkWatch, "show", _not_watched),)),
    Mutant("R29", "every setting of the link moves", ((bridge_plan, "_sysctls", _all_settings),)),
    Mutant("R32", "any host name will do", ((HostnameStage, "_unknown", _any_name),)),
    Mutant("L1", "a node file is kept whatever the probes say", ((Probing, "accept", _accepted),)),
    Mutant("L2", "the last known good file is never used", ((Quarantine, "_last_good", _no_last_good),)),
    Mutant("L3", "every end of an apply closes its change", ((changes, "is_closed", _closed_by_any_end),)),
    Mutant(
        "L4", "a record says that profiles are there, or gone, before the disk does", ((Store, "pay", _not_synced),)
    ),
    Mutant("L5", "a lease that NetworkManager has given up is believed", ((probes, "is_held", _shown_lease),)),
    Mutant("L7", "a new process applies the file under kubelet", ((tries.LaterTries, "leaves_alone", _free),)),
    Mutant("L8", "a change by hand is not seen", ((Drift, "_differences", _never_differs),)),
    Mutant("L9", "a change by hand is undone", ((Drift, "look", _look_that_undoes),)),
    Mutant(
        "L10", "a difference is reported without a change by hand", ((drift, "other_servers", _always_other_servers),)
    ),
    Mutant("L11", "the node IPs are chosen again under kubelet", ((NodeipStage, "_in_use", _not_in_use),)),
    Mutant("L6", "a node file follows no NIC to another name", ((OtherNames, "followed", _not_followed_by_mac),)),
)
MUTANT = {mutant.entry: mutant for mutant in MUTANTS}
"""Entry of the first review → the fault; those with L were found, or feared, later."""
