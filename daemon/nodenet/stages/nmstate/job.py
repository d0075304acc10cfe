"""What does one pass of the nmstate stage work on?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nodenet.core.boot.facts import Facts
from nodenet.core.history.entry import Kind
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.stages.apply.recorder import Story


@dataclass(frozen=True, slots=True)
class Job:
    """One pass: the file, what it asks for, and the facts before it."""

    file: NodeFile
    wish: Desired
    facts: Facts
    began: float
    retry_refused: bool
    interrupted: bool = False
    """Whether an apply of this file was interrupted that may have cut the node off, and there is a way back."""
    unsettled: frozenset[str] = frozenset()
    """The links of the file that NetworkManager still activates, at its start."""

    @property
    def applied(self) -> Facts:
        """The facts of a pass after which the file is in force."""
        return replace(self.facts, applied_digest=self.file.digest, brings_bridge=self.wish.brings_bridge)

    def story(self, *, probes: str = "", cause: str = "") -> Story:
        """What the history has to say of the pass beside its file."""
        kind = Kind.NODE_FILE if self.file.digest == self.facts.digest else Kind.GOING_BACK
        who = "an administrator" if self.retry_refused else "the boot"
        return Story(kind, self.facts.hostname, who, probes.removeprefix("; "), cause)
