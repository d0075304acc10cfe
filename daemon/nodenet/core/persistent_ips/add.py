"""What does ADD do, in which order? Lease → record on disk → status of the claim → answer.

Each step can be done twice: the runtime repeats an interrupted ADD, which continues from what it finds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from nodenet.core.errors import PublishFailed
from nodenet.core.persistent_ips.api import ApiAway, Conflict, Forbidden, NotFound
from nodenet.core.persistent_ips.book import Change, Drop, Put
from nodenet.core.persistent_ips.claim import (
    CONDITION,
    Claim,
    ClaimInvalid,
    Reason,
    allocated_patch,
    failed_patch,
)
from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.effects import Announce, Here, Hold, ReadClaim, Save, Steps, Sync, WriteStatus, ask
from nodenet.core.persistent_ips.model import (
    Attachment,
    Interface,
    Owner,
    OwnerKind,
    PodReference,
    Reservation,
    State,
)
from nodenet.core.persistent_ips.permission import check_configuration, check_wishes, may_reference, seen_as
from nodenet.core.persistent_ips.questions import check_claim, check_sharing, current_claim, pod_reference
from nodenet.core.persistent_ips.release import give_back
from nodenet.core.persistent_ips.reserve import Asked, Exhausted, Reserved, Taken, lease_for, reserve
from nodenet.core.persistent_ips.succession import succeed

ROUNDS = 5
"""How often a claim is read again that changed in between."""
SLOW = "The pod is tried again by itself; look at `nodenetctl claims` and at the API server"


def add(here: Here, asked: Asked) -> Steps[tuple[Interface, ...]]:
    """Return the addresses of the interface. Raises CniError."""
    if (done := _answered(here, asked)) is not None:
        return done
    try:
        reference = yield from pod_reference(asked)
        yield from check_configuration(here, asked, reference)
        if reference is not None and (yield from may_reference(here, asked, reference)):
            return (yield from _undone_if_failed(here, asked, reference))
        return (yield from _of_pod(here, asked, reference))
    except (ApiAway, Forbidden) as error:
        raise CniError(Code.TRY_AGAIN, error.cause, error.remedy or SLOW) from error
    except (NotFound, Conflict) as error:
        raise CniError(Code.TRY_AGAIN, error.cause, SLOW) from error
    except PublishFailed as error:
        raise CniError(Code.IO, error.cause, error.remedy) from error


def _answered(here: Here, asked: Asked) -> tuple[Interface, ...] | None:
    """Return the addresses of an ADD that was done before, for the runtime that asks twice."""
    old = here.book.attachment(asked.key)
    if old is None or not old.netns or old.boot_id != here.boot_id:
        return None  # what was read from a Lease may be a part; a sandbox of another boot has ended
    if old.network != asked.network.name:
        raise CniError(
            Code.ENVIRONMENT,
            f"Interface {asked.ifname} of container {asked.container_id} is attached to network {old.network} already",
            "The runtime has to call DEL first",
        )
    held = {row.address: row.state for row in here.book.held_by(old.owner, old.network)}
    return old.addresses if all(held.get(one) is State.REPORTED for one in old.addresses) else None


def _records(here: Here, asked: Asked, reference: PodReference | None) -> list[Change]:
    """Return what is recorded beside the reservations."""
    source = reference.source if reference else ""
    changes: list[Change] = []
    if reference is not None and here.book.pod_reference(reference.key) != reference:
        changes.append(Put(reference))
    network = seen_as(asked.network, source)
    if here.book.network(network.network) != network and (source or here.book.network(network.network) is None):
        changes.append(Put(network))
    return changes


def _attachment(here: Here, asked: Asked, reference: PodReference | None, rows: tuple[Reservation, ...]) -> Attachment:
    return Attachment(
        asked.container_id,
        asked.ifname,
        asked.network.name,
        rows[0].owner,
        tuple(row.address for row in rows),
        reference.pod if reference else asked.pod,
        asked.netns,
        here.boot_id,
        here.now,
    )


def _of_pod(here: Here, asked: Asked, reference: PodReference | None) -> Steps[tuple[Interface, ...]]:
    """Give the interface addresses that are released with its last sandbox."""
    pod = reference.pod if reference else asked.pod
    # Without Kubernetes two nodes may have containers of one id, and one node has it again after a reboot.
    identity = (pod.uid or str(pod)) if pod else f"{here.node}/{here.boot_id}/{asked.container_id}"
    name = pod.name if pod else asked.container_id
    owner = Owner(OwnerKind.POD, pod.namespace if pod else "", name, f"{identity}/{asked.ifname}")
    yield Hold(owner.hold)
    if (done := _answered(here, asked)) is not None:
        return done
    wished = reference.wished if reference else ()
    check_wishes(asked.network, wished)
    try:
        reserved = yield from reserve(here, asked, owner, (), wished)
    except Exhausted as error:
        yield Announce(str(Reason.EXHAUSTED), error.text, pod=pod)
        raise
    reported = tuple(replace(row, state=State.REPORTED) for row in reserved.rows)
    attachment = _attachment(here, asked, reference, reported)
    changes = [*(Put(row) for row in reported), Put(attachment), *_records(here, asked, reference)]
    try:
        yield Save(tuple(changes))
    except PublishFailed:
        yield from give_back(here, reserved.created)
        raise
    return attachment.addresses


def _undone_if_failed(here: Here, asked: Asked, reference: PodReference) -> Steps[tuple[Interface, ...]]:
    """Give the interface what its claim has; without success nothing stays attached that was not before.

    An earlier ADD may have been answered: then the sandbox has its addresses until DEL.
    """
    yield Hold((OwnerKind.CLAIM, reference.pod.namespace, reference.claim))
    before = here.book.attachment(asked.key)  # a repair may have recorded it until now
    try:
        return (yield from _of_claim(here, asked, reference))
    except (CniError, ApiAway, Forbidden, NotFound, Conflict, PublishFailed):
        if before is None and (made := here.book.attachment(asked.key)) is not None:
            yield Save((Drop(made),), wait=False)
        raise


def _of_claim(here: Here, asked: Asked, reference: PodReference) -> Steps[tuple[Interface, ...]]:
    if (done := _answered(here, asked)) is not None:
        return done
    claim = yield from current_claim(here, reference)
    for _ in range(ROUNDS):
        check_claim(claim, asked, reference)
        shared = yield from check_sharing(here, asked, reference, claim)
        rows = yield from _recorded(here, asked, reference, claim)
        if shared:
            yield from _named(here, asked, rows)
        try:
            yield from _reported(here, reference, claim, rows)
        except Conflict:
            claim = yield from _again(claim)
            yield from _drop_foreign(here, asked, claim)
            continue
        yield Sync()
        given = [Put(replace(row, state=State.REPORTED)) for row in rows if row.state is State.RESERVED]
        yield Save(tuple(given), wait=False)
        return tuple(row.address for row in rows)
    raise CniError(Code.TRY_AGAIN, f"IPAMClaim {claim.namespace}/{claim.name} changes too often", SLOW)


def _named(here: Here, asked: Asked, rows: tuple[Reservation, ...]) -> Steps[None]:
    """Let the Leases name the target of a migration before it has the addresses: the source may end at any time."""
    for row in rows:
        with suppress(NotFound):  # lost: the repair makes it again
            yield from succeed(here, lease_for(here, asked, row.owner, row.address))


def _recorded(here: Here, asked: Asked, reference: PodReference, claim: Claim) -> Steps[tuple[Reservation, ...]]:
    """Return the reservations of the claim, recorded with the attachment.

    A reservation is on the disk before a status names it. Where none is new, disk and API work at the same time.
    """
    reserved = yield from _rows(here, asked, claim)
    state = State.REPORTED if claim.ips else State.RESERVED
    kept = tuple(replace(row, state=state) if row.state is State.RESERVED else row for row in reserved.rows)
    known = here.book.held_by(claim.owner, asked.network.name)
    new: list[Change] = [Put(row) for row in kept if row not in known]
    changes = [*new, *_records(here, asked, reference)]
    attachment = _attachment(here, asked, reference, kept)
    if here.book.attachment(asked.key) != attachment:
        changes.append(Put(attachment))
    try:
        yield Save(tuple(changes), wait=bool(new), soon=True)
    except PublishFailed:
        yield from give_back(here, reserved.created)
        raise
    return kept


def _reported(here: Here, reference: PodReference, claim: Claim, rows: tuple[Reservation, ...]) -> Steps[None]:
    """Let the claim's status name addresses and pod. Raises Conflict for a claim that changed."""
    addresses = tuple(row.address for row in rows)
    if not is_true(claim, addresses, reference.pod.name):
        yield from ask(WriteStatus(claim, allocated_patch(claim, addresses, reference.pod.name, here.now)))


def _rows(here: Here, asked: Asked, claim: Claim) -> Steps[Reserved]:
    """Return the reservations of the claim; where there can be none, its condition says why."""
    try:
        wanted = claim.addresses()
    except ClaimInvalid as error:
        text = f"IPAMClaim {claim.namespace}/{claim.name} cannot be used: {error}"
        raise CniError(Code.TRY_AGAIN, text, "Delete the claim; its owner makes another one") from None
    if refused := next((one for one in wanted if asked.network.refusal(one)), None):
        text = f"IPAMClaim {claim.namespace}/{claim.name} has {refused}, {asked.network.refusal(refused)}"
        remedy = "Correct the configuration, or delete the claim and its finalizers: its next one gets another address"
        raise CniError(Code.CONFIGURATION, text, remedy)
    try:
        return (yield from reserve(here, asked, claim.owner, wanted))
    except Exhausted as error:
        yield from _report(here, claim, Reason.EXHAUSTED, error)
        raise
    except Taken as error:
        yield from _report(here, claim, Reason.CONFLICT, error)
        raise


def _report(here: Here, claim: Claim, reason: Reason, error: CniError) -> Steps[None]:
    """Write why the claim has no address; that this fails is less than what is reported."""
    yield Announce(str(reason), error.text, claim=claim)
    if (patch := failed_patch(claim, reason, error.text, here.now)) is not None:
        try:
            yield from ask(WriteStatus(claim, patch))
        except (ApiAway, Forbidden, NotFound, Conflict):
            return


def _again(claim: Claim) -> Steps[Claim]:
    """Return the claim as it is after it changed. Raises CniError when it is another one."""
    found = yield from ask(ReadClaim(claim.namespace, claim.name))
    if found.uid != claim.uid:
        raise CniError(Code.TRY_AGAIN, f"IPAMClaim {claim.namespace}/{claim.name} was deleted and made again", SLOW)
    return found


def _drop_foreign(here: Here, asked: Asked, claim: Claim) -> Steps[None]:
    """Give back what another node was faster with: the claim has its address by now."""
    if not claim.ips:
        return
    held = here.book.held_by(claim.owner, asked.network.name)
    rows = [row for row in held if row.is_fresh and not claim.has(row.address)]
    if rows and (attachment := here.book.attachment(asked.key)) is not None:
        yield Save((Drop(attachment),))
    used = {one for other in here.book.attachments_of(claim.owner) for one in other.addresses}
    yield from give_back(here, [row for row in rows if row.address not in used])


def is_true(claim: Claim, addresses: tuple[Interface, ...], pod: str) -> bool:
    """Return whether the status says all of this already."""
    written = claim.ips == tuple(str(one) for one in addresses)
    return written and claim.owner_pod == pod and (CONDITION, "True", Reason.ALLOCATED) in claim.conditions
