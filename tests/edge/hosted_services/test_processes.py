"""The processes of a unit: by its control group, which is looked for only where it is not known."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nodenet.edge.hosted_services.units import Processes

UNIT = "nodenet-keepalived.service"


class Tree:
    """A tree of control groups, and the names of processes."""

    def __init__(self, directory: Path) -> None:
        self.groups, self.proc = directory / "cgroup", directory / "proc"
        self.groups.mkdir()

    def has(self, group: str, **processes: int) -> None:
        """Let *group* have these processes, by name."""
        place = self.groups / group
        place.mkdir(parents=True, exist_ok=True)
        (place / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in processes.values()))
        for name, pid in processes.items():
            (self.proc / str(pid)).mkdir(parents=True, exist_ok=True)
            (self.proc / str(pid) / "comm").write_text(f"{name}\n")

    def ends(self, group: str) -> None:
        shutil.rmtree(self.groups / group)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_the_group_is_searched_for_until_it_has_processes(tree: Tree) -> None:
    """The companion searched the tree twice a second for as long as it ran."""
    processes = Processes(UNIT, tree.groups, tree.proc)
    assert processes.now() == {}
    tree.has(f"system.slice/{UNIT}", keepalived=7)
    tree.has(f"system.slice/{UNIT}/worker", child=8)
    assert processes.now() == {7: "keepalived", 8: "child"}
    tree.has(f"a.slice/{UNIT}", other=9)
    assert processes.now() == {7: "keepalived", 8: "child"}


@pytest.mark.parametrize("removed", [True, False])
def test_a_unit_that_runs_again_in_another_slice_is_found(tree: Tree, removed: bool) -> None:  # noqa: FBT001
    processes = Processes(UNIT, tree.groups, tree.proc)
    tree.has(f"z.slice/{UNIT}", keepalived=7)
    assert processes.now() == {7: "keepalived"}
    if removed:
        tree.ends(f"z.slice/{UNIT}")
    else:
        tree.has(f"z.slice/{UNIT}")
    assert processes.now() == {}
    tree.ends("z.slice")
    tree.has(f"a.slice/{UNIT}", keepalived=9)
    assert processes.now() == {9: "keepalived"}


def test_a_process_that_has_ended_meanwhile_is_left_out(tree: Tree) -> None:
    tree.has(f"system.slice/{UNIT}", keepalived=7, child=8)
    shutil.rmtree(tree.proc / "8")
    assert Processes(UNIT, tree.groups, tree.proc).now() == {7: "keepalived"}
