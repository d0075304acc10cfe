"""What the condition of nodenetd.service is answered, and what the journal says then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodenet.cli.adoption.gather import IN_CHARGE, assigned
from nodenet.core.adoption.steps import in_charge, unit_states

SAID = (
    "nodeip-configuration.service and ovs-configuration.service configure the network of this node: nodenetd does not "
    "start. Run `nodenetctl adopt` to let nodenetd do that, or assign the stages in `[stages]` of the settings"
)


def answered(
    tmp_path: Path, shown: str, code: int = 0, *, began: int = 0, unmet: tuple[str, str] = ("", "")
) -> tuple[int, str]:
    """Run the program with a systemctl that prints *shown*; return its exit code and what it logs.

    *began* is when the units began in this boot. For the unit *unmet*, systemd-analyze fails with these words.
    """
    programs = {
        "systemctl": f"case $* in *Monotonic*) echo {began}; exit ;; esac\ncat <<'END'\n{shown}\nEND\nexit {code}\n",
        "systemd-analyze": f'case $* in "condition --unit={unmet[0]}") echo "{unmet[1]}" >&2; exit 1 ;; esac\n',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "nodenet.cli.adoption.gather"],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.returncode, done.stderr + done.stdout


def block(unit: str, state: str) -> str:
    return f"Id={unit}\nLoadState=loaded\nUnitFileState={state}\n\n"


@pytest.mark.parametrize(("state", "code"), [("enabled", IN_CHARGE), ("disabled", 0)])
def test_units_that_are_enabled_are_named_with_the_remedy(tmp_path: Path, state: str, code: int) -> None:
    units = ("ovs-configuration.service", "nodeip-configuration.service")
    found, said = answered(tmp_path, "".join(block(unit, state) for unit in units))
    assert found == code
    assert (SAID in said) == (code == IN_CHARGE)


def test_nodenetd_starts_where_systemd_does_not_answer(tmp_path: Path) -> None:
    found, said = answered(tmp_path, "Transport endpoint is not connected", 1)
    assert found == 0
    assert "Transport endpoint is not connected" in said


NODE_IP, BRIDGE = "nodeip-configuration.service", "ovs-configuration.service"
UNMET = "nodeip-configuration.service: ConditionPathExists=/enoent failed.\nConditions failed."


@pytest.mark.parametrize(
    ("began", "unmet", "code"),
    [
        (0, (NODE_IP, UNMET), 0),
        (0, (BRIDGE, UNMET), IN_CHARGE),
        (7, (NODE_IP, UNMET), IN_CHARGE),
        (0, (NODE_IP, "Failed to load unit."), IN_CHARGE),
    ],
)
def test_a_unit_that_a_condition_keeps_from_starting_is_not_in_charge(
    tmp_path: Path, began: int, unmet: tuple[str, str], code: int
) -> None:
    """An administrator switched it off: without nodenetd, kubelet would start without node IPs.

    A condition that a unit has itself made untrue in this boot does not matter, nor one that cannot be looked at.
    """
    shown = block(NODE_IP, "enabled") + block(BRIDGE, "enabled")
    assert answered(tmp_path, shown, began=began, unmet=unmet)[0] == code


MIXED = b'[stages]\nconfigure-ovs = "unit:ovs-configuration.service"\n'
ONE_STAGE = unit_states(block(NODE_IP, "disabled") + block(BRIDGE, "enabled"))


@pytest.mark.parametrize("invalid", [b"", b"no_such_key = 1\n", b"apply_timeout = 'soon'\n"])
def test_settings_that_are_invalid_elsewhere_still_assign_their_stages(invalid: bytes) -> None:
    """Else nodenetd would be skipped instead of failing, and kubelet would start without node IPs."""
    assert in_charge(ONE_STAGE, assigned([("nodenet.toml", invalid + MIXED)])) == ()
    assert in_charge(ONE_STAGE, assigned([("nodenet.toml", MIXED), ("a.toml", b"not TOML")])) == ()
    assert in_charge(ONE_STAGE, assigned([("nodenet.toml", b"not TOML")])) == (BRIDGE,)
