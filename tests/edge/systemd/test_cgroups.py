"""Does a unit have processes, and with which variables? As the kernel writes cgroup.events, cgroup.procs and /proc."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nodenet.edge.systemd.cgroups import environment, has_processes, kubelet_arguments


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


def listed(path: Path, *processes: int) -> Path:
    """Return a tree in which kubelet has *processes*."""
    group = tree(path, "kubelet.service", "populated 1\n") / "system.slice/kubelet.service"
    (group / "cgroup.procs").write_text("".join(f"{number}\n" for number in processes))
    return path


def test_the_variables_are_those_of_the_oldest_process(tmp_path: Path) -> None:
    """Of the real /proc: a process that kubelet started itself may have other variables."""
    first, second = (
        subprocess.Popen(["sleep", "60"], env={"KUBELET_NODE_IP": address}) for address in ("192.0.2.5", "192.0.2.6")
    )
    try:
        group = listed(tmp_path, second.pid, first.pid, 2**22 + 1)
        assert environment("kubelet.service", group) is None, "a process that just began may still be systemd's own"
        old = tmp_path / "proc"
        for number, began in ((first.pid, 500), (second.pid, 501)):
            (old / str(number)).mkdir(parents=True)
            (old / str(number) / "environ").symlink_to(f"/proc/{number}/environ")
            text = Path(f"/proc/{number}/stat").read_text()
            fields = text.rpartition(")")[2].split()
            fields[19] = str(began)
            (old / str(number) / "stat").write_text(f"{number} (a ) b) {' '.join(fields)}")
        found = environment("kubelet.service", group, old)
        assert found is not None
        assert found["KUBELET_NODE_IP"] == "192.0.2.5"
    finally:
        for process in (first, second):
            process.kill()
            process.wait()


def test_a_unit_without_processes_has_no_variables(tmp_path: Path) -> None:
    assert environment("kubelet.service", listed(tmp_path)) is None
    assert environment("crio.service", tmp_path) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/usr/bin/kubelet\0--node-ip=192.0.2.5\0", ("/usr/bin/kubelet", "--node-ip=192.0.2.5")),
        ("/snap/microk8s/1/kubelite\0--kubelet-args-file={file}\0", ("--config=/k", "--node-ip=192.0.2.7")),
        ("/snap/microk8s/1/kubelite\0--kubelet-args-file={file}.none\0", ()),
        ("/usr/local/bin/k3s server\0\0\0", None),
        ("/usr/bin/sh\0kubelet\0", None),
        ("", None),
    ],
)
def test_the_arguments_are_those_of_a_program_that_is_a_kubelet(tmp_path: Path, command: str, expected: object) -> None:
    file = tmp_path / "kubelet"
    file.write_text("--config=/k\n--node-ip=192.0.2.7\n")
    process = tmp_path / "proc/7"
    process.mkdir(parents=True)
    (process / "stat").write_text(f"7 (kubelet) S {' '.join(['1'] * 40)}")
    (process / "cmdline").write_text(command.format(file=file))
    assert kubelet_arguments("kubelet.service", listed(tmp_path, 7, 8), tmp_path / "proc") == expected
