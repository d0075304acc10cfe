"""May this pod have the addresses of this claim, and what is known of both?

Pod and claim are read at each ADD: an annotation may have changed since the last one. Without the API no pod starts,
since Multus asks it, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips.api import NotFound
from nodenet.core.persistent_ips.claim import Claim, known_addresses
from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.effects import AwaitClaim, Here, ReadClaim, ReadLease, ReadPod, Steps, ask
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import Attachment, PodName, PodReference, Workload
from nodenet.core.persistent_ips.reserve import Asked
from nodenet.core.persistent_ips.succession import living_pods


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
