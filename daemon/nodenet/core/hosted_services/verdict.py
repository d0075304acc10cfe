"""Has nodenet-hosted decided, does this node's DNS answer, and what is wrong if not?"""

from __future__ import annotations

from collections.abc import Iterator

from nodenet.core.boot.outcome import Problem
from nodenet.core.hosted_services.model import Mode, Service
from nodenet.core.hosted_services.paths import COMPANION, RESOURCE
from nodenet.core.hosted_services.plan import Plan
from nodenet.core.hosted_services.units import Running
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.value import frozen

PATIENCE_SECONDS = 30.0
"""How long READY waits: a kubelet that never starts would keep the API servers from running at all."""
LOOK_SECONDS = 1.0
WELL_SECONDS, UNWELL_SECONDS = 60.0, 5.0
_LOOK_AT_COMPANION = f"See `journalctl -u {COMPANION}`"
_CORRECT = f"Correct {RESOURCE} or the object in the API; a cache is written again when the API answers"
_LOOK_AT_DNS = "See `nodenetctl status` and `journalctl -u nodenet-dnsmasq.service`"


@frozen
class Verdict:
    """What the stage says: its line, what it still waits for (empty: nothing), a problem, and when it looks again."""

    detail: str
    awaited: str = ""
    problem: Problem | None = None
    seconds: float = WELL_SECONDS


def verdict(
    plan: Plan,
    unusable: tuple[str, ...],
    companion: Running | None,
    *,
    silent: tuple[IPAddress, ...] | None,
    stuck: Problem | None = None,
) -> Verdict:
    """Return the verdict. *unusable*: inputs that cannot be used; *companion*: None while systemd does not answer.

    *silent*: the node IPs that answer no DNS; None where this node's DNS is not ours to run now. *stuck*: what keeps
    DNS from answering and does not pass by itself.
    """
    awaited, failed = _missing(companion, silent or (), stuck)
    contradictions = (
        *(Problem(Message.HOSTED_INPUT_INVALID, one, _CORRECT) for one in unusable),
        *(Problem(Message.HOSTED_PROBLEM, *_parts(one)) for one in plan.problems),
    )
    problem = failed or next(iter(contradictions), None)
    detail = _detail(plan, served=silent is not None)
    return Verdict(detail, awaited, problem, UNWELL_SECONDS if failed else WELL_SECONDS)


def _missing(
    companion: Running | None, silent: tuple[IPAddress, ...], stuck: Problem | None
) -> tuple[str, Problem | None]:
    """Return what may still come, in words, and the problem that it is once the patience is over."""
    if companion is None:
        return f"systemd, to ask for {COMPANION}", _companion_down("systemd does not answer")
    if not companion.is_up:
        fits = companion.is_loaded and not companion.missing
        passes = companion.is_settling or (companion.active == "inactive" and fits)
        awaited = f"{COMPANION}, which decides about VIPs ({companion.why_down})" if passes else ""
        return awaited, _companion_down(f"{COMPANION} does not run: {companion.why_down}")
    if silent and stuck:
        return "", stuck
    if silent:
        shown = " and ".join(map(str, silent))
        cause = f"No DNS server answers on the node IP {shown}"
        return f"DNS on the node IP {shown}", Problem(Message.NODE_DNS_FAILED, cause, _LOOK_AT_DNS)
    return "", None


def _companion_down(cause: str) -> Problem:
    return Problem(Message.HOSTED_FAILED, cause, _LOOK_AT_COMPANION)


def _parts(sentence: str) -> tuple[str, str]:
    """Return cause and remedy of a sentence that has both, with a colon between."""
    cause, _, remedy = sentence.rpartition(": ")
    return (cause, f"{remedy[:1].upper()}{remedy[1:]}") if cause else (sentence, "See `nodenetctl hosted`")


def _detail(plan: Plan, *, served: bool) -> str:
    return "; ".join(_facts(plan, served=served))


def _facts(plan: Plan, *, served: bool) -> Iterator[str]:
    addresses = " and ".join(map(str, plan.api_int.addresses))
    kind = "an external load balancer" if plan.mode is Mode.EXTERNAL else "the API VIP"
    yield f"api-int is {addresses}, {kind}"
    if not served:
        yield "DNS is not served by nodenet now"
    held = [str(vip.address) for vip in plan.vips if vip.wanted]
    kept = [str(vip.address) for vip in plan.vips if not vip.wanted]
    if held:
        yield f"may hold {' and '.join(held)}"
    if kept:
        yield f"does not hold {' and '.join(kept)}"
    if any(duty.wanted for duty in plan.duties if duty.service is Service.HAPROXY):
        yield "balances the API"
