"""Which trial nodenetd reports, and whose it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodenet.cli.ask import is_same, refuse_another, runs
from nodenet.core.errors import Unavailable
from nodenet.core.trial.trial import Trial

TRIAL = {
    "node_file": "new.yml",
    "digest": "d" * 64,
    "who": "root on pts/0 (process 7)",
    "state": "holding",
    "until": 160.0,
    "cause": None,
    "installed": None,
    "edited": None,
}
MINE = Trial("new.yml", "d" * 64, "root on pts/0 (process 7)")
OTHER = TRIAL | {"who": "admin on pts/1 (process 8)"}
"""Another administrator tries the same file."""


class Reports(dict[str, str]):
    """What nodenetd answers to one GetStatus after another: the file is on trial, and what is otherwise then."""

    def __init__(self, *changes: dict[str, Any], first: dict[str, Any] | None = None) -> None:
        super().__init__({"GetStatus": ""})
        self._left = [json.dumps({"trial": TRIAL | each}) for each in (first or {}, *changes)]

    def __getitem__(self, _: str) -> str:
        return self._left.pop(0)


def test_a_trial_of_the_same_file_by_another_program_is_another_trial() -> None:
    assert is_same(MINE, TRIAL)
    assert not is_same(MINE, OTHER)
    assert not is_same(MINE, TRIAL | {"digest": "e" * 64})
    assert not is_same(MINE, {})


def test_only_another_trial_that_runs_is_in_the_way() -> None:
    for trial in (TRIAL, OTHER | {"state": "confirmed"}, {}):
        refuse_another(MINE, trial)
    assert [runs(trial) for trial in (TRIAL, TRIAL | {"state": "applying"}, OTHER | {"state": "failed"}, {})] == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(Unavailable) as refused:
        refuse_another(MINE, OTHER)
    assert str(refused.value) == (
        "the trial is over, and another one, of new.yml, has begun since; admin on pts/1 (process 8) started it. "
        "Look at `journalctl -u nodenetd` for how this one has ended"
    )
