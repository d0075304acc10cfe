"""`nodenetctl status`: read from the state file alone."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nodenet.cli import status, wait
from nodenet.core.adoption.former_chain import PATH, Skip
from nodenet.core.boot.outcome import Problem
from nodenet.core.errors import SnapshotInvalid
from nodenet.core.messages import Message
from nodenet.core.status.document import ended
from status_cases import DEGRADED, GOOD, PROBLEM, WAITING, asked


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return where the state file is looked for."""
    return tmp_path / "state.json"


@pytest.mark.parametrize(("now", "code"), [(GOOD, 0), (DEGRADED, 2), (WAITING, 1)])
def test_the_exit_code_stands_for_the_health(state: Path, now: dict[str, Any], code: int) -> None:
    """0 ok, 2 degraded, 1 not ready: part of the contract."""
    state.write_text(json.dumps(now))
    assert status.run(asked(state)) == code


@pytest.mark.parametrize("content", [None, "", '{"torn'])
def test_without_a_report_the_node_is_not_ready(
    state: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    """A missing or torn file is not a crash."""
    if content is not None:
        state.write_text(content)
    assert status.run(asked(state)) == 1
    assert "systemctl status nodenetd" in capsys.readouterr().out


def test_a_person_reads_addresses_file_stages_and_the_problem(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the remedy, and where to read on."""
    state.write_text(json.dumps(DEGRADED))
    status.run(asked(state))
    assert capsys.readouterr().out.splitlines()[:10] == [
        "degraded (kubelet may run)",
        "  node IPs    none yet",
        "  bridge      none",
        f"  node file   worker-0.yml ({'a' * 12}), NOT applied; no node file is applied; host name worker-0",
        "  problem     nmstate: worker-0.yml: mtu is 1500",
        "  to do       Compare it with the NIC",
        f"  more        journalctl -xb MESSAGE_ID={PROBLEM.message.value}",
        "",
        "  hostname          done       1.50 s  done",
        "  nmstate           failed     1.50 s  worker-0.yml: mtu is 1500",
    ]


def test_json_is_the_document_itself(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing added, nothing lost."""
    state.write_text(json.dumps(GOOD))
    status.run(asked(state, json=True))
    assert json.loads(capsys.readouterr().out) == GOOD


def test_a_wait_ends_where_systemd_skips_nodenetd(tmp_path: Path) -> None:
    """Without a time limit: exit code 1, the reason and what helps."""
    systemctl = tmp_path / "systemctl"
    systemctl.write_text("#!/bin/sh\necho LoadState=masked\n")
    systemctl.chmod(0o755)
    words = ["status", "--wait", "--file", str(tmp_path / "state.json")]
    done = subprocess.run(
        [sys.executable, "-m", "nodenet.cli.main", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    said = f"nodenetd does not start: its unit is masked. {Skip.MASKED.remedy}.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, said, "")


def test_the_record_of_an_adoption_is_looked_for_where_it_is() -> None:
    assert str(PATH) == status.ADOPTION


def test_a_daemon_that_ended_for_good_has_left_word(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cause and remedy for `status`; for who waits too, once, and the wait goes on: it may be mended."""
    problem = Problem(Message.SETTINGS_INVALID, "unknown key 'platfrom'", "Edit nodenet.toml")
    state.write_text(json.dumps(ended(None, "b", problem)))
    assert status.run(asked(state, wait=True)) == 1
    said = capsys.readouterr().out
    assert said.startswith("failed (kubelet is held back)")
    assert "  problem     unknown key 'platfrom'\n  to do       Edit nodenet.toml\n" in said
    assert wait.run(asked(state, timeout=1.0)) == 75
    assert capsys.readouterr().err.count("unknown key 'platfrom'. Edit nodenet.toml") == 1


@pytest.mark.parametrize("verb", [status, wait])
def test_the_time_that_is_over_is_75(state: Path, verb: Any) -> None:
    """With a document and without one (R59)."""
    assert verb.run(asked(state, wait=True)) == 75
    state.write_text(json.dumps(WAITING))
    assert verb.run(asked(state, wait=True)) == 75


def test_a_document_of_a_daemon_that_has_ended_is_old(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither ok nor ready: exit code 1, and how old it is (R56)."""
    state.write_text(json.dumps(GOOD))
    os.utime(state, (time.time() - 7, time.time() - 7))
    (state.parent / "lock").write_text("812\n")
    assert status.run(asked(state)) == 1
    text = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"nodenetd is not running; this status is [78] s old \(kubelet is held back\)", text[0])
    assert text[4:6] == [
        "  problem     nodenetd is not running, so nothing of this may be true any more",
        "  to do       See `systemctl status nodenetd`",
    ]
    assert status.run(asked(state, json=True)) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["health"], document["ready"], document["running"]["now"]) == ("failed", False, False)


def test_a_daemon_that_is_running_has_its_own_word(state: Path) -> None:
    """The lock is held, so the document is the present one (R56)."""
    state.write_text(json.dumps(GOOD))
    with (state.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert status.run(asked(state)) == 0
    assert status.run(asked(state)) == 1


def test_a_wait_gives_a_daemon_that_has_ended_time_to_be_restarted(state: Path) -> None:
    """And ends when it is ready again; within the time limit that is 75 (R56)."""
    state.write_text(json.dumps(GOOD))
    (state.parent / "lock").write_text("812\n")
    assert status.run(asked(state, wait=True, timeout=0.3)) == 75
    with (state.parent / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert status.run(asked(state, wait=True, timeout=5.0)) == 0


def test_nothing_that_controls_a_terminal_is_printed(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cause can contain what a file or another program wrote (R40)."""
    problem = DEGRADED["problems"][0] | {"cause": "\x1b]0;owned\x07 mtu", "remedy": "a\nb\udc80"}
    state.write_text(json.dumps(DEGRADED | {"problems": [problem], "last_error": problem}))
    status.run(asked(state))
    text = capsys.readouterr().out.splitlines()
    assert "  problem     nmstate: ?]0;owned? mtu" in text
    assert "  to do       a?b?" in text


@pytest.mark.parametrize("content", ["[]", "{}", '{"health": "ok"}', '{"health": "ok", "stages": 7, "ready": true}'])
def test_a_document_that_lacks_keys_is_invalid_input(state: Path, content: str) -> None:
    """And no traceback (S10)."""
    state.write_text(content)
    with pytest.raises(SnapshotInvalid, match=r"state\.json is damaged or incomplete"):
        status.run(asked(state))
