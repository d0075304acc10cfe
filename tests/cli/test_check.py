"""`nodenetctl check`: what nodenetd would say of node files, on any machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.test_main import nodenetctl

pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")

GOOD = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n"


def test_good_files_are_named_with_their_digest(tmp_path: Path) -> None:
    """One line each; exit 0; what is no node file is passed over."""
    (tmp_path / "cluster.yml").write_text(GOOD)
    (tmp_path / "worker-0.yaml").write_text("# later\n")
    (tmp_path / "notes.txt").write_text("[")
    done = nodenetctl("check", str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("cluster.yml: good (")
    assert done.stdout.splitlines()[1] == "worker-0.yaml: empty, counts as no node file"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace("type:", "tpye:").encode(), "tpye"),
        (b"interfaces: [\n", "bad.yml, line 2"),
        (GOOD.replace("ethernet", "ethernetz").encode(), "bad.yml: interfaces[0].type: libnmstate knows no type"),
        (GOOD.encode() + b"  name: eth1\n", "found duplicate key"),
        (b"\xff", "bad.yml, line 1: not UTF-8"),
    ],
)
def test_a_bad_file_is_65_with_file_place_and_remedy(tmp_path: Path, content: bytes, said: str) -> None:
    """The good ones beside it are checked all the same."""
    (tmp_path / "bad.yml").write_bytes(content)
    (tmp_path / "good.yml").write_text(GOOD)
    done = nodenetctl("check", str(tmp_path))
    assert done.returncode == 65
    assert "bad.yml" in done.stderr
    assert said in done.stderr
    assert "good.yml: good" in done.stdout


def test_two_files_for_one_node_are_a_problem(tmp_path: Path) -> None:
    """Both extensions of one stem."""
    for name in ("worker-0.yml", "worker-0.yaml"):
        (tmp_path / name).write_text(GOOD)
    done = nodenetctl("check", str(tmp_path))
    assert done.returncode == 65
    assert "both claim to be the node file for 'worker-0'" in done.stderr


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """As at boot."""
    path = tmp_path / "cluster.yml"
    path.write_text(GOOD)
    path.chmod(0o666)
    done = nodenetctl("check", str(path))
    assert done.returncode == 65
    assert os.fspath(path) in done.stderr


@pytest.mark.parametrize("name", ["absent", "."])
def test_nothing_to_check_is_a_wrong_command_line(tmp_path: Path, name: str) -> None:
    """Neither a missing path nor an empty directory passes for good."""
    assert nodenetctl("check", str(tmp_path / name)).returncode == 64
