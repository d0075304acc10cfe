"""nodenetctl without a reader: units and scripts depend on the exit code, also when an output is lost."""

from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cli.test_main import environment
from nodenet.cli import outputs
from nodenet.cli.outputs import Table, printable, seconds
from nodenet.core.boot.outcome import Facts, Failed
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


# Tables for a terminal or a mail.


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    table = Table(("LINK", "ADDRESS", "BECAUSE"))
    table.add(("eth0", "192.0.2.5/24", "a reason"))
    table.add(("a-long-name", "::1/128", ""), "2")
    assert table.render(coloured=False).splitlines() == [
        "LINK         ADDRESS       BECAUSE",
        "eth0         192.0.2.5/24  a reason",
        "a-long-name  ::1/128",
    ]


def test_a_row_has_its_colour_on_a_terminal_only() -> None:
    """The headings are bold (ECMA-48, SGR 1)."""
    table = Table(("LINK",))
    table.add(("eth0",), "1;32")
    table.add(("eth1",))
    assert table.render(coloured=True).splitlines() == ["\x1b[1mLINK\x1b[0m", "\x1b[1;32meth0\x1b[0m", "eth1"]
    assert "\x1b" not in table.render(coloured=False)


def test_what_could_control_a_terminal_is_replaced() -> None:
    """Escape sequences, line ends, lone surrogates; letters of any language stay (R40)."""
    assert printable("a\x1b[2Jb\r\n\udc80\u202eé名") == "a?[2Jb????é名"


# Lengths of time on the command line.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90),
        ("0", 0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5s", 5),
        ("5 s", 5),
        ("250ms", 0.25),
        ("2min", 120),
        ("1h", 3600),
    ],
)
def test_a_length_of_time_has_a_unit_or_is_in_seconds(text: str, expected: float) -> None:
    """As systemd's programs take it (R59)."""
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "s", "-5", "5d", "nan", "inf", "5s5s"])
def test_anything_else_is_refused(text: str) -> None:
    sentence = f"{text!r} is not a valid number of seconds \\(examples: 90, 5s, 2min\\)"
    with pytest.raises(argparse.ArgumentTypeError, match=f"^{sentence}$"):
        seconds(text)


def test_a_terminal_of_80_columns_shows_every_word() -> None:
    """A serial console does not fold lines; into a pipe they are not folded, for programs that read them."""
    text = ["  problem     " + "word " * 40, "short", ""]
    found = list(outputs.wrapped(text, 14, 80))
    assert max(map(len, found)) <= 80
    assert " ".join(" ".join(found).split()) == " ".join(" ".join(text).split())
    assert found[1].startswith(" " * 14 + "word")
    assert found[-2:] == ["short", ""]
    assert list(outputs.folded(text, 14)) == text


STATUS = "from nodenet.cli.outputs import has_colours; import sys; sys.exit(not has_colours())"


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_a_terminal_whose_user_wants_them(variables: dict[str, str], *, coloured: bool) -> None:
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"} | variables
    command = [sys.executable, "-c", STATUS]
    ours, theirs = pty.openpty()
    done = subprocess.run(command, env=environment, stdout=theirs, check=False)
    os.close(ours)
    os.close(theirs)
    assert (done.returncode == 0) is coloured
    assert subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False).returncode == 1


@pytest.mark.parametrize(("variables", "begin"), [({}, b"\x1b[33mdegraded ("), ({"NO_COLOR": "1"}, b"degraded (")])
def test_the_health_has_a_colour_and_every_line_fits(tmp_path: Path, variables: dict[str, str], begin: bytes) -> None:
    """On a serial console of 80 columns, from the first word."""
    (tmp_path / "state.json").write_text(json.dumps(DEGRADED))
    command = [sys.executable, "-m", "nodenet.cli.main", "status", "--file", str(tmp_path / "state.json")]
    given = {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "vt100", "COLUMNS": "80"} | variables
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=given, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the program has ended
            while part := os.read(ours, 4096):
                shown += part
        assert process.wait() == 2
    os.close(ours)
    assert shown.startswith(begin), shown
    assert max(len(line.decode()) for line in shown.splitlines()[1:]) <= 80
