"""What is one apply of a node file, how does it end, and what does it leave over?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from nodenet.core.apply.renamed import Renamed
from nodenet.core.boot.outcome import Facts, Failed, Problem
from nodenet.core.boot.stage_state import EDIT, TRIAL
from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.history.entry import Kind
from nodenet.core.history.shown import left_over_lines, removal, together
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.secret import Secrets
from nodenet.core.value import frozen
from nodenet.stages.apply.history import Story

NOTHING: Mapping[str, Any] = MappingProxyType({})


@frozen
class Job:
    """One pass: the file, what it asks for, and the facts before it."""

    file: NodeFile
    wish: Desired
    facts: Facts
    began: float
    retry_refused: bool
    who: str
    """Who asked for it, for the history."""
    interrupted: bool = False
    """Whether an apply of this file was interrupted that may have cut the node off, and there is a way back."""
    unsettled: frozenset[str] = frozenset()
    """The links of the file that NetworkManager still activates, at its start."""
    prune: bool = False
    """Whether what earlier files have left over is removed."""
    left: tuple[str, ...] = ()
    """What that is, in words, once the pass is over."""
    renamed: tuple[Renamed, ...] = ()
    """The NICs that have another name than in the file; *wish* has the names of now."""
    text: str = ""
    """The text of the file with these names; empty where none has another one."""

    @property
    def is_ordered(self) -> bool:
        """Whether a caller asked for it, or it ends a trial; a boot, an edit, an event or a new process is no order."""
        return (self.retry_refused and self.who != EDIT) or self.who == TRIAL

    @property
    def digests(self) -> frozenset[str | None]:
        """Those of the file, and of the one on the disk whose place it takes."""
        return frozenset({self.file.digest, self.facts.digest})

    @property
    def named(self) -> NodeFile:
        """The file with the names that its NICs have now."""
        return replace(self.file, text=self.text) if self.renamed else self.file

    @property
    def applied(self) -> Facts:
        """The facts of a pass after which the file is in force."""
        digest, bridge = self.file.digest, self.wish.brings_bridge
        return replace(
            self.facts, applied_digest=digest, brings_bridge=bridge, left_over=self.left, renamed=self.renamed
        )

    def story(
        self, *, probes: str = "", cause: str = "", was: Mapping[str, Any] = NOTHING, pruned: bool = False
    ) -> Story:
        """What the history has to say of the pass beside its file; *was*: the network before it."""
        kind = Kind.NODE_FILE if self.file.digest == self.facts.digest else Kind.GOING_BACK
        kind = Kind.PRUNE if pruned else kind
        said = probes.removeprefix("; ")
        return Story(kind, self.facts.hostname, self.who, said, cause, was=was, renamed=self.renamed)


def without_secrets(failure: NmstateFailure, secrets: Secrets) -> NmstateFailure:
    """Return *failure* without the *secrets* of the node file, which libnmstate may quote."""
    return type(failure)(failure.kind, *map(secrets.hidden_in, (failure.cause, failure.remedy, failure.said)))


def failed(facts: Facts, error: NodenetError, cause: str) -> Failed:
    """Return the failure with *error*, whose *cause* names the file."""
    invalid = isinstance(error, NmstateFailure) and error.kind is FailureKind.INVALID
    message = Message.NODE_FILE_INVALID if invalid else error.message
    # The node file is not applied when a disk works again: that would change the network under a running kubelet.
    then = "; then run `nodenetctl reload --wait`" if isinstance(error, PublishFailed) else ""
    return Failed(Problem(message, cause, error.remedy + then), facts)


@frozen
class Wanted:
    """The *text* that libnmstate gets, the *difference* that it makes, and whether it *prunes*."""

    text: str
    difference: Mapping[str, Any]
    prunes: bool = False

    @classmethod
    def of(cls, text: str, difference: Mapping[str, Any], removed: Mapping[str, Any]) -> Wanted:
        """Return the unchanged *text* of the file; where something is *removed* too, the difference with that."""
        if not removed:
            return cls(text, difference)
        both = together(difference, removed)
        return cls(json.dumps(both), both, prunes=True)


def left_behind(job: Job, old: Mapping[str, Any]) -> tuple[Job, dict[str, Any]]:
    """Return *job* with what it leaves behind of *old*, in words, and the document that removes the rest."""
    removed = removal(old) if job.prune else {}
    return (job, removed) if removed else (replace(job, left=tuple(left_over_lines(old))), {})
