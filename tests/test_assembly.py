"""The composition: what outlives a reload, and that the table of stages is enough to build them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nodenet.assembly import Assembly
from nodenet.core.boot.stages import new_boot, reason_to_skip
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.unit_stage import Evidence, proof_of
from nodenet.edge.clock import Idle
from nodenet.inputs import BUILD
from nodenet.loop.reload import StageSet
from nodenet.stage_edges import Presence
from nodenet.stages.br_ex.ofports import KeepOfports
from nodenet.stages.br_ex.recovery import LeasesFirst, Recovery
from nodenet.stages.nmstate.stage import NmstateStage
from nodenet.stages.unit_stage import UnitStage


@pytest.fixture
def assembly() -> Iterator[Assembly]:
    idle = Idle()
    yield Assembly(lambda _: None, idle)
    idle.close()


def presence_of(stages: StageSet) -> Presence:
    first = stages.stages[StageName.NMSTATE]
    assert isinstance(first, KeepOfports)
    assert isinstance(first.stage, NmstateStage)
    return first.stage._pipeline._edges.presence


def test_a_reload_gives_no_more_starts_of_network_manager(assembly: Assembly) -> None:
    """They are counted in one place for the whole run: an edit is read without a request, too."""
    before, after = (
        assembly.inputs.build_stages(Settings()),
        assembly.inputs.build_stages(replace(Settings(), apply_timeout=300)),
    )
    assert before.stages[StageName.NMSTATE] is not after.stages[StageName.NMSTATE]
    assert presence_of(before) is presence_of(after)


def test_a_reload_goes_on_with_the_undo(assembly: Assembly) -> None:
    """Its patience with NetworkManager does not begin again."""
    before, after = (assembly.inputs.build_stages(Settings()) for _ in range(2))
    assert isinstance(before.undo, Recovery)
    assert isinstance(after.undo, Recovery)
    assert before.undo.undo is after.undo.undo


@pytest.mark.parametrize("name", StageName)
def test_a_row_of_the_table_is_enough_for_a_stage(assembly: Assembly, name: StageName) -> None:
    """It is built by its module, or skipped with the reason; it has a provider, and a unit can do it."""
    stages = assembly.inputs.build_stages(Settings())
    state = new_boot({}, degrade=True)[name]
    if name.module:
        assert BUILD[name].__module__ == f"nodenet.stages.{name.module}"
        assert hasattr(stages.stages[name], "attempt")
    else:
        assert name not in stages.stages
        assert reason_to_skip(state, facts=None, network_type="") == "not built in this version"  # type: ignore[arg-type]
    assert Settings().stages[name.value] == "builtin"
    by_unit = assembly.inputs.build_stages(Settings(stages={**Settings().stages, name.value: "unit:other.service"}))
    assert isinstance(by_unit.stages[name], UnitStage)
    assert callable(proof_of(name).missing)


def test_a_unit_is_believed_where_no_evidence_is_known() -> None:
    """A stage without a rule of evidence needs no entry in another table."""
    assert proof_of(StageName.HOSTED_SERVICES).missing(Evidence()) is None


def test_the_node_ip_is_chosen_after_a_look_at_what_an_interrupted_apply_left(assembly: Assembly) -> None:
    """By the loop, before each stage; leases of an earlier boot are settled before the node IP is chosen."""
    stages = assembly.inputs.build_stages(Settings())
    assert isinstance(stages.undo, Recovery)
    assert isinstance(stages.stages[StageName.NODEIP], LeasesFirst)


def test_a_node_file_directory_that_is_none_does_not_end_the_daemon(assembly: Assembly, tmp_path: Path) -> None:
    """Somebody copied a file to the place of a missing directory: the stage reports it, the boot goes on (R23)."""
    place = tmp_path / "openshift"
    place.write_text("interfaces: []\n")
    assembly.inputs.build_stages(replace(Settings(), node_file_dir=str(place)))
    assert not assembly.has_node_files()


def test_nodenetd_starts_where_the_launcher_keeps_openssl_out() -> None:
    """It costs 5 MB (``packaging/install.py``); a probe by HTTPS has it in a process of its own."""
    program = "import sys; sys.modules['ssl'] = None; import nodenet.daemon"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
