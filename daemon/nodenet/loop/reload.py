"""Which settings and node file did the administrator write, are they valid, and were they edited since?

Settings and node file are checked together, before either takes effect.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Protocol

from nodenet.core.boot.outcome import Facts, Problem, Waiting, named
from nodenet.core.boot.stage_state import StageState
from nodenet.core.boot.stages import Boot, standing
from nodenet.core.errors import NodenetError, SettingsInvalid, Unavailable, error_of
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus, Refusal
from nodenet.core.value import frozen
from nodenet.loop import journal
from nodenet.loop.journal import Guard
from nodenet.ports import Stage, TrialRunner

CALM_SECONDS = (1.0, 5.0, 30.0)
"""An edit counts when it is still the same after so long: an editor or a copy may be half way.

Longer with each one that restarted the boot: a program that touches a file every few seconds must not hold kubelet
back.
"""
RELOAD = "`nodenetctl reload --wait`"
"""Works while the boot waits too: systemd keeps its own reload back until the unit has started."""
OnDisk = tuple[Settings | str, str | None, str | None]
"""What is on the disk: the settings, or what is wrong with them; name and digest of the node file."""


async def nothing_to_confirm(_: Facts) -> str | None:
    """Confirm, where no stage of ours publishes anything."""
    return None


async def nothing_of_others(_: Facts) -> None:
    """Keep nothing."""


class Undo(Protocol):
    """What undoes a change of the network that is open, and that no process works on any more."""

    async def first(self) -> Waiting | None:
        """Undo it; return what that waits for, if anything."""

    @property
    def problem(self) -> Problem | None:
        """Why the network from before it is not back and is waited for no longer, if so."""


class NothingOpen:
    """No change is open, where no stage of ours changes the network."""

    problem: Problem | None = None

    async def first(self) -> Waiting | None:
        """Wait for nothing."""
        return None


NOTHING_OPEN = NothingOpen()


@frozen
class StageSet:
    """What the settings make: the stages and their boot. *attempt_seconds*: no attempt takes longer.

    *losses* returns what a node that is ready has lost since, *confirm* why kubelet must not start with what is
    published.
    """

    boot: Boot
    stages: Mapping[StageName, Stage]
    network_type: str
    attempt_seconds: float
    losses: Callable[[Facts], tuple[Problem, ...]]
    confirm: Callable[[Facts], Coroutine[Any, Any, str | None]] = nothing_to_confirm
    trial: TrialRunner | None = None
    """What tries node files, where nodenetd applies them."""
    undo: Undo = NOTHING_OPEN
    keep_others: Callable[[Facts], Coroutine[Any, Any, None]] = nothing_of_others
    """Keeps what other programs have on br-ex; asked for with each beat of a node that is ready."""


@frozen
class Judged:
    """*facts* name the host and its node file as they would be taken; *error* of *stage* is why it is refused."""

    facts: Facts
    error: NodenetError | None = None
    stage: StageName | None = StageName.NMSTATE


class Inputs(Protocol):
    """Settings and node file on the disk."""

    def settings(self) -> Settings:
        """Return the settings. Raises SettingsInvalid, Unavailable."""

    def node_file(self, settings: Settings, facts: Facts) -> Facts:
        """Return *facts* with the node file that *settings* lead to."""

    async def judge(self, settings: Settings, facts: Facts) -> Judged:
        """Return whether that file would be taken. Raises NodenetError when that is unknown."""

    def build_stages(self, settings: Settings) -> StageSet:
        """Return the stages of *settings*, which take effect with that."""


@frozen
class Judgement:
    """The verdict on a reload: *facts* of what is on the disk, and why it is refused, if it is."""

    settings: Settings
    facts: Facts
    stage_set: StageSet | None = None
    """The stages of the accepted settings."""
    refusal: Refusal | None = None
    error: NodenetError | None = None


class InForce:
    """The settings and the node file in force, compared with those on the disk."""

    def __init__(self, inputs: Inputs) -> None:
        """Use the settings on the disk. Raises SettingsInvalid."""
        self._inputs = inputs
        self._settings = inputs.settings()
        self._since = "the start of nodenetd"
        self.changed = False
        """Whether the last reload brought other settings."""
        self._refused: tuple[OnDisk, str | None] | None = None
        """The error of the last refused reload, and the host name for which it was judged."""
        self._edit: tuple[OnDisk, float] | None = None
        self._begun_by_edits = 0
        self._before: BootStatus | None = None
        """The boot when the present reload began; of several reloads the first."""
        self._guard = Guard("the look for the node file", StageName.NMSTATE)
        self.stage_set = inputs.build_stages(self._settings)

    async def judge(self, facts: Facts) -> Judgement:
        """Return whether settings and node file are valid. They do not take effect by that, and nothing is raised."""
        try:
            return await self._judge(facts)
        except Exception as error:  # noqa: BLE001  (whatever a document brings about refuses the reload that reads it)
            known = named(error, "the reload")
            journal.unforeseen(known, error, None)
            if self._edit:
                self._refused = self._edit[0], facts.hostname
            return Judgement(self._settings, facts, None, Refusal(Problem.of(known)), known)

    async def _judge(self, facts: Facts) -> Judgement:
        try:
            settings = self._inputs.settings()
        except SettingsInvalid as error:
            self._refused = (str(error), None, None), facts.hostname
            return self._settings_refused(facts, error)
        seen = self._inputs.node_file(settings, facts)
        try:
            judged = await self._inputs.judge(settings, facts)
        except Unavailable:  # says nothing of the file, and may pass: the stage waits for it
            return self._taken(settings, facts)
        except NodenetError as error:
            judged = Judged(seen, error, None)
        if judged.error is None:
            return self._taken(settings, facts)
        self._refused = (settings, *_file(judged.facts)), judged.facts.hostname
        # The node keeps its name too; the status shows the file that is there for it.
        return self._node_file_refused(settings, seen, judged.error, judged.stage)

    async def confirmed(self, facts: Facts) -> str | None:
        """Return why kubelet must not start with what is published, None where it may; an error is such a reason."""
        try:
            return await self.stage_set.confirm(facts)
        except Exception as error:  # noqa: BLE001  (what cannot be confirmed is not true)
            return str(named(error, "the look at what is published"))

    def _taken(self, settings: Settings, facts: Facts) -> Judgement:
        return Judgement(settings, facts, self._inputs.build_stages(settings))

    def take(self, judgement: Judgement, before: BootStatus, *, asked: bool) -> None:
        """Put in force what was judged to be good *before* its stages run; *asked*: by a caller, not by an edit."""
        self.stage_set = judgement.stage_set or self.stage_set
        self.changed = judgement.settings != self._settings
        self._refused = self._edit = None
        self._begun_by_edits += not asked
        self._settings, self._since = judgement.settings, "the last reload"
        self._before = self._before or before

    def lost(self, status: BootStatus) -> NodenetError | None:
        """Return the error of a reload that was carried out and has taken a node IP away."""
        drift = status.drift
        if self._before is None or self._before.drift or drift is None:
            return None
        return error_of(drift.message)(f"the reload is carried out, but {drift.cause}", remedy=drift.remedy)

    def standing(self, status: BootStatus) -> frozenset[StageName]:
        """End the reload, if one is under way; return the stages whose failure it neither caused nor could repair."""
        before, self._before = self._before, None
        if before is None:
            return frozenset()
        same = not self.changed and before.facts.digest == status.facts.digest
        return standing(status.boot, before.boot, same_input=same)

    def error(self, name: StageName, problem: Problem, *, reload: bool) -> NodenetError:
        """Return the error for the callers whose order stage *name* did not carry out."""
        settings = "the changed settings are in force, but " if reload and self.changed else ""
        return error_of(problem.message)(f"{settings}{name}: {problem.cause}", remedy=problem.remedy)

    def edited(self, status: BootStatus, now: float) -> bool:
        """Return whether something was edited since it was last looked at, and is complete."""
        lying = self._lying(status)
        if lying is None:
            self._edit = None
        elif self._edit is None or self._edit[0] != lying:
            self._edit = (lying, now)
        return self._edit is not None and now - self._edit[1] >= self.calm_seconds

    @property
    def calm_seconds(self) -> float:
        """How long the next edit must be unchanged before it is used."""
        return CALM_SECONDS[min(self._begun_by_edits, len(CALM_SECONDS) - 1)]

    def is_settled(self, facts: Facts) -> bool:
        """Return whether a stage that found *facts* has corrected every error of the last refused reload."""
        if self._refused is None:
            return True
        (settings, *_), hostname = self._refused
        return settings == self._settings and hostname in (None, facts.hostname)

    def _lying(self, status: BootStatus) -> OnDisk | None:
        """Return what is on the disk if it is neither in force nor refused."""
        if status.refused and self._refused:
            refused, hostname = self._refused
            lying = self._on_disk(replace(status.facts, hostname=hostname))
            return None if lying == refused else lying
        lying = self._on_disk(status.facts)
        # Until its stage is over, that one reads the file itself.
        file = _file(status.facts) if status.boot[StageName.NMSTATE].over else lying[1:]
        return None if lying == (self._settings, *file) else lying

    def found(self, stage: StageState, facts: Facts) -> Facts:
        """Return *facts* with the node file where *stage* is about to read it: an apply may take minutes."""
        if stage.name is not StageName.NMSTATE or stage.over or stage.request.as_read:
            return facts
        return self._guard.run(lambda: self._inputs.node_file(self._settings, facts), facts)

    def _on_disk(self, facts: Facts) -> OnDisk:
        try:
            settings = self._inputs.settings()
        except SettingsInvalid as error:
            return str(error), None, None
        return settings, *_file(self._inputs.node_file(settings, facts))

    def _settings_refused(self, facts: Facts, error: SettingsInvalid) -> Judgement:
        cause = f"{error.cause}; those of {self._since} stay in force, but the next boot would end here"
        problem = Problem(error.message, cause, _then(error.remedy))
        return Judgement(self._settings, facts, None, Refusal(problem), error.saying(cause, problem.remedy))

    def _node_file_refused(
        self, settings: Settings, facts: Facts, error: NodenetError, stage: StageName | None
    ) -> Judgement:
        beside = "; the changed settings are not in force either" if settings != self._settings else ""
        problem = Problem(error.message, error.cause + beside, _then(error.remedy))
        worded = error.saying(": ".join(filter(None, (stage, problem.cause))), problem.remedy)
        return Judgement(self._settings, facts, None, Refusal(problem, stage), worded)


def _file(facts: Facts) -> tuple[str | None, str | None]:
    """Return name and digest of the file that was seen, though it may ask for nothing."""
    return facts.unused or (facts.node_file, facts.digest)


def _then(remedy: str) -> str:
    return f"{remedy or 'Correct it'}; then run {RELOAD}"
