"""Which node file is on trial, or was last, and is it the one that this program has asked for?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nodenet.cli.ask import ask
from nodenet.core.errors import Unavailable
from nodenet.core.trial.trial import RUNNING, Trial

SECONDS = 10.0


def reported() -> dict[str, Any]:
    """Return the present trial, or the last one, from nodenetd: the state file is an older one where /run is full.

    Nothing where there was none in this run of nodenetd. Raises NodenetError.
    """
    (text,) = ask("GetStatus", seconds=SECONDS)
    return json.loads(text).get("trial") or {}


def runs(trial: Mapping[str, Any]) -> bool:
    """Return whether the *trial* of a status document holds the network."""
    return trial.get("state") in RUNNING


def is_same(mine: Trial, trial: Mapping[str, Any]) -> bool:
    """Return whether the *trial* of a status document is *mine*: another program may try the same file later."""
    return (trial.get("digest"), trial.get("who")) == (mine.digest, mine.who)


def refuse_another(mine: Trial, trial: Mapping[str, Any]) -> None:
    """Return where *mine* may be the present trial. Raises Unavailable where *trial*, another one, runs."""
    if runs(trial) and not is_same(mine, trial):
        raise another_runs(trial)


def another_runs(trial: Mapping[str, Any]) -> Unavailable:
    """Return the error for a trial that is over, where *trial* has begun since: nodenetd reports that one only."""
    return Unavailable(
        f"the trial is over, and another one, of {trial['node_file']}, has begun since; {trial['who']} started it",
        remedy="Look at `journalctl -u nodenetd` for how this one has ended",
    )
