"""What the condition of nodenetd.service is answered, and what the journal says then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodenet.cli.adoption.former_chain import IN_CHARGE

SAID = (
    "nodeip-configuration.service and ovs-configuration.service configure the network of this node: nodenetd does not "
    "start. Run `nodenetctl adopt` to let nodenetd do that, or assign the stages in `[stages]` of the settings"
)


def answered(tmp_path: Path, shown: str, code: int = 0) -> tuple[int, str]:
    """Run the program with a systemctl that prints *shown*; return its exit code and what it logs."""
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f"#!/bin/sh\ncat <<'END'\n{shown}\nEND\nexit {code}\n")
    systemctl.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "nodenet.cli.adoption.former_chain"],
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
