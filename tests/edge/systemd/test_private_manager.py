"""What `systemctl show` prints, read while the system bus is down."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.errors import Unavailable
from nodenet.core.node_ip.published_files import UnitEnvironment
from nodenet.edge.systemd.units import environment, parse_shown, parse_states

SHOWN = """LoadState=loaded
Environment="SPACES=a b" KUBELET_NODE_IP=192.0.2.5
UnsetEnvironment=KUBELET_NODE_IP "A=b c"
EnvironmentFiles=/etc/os-release (ignore_errors=no)
EnvironmentFiles=/etc/kubernetes/kubelet-env (ignore_errors=yes)
FragmentPath=/usr/lib/systemd/system/kubelet.service
ExecStart={ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet $KUBELET_EXTRA_ARGS --v=2 ; ignore_errors=no ; pid=0 }
DropInPaths=/etc/systemd/system/kubelet.service.d/10-a.conf /etc/systemd/system/kubelet.service.d/20-nodenet.conf
"""


def test_the_environment_of_a_unit_is_read() -> None:
    """As over D-Bus: variables, files and drop-ins in their order (R14)."""
    directory = PurePosixPath("/etc/systemd/system/kubelet.service.d")
    assert parse_shown(SHOWN) == UnitEnvironment(
        {"SPACES": "a b", "KUBELET_NODE_IP": "192.0.2.5"},
        (PurePosixPath("/etc/os-release"), PurePosixPath("/etc/kubernetes/kubelet-env")),
        (
            PurePosixPath("/usr/lib/systemd/system/kubelet.service"),
            *(directory / "10-a.conf", directory / "20-nodenet.conf"),
        ),
        removals=("KUBELET_NODE_IP", "A=b c"),
        command=("/usr/bin/kubelet", "$KUBELET_EXTRA_ARGS", "--v=2"),
    )


def test_a_value_that_only_bash_can_read_hides_no_other_one() -> None:
    """An apostrophe beside a line break: kubelet would be held back for ever while the bus is down (R14)."""
    text = "LoadState=loaded\nEnvironment=$'NOTE=it\\'s\\nlong' KUBELET_NODE_IP=192.0.2.5\n"
    shown = parse_shown(text)
    assert shown
    assert shown.variables["KUBELET_NODE_IP"] == "192.0.2.5"


def test_a_unit_without_any_of_them() -> None:
    assert parse_shown("LoadState=loaded\nEnvironment=\nDropInPaths=\n") == UnitEnvironment({})


@pytest.mark.parametrize("text", ["LoadState=not-found\nEnvironment=A=1\n", "LoadState=masked\n", ""])
def test_a_unit_that_is_not_there_has_none(text: str) -> None:
    assert parse_shown(text) is None


@pytest.mark.parametrize(
    ("states", "runs"),
    [
        (("inactive", "inactive"), False),
        (("inactive", "failed"), False),
        (("active", "inactive"), True),
        (("inactive", "activating"), True),
        (("inactive",), None),
        ((), None),
    ],
)
def test_which_units_run_is_read(states: tuple[str, ...], runs: object) -> None:
    """Where systemctl names fewer units than were asked for, nothing is known."""
    assert parse_states("\n\n".join(f"ActiveState={state}" for state in states) + "\n", 2) is runs


async def test_a_systemctl_that_does_not_start_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where no more processes can be started: that may pass."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="systemctl does not start: No such file or directory"):
        await environment("kubelet.service")


@pytest.mark.parametrize(("word", "needed"), [("yes", True), ("no", False)])
def test_whether_systemd_has_read_the_files_is_read(word: str, needed: object) -> None:
    """NeedDaemonReload, as over D-Bus."""
    shown = parse_shown(f"LoadState=loaded\nNeedDaemonReload={word}\n")
    assert shown
    assert shown.needs_reload is needed
