"""What does ADD do, in which order? Lease → record on disk → status of the claim → answer.

Each step can be done twice: the runtime repeats an interrupted ADD, which continues from what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from nodenet.core.errors import PublishFailed
from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips.book import Change, Drop, Put
from nodenet.core.persistent_ips.claim import (
    CONDITION,
    Claim,
    ClaimInvalid,
    Reason,
    allocated_patch,
    failed_patch,
    known_addresses,
)
from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.effects import (
    Announce,
    AwaitClaim,
    Here,
    Hold,
    ReadClaim,
    ReadLease,
    ReadPod,
    Save,
    Steps,
    Sync,
    WriteStatus,
    ask,
)
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import (
    ApiAway,
    Attachment,
    Conflict,
    Forbidden,
    Interface,
    NotFound,
    Owner,
    OwnerKind,
    PodName,
    PodReference,
    Reservation,
    State,
    Workload,
)
from nodenet.core.persistent_ips.release import give_back, living_pods, succeed
from nodenet.core.persistent_ips.reserve import (
    Asked,
    Exhausted,
    Reserved,
    Taken,
    check_configuration,
    check_wishes,
    lease_for,
    may_reference,
    reserve,
    seen_as,
)

# May this pod have the addresses of this claim, and what is known of both?
#
# Pod and claim are read at each ADD: an annotation may have changed since the last one. Without the API no pod
# starts, since Multus asks it, too.


def pod_reference(asked: Asked) -> Steps[PodReference | None]:
    """Return what the pod says of this interface, None without Kubernetes. Raises CniError, ApiAway, Forbidden."""
    if asked.pod is None:
        return None
    try:
        pod = yield from ask(ReadPod(asked.pod.namespace, asked.pod.name))
    except NotFound:
        text = f"Pod {asked.pod} does not exist in the API (any more)"
        raise CniError(Code.TRY_AGAIN, text) from None
    if asked.pod.uid and asked.pod.uid not in (pod.name.uid, pod.static_uid):
        text = f"Pod {asked.pod} has UID {pod.name.uid}; the sandbox is of an earlier one with UID {asked.pod.uid}"
        raise CniError(Code.TRY_AGAIN, text)
    return pods.reference(pod, asked.ifname, asked.network.name, asked.pod.uid or pod.name.uid)


def current_claim(here: Here, reference: PodReference) -> Steps[Claim]:
    """Return the claim that the pod references. Raises CniError, ApiAway, Forbidden."""
    namespace, name = reference.pod.namespace, reference.claim
    cached = here.book.claims.get(namespace, name) if here.book.claims.complete else None
    # What the watch has may be old. A change of the claim would fail then. But nothing is changed for a new pod with
    # the name of the last one, as those of a StatefulSet have.
    if cached is not None and cached.owner_pod != reference.pod.name:
        return cached
    try:
        return (yield from ask(ReadClaim(namespace, name)))
    except NotFound:
        claim = (yield from ask(AwaitClaim(namespace, name))) if cached is None else None
    if claim is None:
        text = f"IPAMClaim {namespace}/{name}, which pod {reference.pod} references, does not exist yet"
        raise CniError(Code.TRY_AGAIN, text, "Create it, or look at the controller that creates the claims")
    return claim


def check_claim(claim: Claim, asked: Asked, reference: PodReference) -> None:
    """Refuse a claim that is being deleted and serves no machine, or is of another network. Raises CniError.

    A finalizer keeps a claim that was deleted by mistake until its machine is deleted, which has its addresses so long.
    """
    what = f"IPAMClaim {claim.namespace}/{claim.name}"
    if claim.deleting and not (claim.ips and reference.workload.is_machine):
        raise CniError(Code.TRY_AGAIN, f"{what} is being deleted", "The pod starts once another one has its name")
    if claim.network and claim.network != asked.network.name:
        text = f"{what} is for network {claim.network}; interface {asked.ifname} is on {asked.network.name}"
        raise CniError(Code.CONFIGURATION, text, "Reference a claim of this network")


def check_sharing(here: Here, asked: Asked, reference: PodReference, claim: Claim) -> Steps[bool]:
    """Refuse a claim that a pod of another workload has; return whether one of this machine uses it elsewhere.

    Raises CniError, ApiAway, Forbidden.
    """
    judged, others = {"", reference.pod.name}, {claim.owner_pod}
    for one in here.book.attachments_of(claim.owner):
        if one.pod is None:
            continue
        other = here.book.pod_reference((one.pod.uid, one.ifname, one.network))
        if one.pod.uid == reference.pod.uid:
            if one.ifname != asked.ifname and (other is not None or (yield from _references(one, claim))):
                text = f"Interface {one.ifname} of pod {reference.pod} has IPAMClaim {claim.name} already"
                raise CniError(Code.CONFIGURATION, text, "Give each interface a claim of its own")
        elif other is None:
            others.add(one.pod.name)  # the store was lost, and the attachment was read from a Lease
        elif not _may_share(claim, other.workload, reference.workload):
            raise _busy(claim, str(other.pod))
        else:
            judged.add(one.pod.name)
    used = yield from _any_uses(others - judged, reference, claim)
    if used or (claim.owner_pod and claim.owner_pod in judged):
        return used
    earlier = yield from _earlier(here, asked.network.name, claim)
    return (yield from _any_uses(earlier - others - judged, reference, claim))


def _any_uses(names: Iterable[str], reference: PodReference, claim: Claim) -> Steps[bool]:
    used = False
    for name in sorted(names):
        used |= yield from _uses(name, reference, claim)
    return used


def _earlier(here: Here, network: str, claim: Claim) -> Steps[frozenset[str]]:
    """Return the pods that may have the claim's addresses though its status does not name them.

    A migration failed because the target's node died: nothing has written to the status that the source has them. Or
    the cluster's kind of claims has no ownerPod.
    """
    found: set[str] = set()
    for address in known_addresses(claim):
        with suppress(NotFound):
            lease = yield from ask(ReadLease(name_of(network, address)))
            found.update(pod.name for pod in (yield from living_pods(here, network, lease.sandboxes)))
    return frozenset(found)


def _references(one: Attachment, claim: Claim) -> Steps[bool]:
    """Return whether a pod references *claim* for an interface still; the interface may have been unplugged.

    Raises CniError, NotFound, ApiAway, Forbidden.
    """
    name = one.pod or PodName("", "")
    pod = yield from ask(ReadPod(name.namespace, name.name))
    return pods.reference(pod, one.ifname, one.network, name.uid).claim == claim.name


def _uses(name: str, reference: PodReference, claim: Claim) -> Steps[bool]:
    """Return whether the pod *name* uses the claim; refuse the claim if that is of another workload.

    Raises CniError, ApiAway, Forbidden.
    """
    try:
        pod = yield from ask(ReadPod(claim.namespace, name))
    except NotFound:
        return False
    if pod.finished or not pods.references_claim(pod, claim.name):
        return False
    if not _may_share(claim, pod.workload, reference.workload):
        raise _busy(claim, str(pod.name))
    return True


def _may_share(claim: Claim, one: Workload, other: Workload) -> bool:
    """Return whether two pods may have *claim*; one that is being deleted may be of an earlier machine of the name."""
    return pods.same_instance(one, other) if claim.deleting else pods.may_share(one, other)


def _busy(claim: Claim, other: str) -> CniError:
    text = f"IPAMClaim {claim.namespace}/{claim.name} is used by pod {other}, which is not of the same virtual machine"
    return CniError(Code.TRY_AGAIN, text, "The pod starts when the other one has ended. Replicas need a claim each")


# In which order does ADD do its steps?

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
