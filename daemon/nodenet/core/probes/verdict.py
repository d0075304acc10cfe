"""May an apply be committed, as far as the probes show?

What costs the node its way out rolls the file back (``core.probes.cut_off``); so does the last DNS server that answered
before, a target that did, and a new address that another host has. Everything else is reported only: a carrier, one of
several gateways or DNS servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.probes.cut_off import losses
from nodenet.core.probes.questions import Answer, Kind, Look, Question
from nodenet.core.value import frozen

_RANK = {Answer.NO: 0, Answer.SMALL: 1, Answer.YES: 2}
_BEFORE = ", and it answered before the apply"
_SILENT = ": it did not answer before the apply"
SWITCH = "`probe_timeout = 0` in the settings applies the file without probes"
_MEANT = (
    "if this node is to have no way out, say so in the file: `- {{destination: {}, state: absent, "
    "next-hop-interface: NAME}}` below `routes: config:`; "
)
_EVERYWHERE = {Family.IPV4: "0.0.0.0/0", Family.IPV6: "'::/0'"}


class ProbeFailed(NmstateFailure):
    """The probes show that a node file cuts the node off; the network is as before."""

    message = Message.PROBE_FAILED


@frozen
class Verdict:
    """Why the apply is rolled back, nothing where it may be committed; and what is only reported.

    *lease*: an address that a server gives may still come. *unsaid*: the file might mean that the node loses its way
    out of this family, and does not say so. *taken*: nothing is wrong but that another host has an address.
    """

    failed: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    lease: bool = False
    unsaid: Family | None = None
    taken: bool = False

    @property
    def failure(self) -> ProbeFailed | None:
        """The failure of the apply, if any."""
        if not self.failed:
            return None
        if self.taken:
            return ProbeFailed(FailureKind.TAKEN, "; ".join(self.failed))
        meant = _MEANT.format(_EVERYWHERE[self.unsaid]) if self.unsaid else ""
        remedy = f"Correct the node file, or repair what does not answer; {meant}{SWITCH}"
        return ProbeFailed(FailureKind.PROBE, "; ".join(self.failed), remedy)


def verdict(before: Look, after: Look) -> Verdict:
    """Return what the answers *before* and *after* the apply mean."""
    lost = list(losses(before, after))
    silent = {question: answer for question, answer in after.answers.items() if answer is not Answer.YES}
    reasons = [each for each, answer in silent.items() if _fails(each, answer, before, after, cut_off=bool(lost))]
    first, rest = (
        [_in_words(each, silent[each], before) for each in reasons if (each.kind is Kind.CARRIER) is cause]
        for cause in (True, False)
    )
    left = [each for each in silent if each not in reasons and not (lost and each.kind is Kind.GATEWAY)]
    return Verdict(
        (*first, *dict.fromkeys(each.text for each in lost), *rest),
        tuple(_in_words(each, silent[each], before) for each in left),
        any(each.lease for each in lost),
        next((each.unsaid for each in lost if each.unsaid), None),
        bool(reasons) and not lost and all(each.kind is Kind.UNIQUE for each in reasons),
    )


def dark_uplinks(before: Look, below: Mapping[str, frozenset[str]], links: Iterable[Link]) -> Verdict:
    """Return the verdict before the apply: a bridge with the way out, and only NICs without a carrier to be *below* it.

    The node would be silent until the probes have shown it. A link that is down, is no NIC, or is not there yet may
    carry once the file has configured it.
    """
    gateway = before.gateway
    named = below.get(gateway.link, frozenset()) - {gateway.link} if gateway else frozenset()
    found = [link for link in links if link.name in named]
    is_dark = len(found) == len(named) and all(link.is_nic and link.up and not link.carrier for link in found)
    if gateway is None or not named or not is_dark:
        return Verdict()
    return Verdict(tuple(f"{link.name}, which is to be below {gateway.link}, has no carrier" for link in found))


def _fails(question: Question, answer: Answer, before: Look, after: Look, *, cut_off: bool) -> bool:
    """Return whether the *answer* is a reason to roll the file back; *cut_off*: the node has lost its way out."""
    if answer in (Answer.UNKNOWN, Answer.NOT_ASKED) or question.kind is Kind.GATEWAY:
        return False
    old = _before(question, before)
    match question.kind:
        case Kind.UNIQUE:
            return old is None
        case Kind.LARGE:
            return answer is Answer.SMALL and old is not Answer.SMALL
        case Kind.CARRIER:
            return cut_off and old is Answer.YES
        case Kind.DNS:
            others = (each for each, found in after.answers.items() if found is Answer.YES)
            return old is Answer.YES and not any(each.kind is Kind.DNS for each in others)
        case _:
            return old in _RANK and _RANK[answer] < _RANK[old]


def is_hopeless(question: Question, before: Look) -> bool:
    """Return whether *question* need not be asked after the apply: it got no answer before, so it changes nothing."""
    return question.kind in (Kind.DNS, Kind.LARGE, Kind.TARGET) and _before(question, before) is Answer.NO


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
    hops, addressed = earlier.hops | now.hops, earlier.addressed | now.addressed
    return replace(now, answers=rest | best, hops=hops, defaults=earlier.defaults | now.defaults, addressed=addressed)


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
            return f"the gateway {name} does not answer on {link}{held}"
        case Kind.LARGE:
            small = f"answers small packets, but none as large as the MTU of {link}"
            no_answer = "cannot be pinged by this node" if answer is Answer.UNKNOWN else "answers no ping"
            unknown = f"{no_answer} on {link}: whether its network carries the MTU is not known"
            return f"the gateway {name} {small if answer is Answer.SMALL else unknown}"
        case Kind.DNS:
            held = _BEFORE if old is Answer.YES else _SILENT if answer is Answer.NOT_ASKED else ""
            return f"the DNS server {name} {answer.value}{held}"
        case _:
            return _target_in_words(name, answer, old)


def _target_in_words(name: str, answer: Answer, old: Answer | None) -> str:
    if answer is Answer.SMALL:
        held = ", and it answered large ones before the apply" if old is Answer.YES else ""
        return f"{name} of `probe_targets` answers small packets, but none as large as the MTU{held}"
    held = _BEFORE if old in (Answer.YES, Answer.SMALL) else _SILENT if answer is Answer.NOT_ASKED else ""
    return f"{name} of `probe_targets` {answer.value}{held}"


def in_use(question: Question, mac: str = "") -> str:
    """Return why the address of *question* cannot be this node's: the host with *mac* has it."""
    return f"the address {question.name} of {question.link} is in use by another host" + (mac and f", {mac}")


def summary(look: Look) -> str:
    """Return what answers, as a part of a sentence; empty where nothing was asked."""
    yes = [question for question, answer in look.answers.items() if answer is Answer.YES]
    named = [f"{question.kind} {question.name}" for question in yes if question.kind not in (Kind.CARRIER, Kind.LARGE)]
    return ", ".join(named)


VERSION = 1
PATH = PurePosixPath("/run/nodenet/probes.json")
"""Where nodenetd writes it, readable for everybody."""


def report(file: str, before: Look, after: Look, found: Verdict, took: Mapping[Question, float]) -> dict[str, Any]:
    """Return the document, JSON-ready: *took* are the seconds of the last answer of each probe."""
    return {
        "schema_version": VERSION,
        "node_file": file,
        "kept": not found.failed,
        "failed": list(found.failed),
        "noted": list(found.noted),
        "probes": [*_rows("before", before, took), *_rows("after", after, took)],
    }


def _rows(when: str, look: Look, took: Mapping[Question, float]) -> Iterator[dict[str, Any]]:
    for question, answer in look.answers.items():
        seconds = None if answer is Answer.NOT_ASKED else took.get(question)
        yield {
            "when": when,
            "what": question.kind.value,
            "name": question.name,
            "link": question.link or None,
            "answer": answer.value,
            "seconds": None if seconds is None else round(seconds, 3),
        }
