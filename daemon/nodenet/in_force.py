"""What did the administrator write, may it be put in force, and was it edited since?

A reload is judged whole, settings and node file, before anything of it is put in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from nodenet.core.boot import Boot, StageName
from nodenet.core.errors import NodenetError, SettingsInvalid, error_of
from nodenet.core.facts import Facts
from nodenet.core.outcome import Problem
from nodenet.core.settings import Settings
from nodenet.core.status import Refusal, Standing
from nodenet.ports import Stage

CALM_SECONDS = 1.0
"""An edit counts when it is still the same after so long: an editor or a copy may be half way."""
RELOAD = "`nodenetctl reload --wait`"
"""Works while the boot waits too: systemd keeps its own reload back until the unit has started."""
Lying = tuple[Settings | str, str | None, str | None]
"""What lies on the disk: the settings, or what is wrong with them; name and digest of the node file."""


@dataclass(frozen=True, slots=True)
class Plant:
    """What the settings make: the stages and their boot. *attempt_seconds*: no attempt takes longer.

    *drift* tells what the node has lost of its publication since.
    """

    boot: Boot
    stages: Mapping[StageName, Stage]
    network_type: str
    attempt_seconds: float
    drift: Callable[[Facts], Problem | None]


@dataclass(frozen=True, slots=True)
class Judged:
    """*facts* name the node file as it lies on the disk; *error* is what speaks against it."""

    facts: Facts
    error: NodenetError | None = None


class Inputs(Protocol):
    """Settings and node file as they lie on the disk."""

    def settings(self) -> Settings:
        """Return the settings. Raises SettingsInvalid."""

    def node_file(self, settings: Settings, facts: Facts) -> Facts:
        """Return *facts* with the node file that *settings* lead to."""

    async def judge(self, settings: Settings, facts: Facts) -> Judged:
        """Tell whether that file would be taken."""

    def plant(self, settings: Settings) -> Plant:
        """Put *settings* in force: return their stages."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of a reload: *facts* of what lies on the disk, and why nothing of it is taken, if so."""

    settings: Settings
    facts: Facts
    refusal: Refusal | None = None
    error: NodenetError | None = None


class InForce:
    """What is in force of settings and node file, beside what lies on the disk."""

    def __init__(self, inputs: Inputs) -> None:
        """Put what lies there in force. Raises SettingsInvalid."""
        self._inputs = inputs
        self._settings = inputs.settings()
        self._since = "the start of nodenetd"
        self._changed = False
        """Whether the last reload brought other settings."""
        self._judged: Lying = (self._settings, None, None)
        self._unused: tuple[str | None, str | None] | None = None
        """What lay there when the stage found no file that asks for anything."""
        self._edit: tuple[Lying, float] | None = None
        self.plant = inputs.plant(self._settings)

    async def judge(self, facts: Facts) -> Judgement:
        """Tell whether settings and node file would be taken; nothing is in force by that."""
        try:
            settings = self._inputs.settings()
        except SettingsInvalid as error:
            self._judged = (str(error), *self._judged[1:])
            return self._settings_refused(facts, error)
        judged = await self._inputs.judge(settings, facts)
        self._judged = (settings, judged.facts.node_file, judged.facts.digest)
        if judged.error:
            return self._node_file_refused(settings, judged.facts, judged.error)
        return Judgement(settings, facts)

    def take(self, judgement: Judgement) -> None:
        """Put in force what was judged to be good."""
        self._changed = judgement.settings != self._settings
        self._unused = self._edit = None
        self._settings, self._since = judgement.settings, "the last reload"
        self.plant = self._inputs.plant(self._settings)

    def error(self, name: StageName, problem: Problem, *, reload: bool) -> NodenetError:
        """Return what is told to somebody whose order stage *name* did not carry out."""
        settings = "the changed settings are in force, but " if reload and self._changed else ""
        return error_of(problem.message)(f"{settings}{name}: {problem.cause}", remedy=problem.remedy)

    def edited(self, standing: Standing, now: float) -> bool:
        """Tell whether something was edited since it was last looked at, and is complete."""
        lying = self._lying(standing)
        if lying is None:
            self._edit = None
        elif self._edit is None or self._edit[0] != lying:
            self._edit = (lying, now)
        return self._edit is not None and now - self._edit[1] >= CALM_SECONDS

    def _lying(self, standing: Standing) -> Lying | None:
        """Return what lies on the disk if it is neither in force nor judged."""
        facts = standing.facts
        try:
            settings: Settings | str = self._inputs.settings()
        except SettingsInvalid as error:
            settings = str(error)
        if isinstance(settings, str) or not standing.boot[StageName.NMSTATE].over:
            return None if settings == self._judged[0] else (settings, None, None)
        seen = self._inputs.node_file(settings, facts)
        lying = (settings, seen.node_file, seen.digest)
        if facts.node_file is None and self._unused is None:
            self._unused = lying[1:]
        in_force = (facts.node_file, facts.digest) if facts.node_file else self._unused
        return None if lying in ((self._judged[0], *(in_force or ())), self._judged) else lying

    def _settings_refused(self, facts: Facts, error: SettingsInvalid) -> Judgement:
        cause = f"{error.cause}; those of {self._since} stay in force, but the next boot would end here"
        problem = Problem(error.message, cause, _then(error.remedy))
        return Judgement(self._settings, facts, Refusal(problem), type(error)(cause, remedy=problem.remedy))

    def _node_file_refused(self, settings: Settings, facts: Facts, error: NodenetError) -> Judgement:
        beside = "; the changed settings are not in force either" if settings != self._settings else ""
        problem = Problem(error.message, error.cause + beside, _then(error.remedy))
        refusal = Refusal(problem, StageName.NMSTATE)
        told = type(error)(f"{StageName.NMSTATE}: {problem.cause}", remedy=problem.remedy)
        return Judgement(self._settings, facts, refusal, told)


def _then(remedy: str) -> str:
    return f"{remedy or 'Mend it'}; then run {RELOAD}"
