"""nodenetctl without a reader: units and scripts depend on the exit code, also when an output is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.test_main import environment
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Failed
from status_cases import DEGRADED, GOOD, PROBLEM, boot

FAILED = boot(Failed(PROBLEM, Facts()))
TROUBLED = DEGRADED | {"health": "failed", "last_error": {"cause": "mtu is 1500", "remedy": "Compare it"}}
LOST = {"a reader that left": "", "closed": "exec {stream}>&-; "}


def lose(stream: int, how: str, *words: object, unbuffered: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run nodenetctl with its output *stream* lost; *unbuffered*: that is met with the first line, not at the end."""
    program = " ".join([f"exec {sys.executable} -m nodenet.cli.main", *map(str, words)])
    reader, writer = os.pipe()
    os.close(reader)
    outputs: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    outputs["stdout" if stream == 1 else "stderr"] = writer
    command = ["/bin/sh", "-c", LOST[how].format(stream=stream) + program]
    given = environment() | {"PYTHONUNBUFFERED": unbuffered}
    try:
        return subprocess.run(command, **outputs, check=False, env=given)
    finally:
        os.close(writer)


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize(
    ("now", "words", "code"),
    [
        (TROUBLED, ["nodeip", "--timeout=0"], 0),
        (TROUBLED, ["hosted-services", "--timeout=0"], 0),
        (FAILED, ["nmstate"], 1),
        (TROUBLED | {"stages": []}, None, 75),
    ],
)
def test_a_gate_stays_as_shut_as_its_stage(
    tmp_path: Path, how: str, now: dict[str, Any], words: list[str] | None, code: int
) -> None:
    """nodenet-wait@.service goes by this code, and its standard error is lost with journald."""
    if words is None:
        stages = [stage | {"status": "pending"} for stage in GOOD["stages"]]
        now, words = now | {"stages": stages}, ["nodeip", "--timeout=0.3"]
    state = tmp_path / "state.json"
    state.write_text(json.dumps(now))
    assert lose(2, how, "wait", *words, "--file", state).returncode == code


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize(("now", "code"), [(GOOD, 0), (DEGRADED, 2), (FAILED | {"health": "failed"}, 1)])
def test_the_exit_code_is_that_of_the_health_without_a_reader(
    tmp_path: Path, how: str, now: dict[str, Any], code: int
) -> None:
    """`status | true` with pipefail."""
    state = tmp_path / "state.json"
    state.write_text(json.dumps(now))
    done = lose(1, how, "status", "--file", state)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("how", LOST)
def test_a_bad_file_is_65_though_nobody_reads_why(tmp_path: Path, how: str, stream: int) -> None:
    pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")
    (tmp_path / "bad.yml").write_text("interfaces: [")
    assert lose(stream, how, "check", tmp_path).returncode == 65


@pytest.mark.parametrize("words", [["dance"], ["wait", "dinner"]], ids=" ".join)
@pytest.mark.parametrize("how", LOST)
def test_a_wrong_command_line_is_64_in_the_dark_too(how: str, words: list[str]) -> None:
    assert lose(2, how, *words).returncode == 64


def test_a_verdict_that_was_cut_short_is_no_success(tmp_path: Path) -> None:
    """If the reader left before the code was known, it is 74; for a verb that only prints it is 0."""
    state = tmp_path / "state.json"
    state.write_text(json.dumps(FAILED))
    how = "a reader that left"
    assert lose(1, how, "status", "--file", state, unbuffered="1").returncode == 74
    assert lose(1, how, "settings", "--directory", tmp_path, unbuffered="1").returncode == 0
    assert lose(1, how, "status", "--help", unbuffered="1").returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("verb", ["boot-report", "status"])
def test_an_output_of_few_letters_is_no_traceback(encoding: str, verb: str) -> None:
    """What the encoding lacks is escaped."""
    program = [sys.executable, "-m", "nodenet.cli.main", verb, "--help"]
    given = environment() | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(program, capture_output=True, check=False, env=given)
    assert (done.returncode, done.stderr) == (0, b"")
    assert verb.encode() in done.stdout
