"""nodenetctl as a program: what is imported, what is printed where, and the exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodenet import __version__
from nodenet.cli.main import VERBS, main
from unprivileged import unprivileged

DAEMON = Path(__file__).parents[2] / "daemon"
HEAVY = ("asyncio", "dbus_next", "pyroute2", "structlog", "ruamel", "libnmstate")


PROGRAM = """
import sys
from nodenet.cli.main import main
code = main(sys.argv[1:])
{after}
sys.exit(code)
"""
TWO_LINKS = Path(__file__).parents[2] / "fixtures" / "node_ip" / "vip-subnet" / "snapshot.json"
LIGHT = (
    ["version"],
    ["settings"],
    ["settings", "--json"],
    ["status"],
    ["wait", "nmstate", "--timeout=0"],
    ["explain", "node-ip", "--json"],
    ["explain", "node-ip", "--snapshot", str(TWO_LINKS)],
    ["explain", "br-ex", "--help"],
)


def nodenetctl(*words: str, after: str = "") -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(after=after)
    return subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, env=environment()
    )


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100", "NO_COLOR": "1"}


@pytest.mark.parametrize("words", LIGHT, ids=lambda words: " ".join(words[:3]))
def test_light_verbs_import_nothing_heavy(words: list[str]) -> None:
    """Status is asked for every few seconds by some people, and must work when half of the node does not."""
    loaded = nodenetctl(*words, after="print('\\n'.join(sys.modules), file=sys.stderr)").stderr.split()
    assert "nodenet.cli.main" in loaded
    assert [name for name in loaded if name.partition(".")[0] in HEAVY] == []


def test_the_command_line_needs_no_library() -> None:
    """Completions are made from it while installing, by a Python that has nothing but itself."""
    source = f"import sys; sys.path.insert(0, {str(DAEMON)!r}); from nodenet.cli.main import parser; parser()"
    subprocess.run([sys.executable, "-I", "-S", "-c", source], check=True)


def test_help_lists_every_verb_with_its_line() -> None:
    done = nodenetctl("--help")
    assert done.returncode == 0
    for verb, summary in VERBS.items():
        assert verb in done.stdout
        assert " ".join(summary.split()[:4]) in " ".join(done.stdout.split())


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    done = nodenetctl(verb, "--help")
    assert done.returncode == 0
    assert f"usage: nodenetctl {verb}" in done.stdout
    assert len(done.stdout.splitlines()) > 3


@pytest.mark.parametrize("words", [["dance"], ["version", "--loud"], ["wait", "dinner"]])
def test_a_wrong_command_line_is_64(words: list[str]) -> None:
    done = nodenetctl(*words)
    assert done.returncode == 64
    assert "usage: nodenetctl" in done.stderr
    assert done.stdout == ""


def test_without_a_verb_the_status_is_shown() -> None:
    assert nodenetctl().stdout == nodenetctl("status").stdout
    assert nodenetctl().returncode == nodenetctl("status").returncode


@pytest.mark.parametrize(
    ("word", "meant"), [("stat", " Did you mean `status`?"), ("explian", " Did you mean `explain`?"), ("dance", "")]
)
def test_a_word_that_is_no_verb_is_named_with_the_verb_that_is_meant(word: str, meant: str) -> None:
    done = nodenetctl(word)
    reason = f"nodenetctl: there is no verb '{word}'.{meant} `nodenetctl --help` lists them"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (64, reason)


def test_an_error_is_one_line_and_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "nodenet.toml").write_text('familes = "auto"\n')
    done = nodenetctl("settings", "--directory", str(tmp_path))
    assert done.returncode == 78
    assert done.stdout == ""
    path = tmp_path / "nodenet.toml"
    assert done.stderr == f"nodenetctl: {path}: unknown key 'familes' (did you mean 'families'?). Edit {path}\n"


@pytest.mark.parametrize("words", [["settings"], ["--help"], ["check", "--help"]], ids=" ".join)
def test_a_reader_that_leaves_is_no_error(words: list[str]) -> None:
    program = [sys.executable, "-m", "nodenet.cli.main", *words]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, check=False, env=environment())
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("verb", ["settings", "status", "snapshot", "monitor"])
def test_an_output_that_cannot_be_written_is_74(verb: str, unbuffered: str) -> None:
    """One line, whether the error comes with a line or at the end."""
    program = [sys.executable, "-m", "nodenet.cli.main", verb]
    with Path("/dev/full").open("w") as full:
        given = environment() | {"PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=given)
    assert done.returncode == 74
    assert done.stderr == "nodenetctl: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_output_is_no_traceback(closed: int, tmp_path: Path) -> None:
    """The exit code says it all."""
    command = f"exec {closed}>&-; exec {sys.executable} -m nodenet.cli.main settings --directory {tmp_path}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_that_is_closed_to_this_user_is_77(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state.json"
    state.write_text("{}")
    state.chmod(0)
    main(["status", "--file", "/nonexistent"])  # all that it imports
    capsys.readouterr()
    with unprivileged():
        assert main(["status", "--file", str(state)]) == 77
    assert capsys.readouterr() == ("", f"nodenetctl: {state}: Permission denied\n")


def test_the_version_is_an_option_too() -> None:
    """As every other program has it (R59)."""
    done = nodenetctl("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"nodenet {__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [["version", "--loud"], ["status", "--wiat"], ["bridge", "remove", "now"], ["explain", "hostname", "-x"]],
    ids=" ".join,
)
def test_a_mistake_in_a_verb_shows_the_usage_of_that_verb(words: list[str]) -> None:
    """And not the list of all verbs (R59)."""
    done = nodenetctl(*words)
    verb = " ".join(words[:-1])
    assert done.returncode == 64
    assert done.stderr.startswith(f"usage: nodenetctl {verb} [-h]")
    assert done.stderr.splitlines()[-1] == f"nodenetctl {verb}: unrecognized arguments: {words[-1]}"


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon", "-inf", "5 parsecs", "", "1e3", "inf"])
@pytest.mark.parametrize("verb", [["wait", "nmstate"], ["status", "--wait"]], ids=" ".join)
def test_a_time_that_is_none_is_64(verb: list[str], seconds: str) -> None:
    done = nodenetctl(*verb, f"--timeout={seconds}")
    assert done.returncode == 64
    sentence = f"argument --timeout: {seconds!r} is not a valid number of seconds (examples: 90, 5s, 2min)"
    assert done.stderr.splitlines()[-1] == f"nodenetctl {verb[0]}: {sentence}"
