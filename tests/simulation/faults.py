"""What can happen to a node: each kind begins and, where it lasts, ends; a run heals all of them at last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulation.run import Run

POINTS = (
    *("files.write", "files.written", "files.remove", "files.removed", "notify", "kernel.snapshot", "sysctls.write"),
    *("manager.state", "manager.owner", "manager.checkpoints", "manager.roll_back", "manager.roll_back:back"),
    *("nmstate.begin", "nmstate.show", "nmstate.difference", "nmstate.apply.begin", "nmstate.apply.made"),
    *(
        "nmstate.apply.made:back",
        "nmstate.apply.half",
        "nmstate.apply.written",
        "nmstate.apply.verify",
        "nmstate.apply.back",
    ),
    *("nmstate.commit", "nmstate.commit:back", "profiles.inventory", "profiles.set", "profiles.set:back"),
    *("profiles.keep", "profiles.reapply", "profiles.reapply:back", "profiles.give_back", "profiles.activate"),
    *("profiles.delete", "profiles.ask_again", "ovsdb.prove_alive", "ovsdb.bridges", "ovsdb.remove_bridge"),
    *("systemd.reload", "systemd.reloading", "systemd.environment", "systemd.any_runs", "neighbours.answers"),
    "dns.configuration",
)
"""Where a fault may strike: the daemon calls out there, or has just been answered (``:back``)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """*kind* strikes *at* seconds after the daemon passed *point* for the *nth* time; without a point: of the run."""

    kind: str
    point: str
    nth: int
    at: float
    lasts: float
    pick: float
    """What is left to choose, between 0 and 1."""

    def __str__(self) -> str:
        where = f"{self.at:g} s after {self.point} #{self.nth}" if self.point else f"at {self.at:g} s"
        return f"{self.kind} {where}, for {self.lasts:g} s (pick {self.pick:g})"


Effect = Callable[["Run", Fault], Callable[[], None] | None]
"""Begins; returns what ends it, None where it is over at once."""
KINDS: dict[str, Effect] = {}


def kind(effect: Effect) -> Effect:
    KINDS[effect.__name__.replace("_", "-")] = effect
    return effect


def strike(run: Run, fault: Fault) -> None:
    """Let *fault* begin, and end later."""
    if run.healed:
        return
    run.struck[fault.kind] += 1
    end = KINDS[fault.kind](run, fault)
    if end is None:
        run.is_over()
    else:
        over = [False]

        def once() -> None:
            if not over[0]:
                over[0] = True
                end()
                run.is_over()

        run.to_heal.append(once)
        run.world.after(fault.lasts, once)
