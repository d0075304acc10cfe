"""May an apply be committed, as far as the probes show?

Only what answered before, or what the file newly asks for, can roll a file back. A file is kept where there is nothing
to go back to: where no gateway answered before, a gateway that does not answer is reported only. The same holds for a
file that the node has worked with: another way out of the moment proves nothing against it. So a router that boots more
slowly than the node does not keep it from its configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.probes.kept_ways import lost_ways
from nodenet.core.probes.questions import Answer, Kind, Look, Question

_RANK = {Answer.NO: 0, Answer.SMALL: 1, Answer.YES: 2}
_BEFORE = ", and it answered before the apply"
_SILENT = ": it did not answer before the apply"
SWITCH = "`probe_timeout = 0` in the settings applies the file without probes"
_ENDED = (
    "where a way out is to end, say so in the file (`enabled: false` for its link; `auto-gateway: false` where a "
    "server gives the addresses; otherwise a default route with `state: absent`, without `next-hop-address` "
    "and `metric`); "
)


class ProbeFailed(NmstateFailure):
    """The probes show that a node file cuts the node off; the network is as before."""

    message = Message.PROBE_FAILED


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why the apply is rolled back, nothing where it may be committed; and what is only reported.

    *lost*: one way out of several is lost, which the file might have meant.
    """

    failed: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    lost: bool = False

    @property
    def failure(self) -> ProbeFailed | None:
        """The failure of the apply, if any."""
        if not self.failed:
            return None
        meant = _ENDED if self.lost else ""
        remedy = f"Correct the node file, or repair what does not answer; {meant}{SWITCH}"
        return ProbeFailed(FailureKind.PROBE, "; ".join(self.failed), remedy)


def verdict(before: Look, after: Look) -> Verdict:
    """Return what the answers *before* and *after* the apply mean."""
    silent = {question: answer for question, answer in after.answers.items() if answer is not Answer.YES}
    reported = [question for question, answer in silent.items() if can_fail(question, answer, before)]
    failed = [_in_words(question, after.answers[question], before) for question in reported]
    cut_off = _without_way_out(before, after)
    lost = [] if cut_off else list(lost_ways(before, after, reported))
    noted = (_in_words(question, answer, before) for question, answer in silent.items() if question not in reported)
    return Verdict((*failed, *cut_off, *lost), tuple(noted), lost=bool(lost))


def can_fail(question: Question, answer: Answer, before: Look) -> bool:
    """Return whether a node file fails if *question* gets *answer* after its apply."""
    if answer in (Answer.UNKNOWN, Answer.NOT_ASKED):
        return False
    old = _before(question, before)
    match question.kind:
        case Kind.UNIQUE:
            return old is None
        case Kind.GATEWAY if old is None:
            return answer is not Answer.YES and before.way_out is not None
        case _:
            return old in _RANK and _RANK[answer] < _RANK[old]


def is_awaited(question: Question, answer: Answer, before: Look) -> bool:
    """Return whether *question*, with *answer* after the apply, is asked again: it may save the file."""
    lost = question.kind is Kind.GATEWAY and before.interrupted and answer is not Answer.YES
    return lost or can_fail(question, answer, before)


def is_hopeless(question: Question, before: Look) -> bool:
    """Return whether *question* need not be asked after the apply: it got no answer before, so it changes nothing."""
    return question.kind in (Kind.DNS, Kind.TARGET) and _before(question, before) is Answer.NO


def _before(question: Question, before: Look) -> Answer | None:
    """Return the answer to *question* before, where a gateway was on another link the best one there, None without any.

    Routers of two links may have the same address, as ``fe80::1``.
    """
    if question in before.answers:
        return before.answers[question]
    found = (answer for each, answer in before.answers.items() if each.subject == question.subject)
    return max(found, key=lambda answer: _RANK.get(answer, -1), default=None)


def merged(earlier: Look, now: Look) -> Look:
    """Return what held *now* or *earlier*: between two tries the network may not be back yet."""
    best = {question: answer for question, answer in earlier.answers.items() if answer is Answer.YES}
    subjects = {question.subject for question in best if question not in now.answers}  # it is on another link now
    rest = {question: answer for question, answer in now.answers.items() if question.subject not in subjects}
    defaults, addressed = earlier.defaults | now.defaults, earlier.addressed | now.addressed
    return replace(now, answers=rest | best, defaults=defaults, addressed=addressed)


def _without_way_out(before: Look, after: Look) -> list[str]:
    """Return what is wrong where nothing leads out of the node any more."""
    asked = [question for question in after.answers if question.kind is Kind.GATEWAY]
    if after.gateway is not None or (after.defaults and not asked):
        return []
    if before.way_out is None:
        is_lost = before.interrupted and not before.proven
        return ["no gateway answers, and one answered before an earlier apply of this file"] if is_lost else []
    name = before.way_out.name
    if not asked:
        return [f"the node has no default route any more, and the gateway {name} answered before the apply"]
    if any(can_fail(question, after.answers[question], before) for question in asked):
        return []
    return [f"no gateway answers any more, and {name} answered before the apply"]


def _in_words(question: Question, answer: Answer, before: Look) -> str:
    name, link = question.name, question.link
    old = _before(question, before)
    match question.kind:
        case Kind.CARRIER:
            return f"{link} has no carrier" + (" any more" if old is Answer.YES else "")
        case Kind.UNIQUE:
            return in_use(question)
        case Kind.GATEWAY:
            held = _BEFORE if old is Answer.YES else ""
            if old is None and before.way_out:
                held = f", and the gateway {before.way_out.name} answered before the apply"
            return f"the gateway {name} does not answer on {link}{held}"
        case Kind.DNS:
            held = _BEFORE if old is Answer.YES else _SILENT if answer is Answer.NOT_ASKED else ""
            return f"the DNS server {name} {answer.value}{held}"
        case _ if answer is Answer.SMALL:
            held = ", and it answered large ones before the apply" if old is Answer.YES else ""
            return f"{name} of `probe_targets` answers small packets, but none as large as the MTU{held}"
        case _:
            held = _BEFORE if old in (Answer.YES, Answer.SMALL) else _SILENT if answer is Answer.NOT_ASKED else ""
            return f"{name} of `probe_targets` {answer.value}{held}"


def in_use(question: Question) -> str:
    """Return why the address of *question* cannot be this node's."""
    return f"the address {question.name} of {question.link} is in use by another host"


def summary(look: Look) -> str:
    """Return what answers, as a part of a sentence; empty where nothing was asked."""
    yes = [question for question, answer in look.answers.items() if answer is Answer.YES]
    named = [f"{question.kind} {question.name}" for question in yes if question.kind is not Kind.CARRIER]
    return ", ".join(named)
