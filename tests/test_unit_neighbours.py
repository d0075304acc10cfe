"""Do nodenet's units make an ordering cycle with the units of any distribution?

`fixtures/units/` holds facts of real nodes: the names of their units and the lines that order them. systemd's own
`systemd-analyze verify` searches each tree for a cycle. In every tree other units are missing, and the order in which
units are written and enabled is another one, because systemd's choice of the job to delete depends on it.
"""

from __future__ import annotations

import functools
import random
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FACTS = ROOT / "fixtures/units"
UNITS = ROOT / "units"
OURS = (*sorted(UNITS.glob("*.service")), *sorted(UNITS.glob("compat/*")))
BASE = ("systemd", "networkmanager")
NODES = {
    "fedora": (*BASE, "redhat", "kubeadm"),
    "centos-stream": (*BASE, "redhat", "kubeadm"),
    "openshift": (*BASE, "redhat", "coreos"),
    "debian": (*BASE, "debian", "kubeadm"),
    "kubeadm": (*BASE, "kubeadm"),
}
"""Kind of node → the files with its facts; a later file replaces a unit of the same name."""
NOT_ON = {
    # kind of node → what it does not have
    "fedora": {"rhsmcertd.service", "insights-client.service", "insights-client-boot.service"},
    "centos-stream": {"zincati.service", "dbus.service"},
}
NEEDED = ("systemd", "kubelet.service", "crio.service", "kubelet-dependencies.target")
"""Never left out: the units of this file, and what nodenet's gate holds back."""
INSTALL = ("WantedBy", "RequiredBy")
BODIES = {
    ".service": "[Service]\nType=oneshot\nExecStart=/bin/sh\n",
    ".socket": "[Socket]\nListenStream=/run/{name}\n",
    ".path": "[Path]\nPathExists=/run/{name}\n",
    ".target": "",
}
TREES = 200
STARTED = ("multi-user.target", "kubelet.service", "nodenetd.service")

Facts = dict[str, list[str]]
"""Unit → its lines."""


@functools.cache
def facts(name: str) -> Facts:
    """Read one file of facts."""
    found: Facts = {}
    for line in (FACTS / f"{name}.units").read_text().splitlines():
        if line.startswith("["):
            lines = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def units_of(kind: str) -> Facts:
    """Return all units of a kind of node."""
    merged: Facts = {}
    for name in NODES[kind]:
        merged |= facts(name)
    return {name: lines for name, lines in merged.items() if name not in NOT_ON.get(kind, ())}


def text(name: str, lines: list[str]) -> str:
    """Return a unit file."""
    install = [line for line in lines if line.startswith(INSTALL)]
    unit = [line for line in lines if line not in install]
    body = BODIES[f".{name.rpartition('.')[2]}"].format(name=name)
    return "\n".join(["[Unit]", *unit, "[Install]", *install, ""]) + body


def enable(tree: Path, units: list[str]) -> str:
    """Enable units; return what systemctl reports."""
    command = ["systemctl", f"--root={tree}", "--quiet", "enable", *units]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def make_tree(tree: Path, kind: str, rng: random.Random | None = None) -> None:
    """Write a node's root directory: every unit, or with *rng* a shuffled selection, and nodenet enabled."""
    system, configured = tree / "usr/lib/systemd/system", tree / "etc/systemd/system"
    system.mkdir(parents=True)
    configured.mkdir(parents=True)
    for program in ("usr/libexec/nodenetd", "usr/bin/nodenetctl", "bin/sh", "bin/mkdir"):
        path = tree / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    for unit in OURS:
        shutil.copy(unit, system)
    always = {*facts(NEEDED[0]), *NEEDED[1:]}
    chosen = list(units_of(kind).items())
    ours = ["nodenetd.service", "nodenet-compat.target"]
    if rng:
        share = rng.choice((0.5, 0.8, 1))
        chosen = [(name, lines) for name, lines in chosen if name in always or rng.random() < share]
        rng.shuffle(chosen)
        ours = ours[: rng.choice((1, 2))]
    for name, lines in chosen:
        (configured if name in facts("coreos") else system).joinpath(name).write_text(text(name, lines))
    (system / "default.target").symlink_to("multi-user.target")
    enabled = [name for name, lines in chosen if any(line.startswith(INSTALL) for line in lines)]
    assert enable(tree, enabled) == ""
    for name in ours:
        # An old name whose real unit is there stays with that unit.
        assert {line.rpartition(" ")[2] for line in enable(tree, [name]).splitlines()} <= {"exists.", "exists"}


def cycles(tree: Path, *started: str) -> list[str]:
    """Return what systemd reports about ordering cycles where *started* are started one after the other."""
    command = ["systemd-analyze", f"--root={tree}", "--man=no", "verify", *started]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if "cycle" in line or "Found dependency" in line]


@pytest.mark.parametrize("kind", NODES)
def test_no_cycle_on_a_node_with_every_unit(tmp_path: Path, kind: str) -> None:
    """(R62)."""
    make_tree(tmp_path, kind)
    for started in (*zip(STARTED), STARTED):
        assert cycles(tmp_path, *started) == [], started


@pytest.mark.parametrize("kind", NODES)
def test_no_cycle_in_any_of_200_shuffled_trees(tmp_path: Path, kind: str) -> None:
    """Each of the five kinds has its share of the trees (R62).

    Every unit is started after the others only: a transaction is searched with the jobs that are already there, so a
    cycle of one unit alone is found here as well.
    """
    for seed in range(TREES // len(NODES)):
        tree = tmp_path / str(seed)
        make_tree(tree, kind, random.Random(f"{kind} {seed}"))  # noqa: S311 - a reproducible selection
        assert cycles(tree, *STARTED) == [], f"{kind}, seed {seed}"


@pytest.mark.parametrize("edge", ["After=kdump.service", "After=kubelet-dependencies.target", "After=iscsi.service"])
def test_a_cycle_with_a_neighbour_would_be_seen(tmp_path: Path, edge: str) -> None:
    """The two tests above can fail: each of these lines closes a cycle through network-online.target (R62)."""
    make_tree(tmp_path, "openshift")
    unit = tmp_path / "usr/lib/systemd/system/nodenetd.service"
    unit.write_text(unit.read_text().replace("[Unit]\n", f"[Unit]\n{edge}\n"))
    for started in ("multi-user.target",), STARTED:
        assert any("ordering cycle" in line for line in cycles(tmp_path, *started)), started


@pytest.mark.parametrize("kind", NODES)
def test_systemd_understands_every_fact(tmp_path: Path, kind: str) -> None:
    """A misspelt key or a missing unit type would order nothing."""
    make_tree(tmp_path, kind)
    command = ["systemd-analyze", f"--root={tmp_path}", "--man=no", "verify", "multi-user.target"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if "Unknown" in line or "Failed to parse" in line] == []
