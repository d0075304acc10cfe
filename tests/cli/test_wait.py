"""`nodenetctl wait`: read from the state file alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodenet.cli import wait
from nodenet.core.adoption.former_chain import PROPERTIES
from nodenet.core.boot.outcome import Skipped
from nodenet.core.boot.stages import new_boot
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus, document
from status_cases import DEGRADED, FACTS, GOOD, WAITING, asked, provided


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return where the state file is looked for."""
    return tmp_path / "state.json"


@pytest.mark.parametrize(("now", "code"), [(GOOD, 0), (DEGRADED, 1), (WAITING, 75), (None, 75)])
def test_waiting_for_a_stage_tells_how_it_ended(state: Path, now: dict[str, Any] | None, code: int) -> None:
    """0 done or skipped, 1 failed, 75 the time is up."""
    if now is not None:
        state.write_text(json.dumps(now))
    assert wait.run(asked(state)) == code


def test_a_skipped_stage_is_over(state: Path) -> None:
    """Nobody waits for what is not run."""
    made = new_boot({}, degrade=True)
    made = made.begun(StageName.HOSTNAME, 1.0).after(StageName.HOSTNAME, Skipped("not needed", FACTS), 1.0)
    state.write_text(json.dumps(document(BootStatus(made, FACTS))))
    assert wait.run(asked(state, stage="hostname")) == 0


def after(*names: str) -> Callable[[str], frozenset[str]]:
    return lambda _: frozenset(names)


def test_a_name_does_not_wait_for_a_stage_that_waits_for_it() -> None:
    """Neither where the settings give the stage to that name, nor where a unit behind it does an earlier stage."""
    name = "nodeip-configuration.service"
    own = provided(nodeip=f"unit:{name}")
    earlier = provided(nmstate="unit:nmstate-configuration.service")
    later = provided(configure_ovs="unit:ovs-configuration.service")
    assert wait.circle(own, "nodeip", name, after()) == (
        "the settings assign the stage nodeip to this unit, but it is only an alias here"
    )
    for shown in (name, f"nodenet-compat-{name}"):  # systemd shows an alias by the unit's own name
        assert wait.circle(earlier, "nodeip", name, after(shown)) == (
            "nmstate-configuration.service does the stage nmstate and is ordered after this alias. "
            "Run `systemctl disable nodenet-compat-nodeip-configuration.service`"
        )
        assert wait.circle(later, "nodeip", name, after(shown)) is None
    assert wait.circle(earlier, "nodeip", name, after("dbus.service")) is None
    assert wait.circle(provided(), "nodeip", name, after(name)) is None


def test_a_name_gives_up_at_once_where_nobody_can_come_to_an_end(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 78 and the reason, without a time limit."""
    state.write_text(json.dumps(provided(nmstate="unit:nmstate-configuration.service")))
    assert wait.run(asked(state, unit="nmstate-configuration.service", timeout=None)) == 78
    assert capsys.readouterr().err == (
        "nmstate-configuration.service: the settings assign the stage nmstate to this unit, "
        "but it is only an alias here\n"
    )


def test_a_daemon_that_has_ended_is_reported_while_the_stage_is_open(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stage that has ended stays so, and nothing is printed (R56)."""
    (state.parent / "lock").touch()
    state.write_text(json.dumps(WAITING))
    assert wait.run(asked(state)) == 75
    assert capsys.readouterr().err.splitlines() == [
        "nodenetd: nodenetd is not running, so nothing of this may be true any more. See `systemctl status nodenetd`",
        "nmstate is waiting: NetworkManager is not on the bus yet",
    ]
    state.write_text(json.dumps(GOOD))
    assert wait.run(asked(state)) == 0
    assert capsys.readouterr().err == ""


def test_no_stage_is_waited_for_where_systemd_skips_nodenetd(tmp_path: Path) -> None:
    """The units of the former chain may be ordered after a name of nodenet: kubelet would wait for ever."""
    systemctl = tmp_path / "systemctl"
    asked_for = f"show --property={PROPERTIES} -- nodenetd.service"
    systemctl.write_text(f"#!/bin/sh\n[ \"$*\" = '{asked_for}' ] && echo Result=exec-condition\n")
    systemctl.chmod(0o755)
    words = ["wait", "nodeip", "--file", str(tmp_path / "state.json"), "--timeout", "60"]
    done = subprocess.run(
        [sys.executable, "-m", "nodenet.cli.main", *words],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, f"nodeip is not waited for: {wait.SKIPPED}\n")
