"""Does a unit have processes? As the kernel writes cgroup.events."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.edge.systemd.cgroups import has_processes


def tree(path: Path, unit: str, events: str) -> Path:
    group = path / "system.slice" / unit
    group.mkdir(parents=True)
    (group / "cgroup.events").write_text(events)
    return path


@pytest.mark.parametrize(("events", "runs"), [("populated 1\nfrozen 0\n", True), ("populated 0\nfrozen 1\n", False)])
def test_a_unit_runs_while_its_group_is_populated(tmp_path: Path, events: str, runs: bool) -> None:  # noqa: FBT001
    assert has_processes("kubelet.service", tree(tmp_path, "kubelet.service", events)) is runs


def test_a_unit_without_a_group_does_not_run(tmp_path: Path) -> None:
    """Neither does one whose name begins alike."""
    group = tree(tmp_path, "kubelet.service.d", "populated 1\n")
    assert not has_processes("kubelet.service", group)
    assert not has_processes("kubelet.service", tmp_path / "none")
