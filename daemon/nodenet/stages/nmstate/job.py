"""What does one pass of the nmstate stage work on?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from nodenet.core.apply.renamed import Renamed
from nodenet.core.boot.facts import Facts
from nodenet.core.history.entry import Kind
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.value import frozen
from nodenet.stages.apply.recorder import Story

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
