"""`nodenetctl hosted` and `nodenetctl explain vip`: what is printed, and the exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from core.hosted_services.test_report import GOOD
from nodenet.cli import explain_hosted
from nodenet.cli.hosted import NOT_REPORTED
from nodenet.cli.main import main
from nodenet.core.hosted_services.report import document

DAEMON = str(Path(__file__).parents[2] / "daemon")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "status.json"
    path.write_text(json.dumps(document(GOOD)))
    return path


def test_the_screen_and_the_document(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hosted", "--file", str(report)]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "ok: self-hosted, SelfHosted (master-0, control-plane)",
        "api-int   192.0.2.2 (from the API VIP), the API answers there",
        "VIP       192.0.2.2       api      held by master-1",
    ]
    assert main(["hosted", "--json", "--file", str(report)]) == 0
    assert json.loads(capsys.readouterr().out) == document(GOOD)


@pytest.mark.parametrize(("health", "code"), [("ok", 0), ("disabled", 0), ("degraded", 2), ("progressing", 1)])
def test_the_exit_code_is_that_of_the_health(report: Path, health: str, code: int) -> None:
    report.write_text(json.dumps(document(GOOD) | {"health": health}))
    assert main(["hosted", "--file", str(report)]) == code


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"health": "ok"}'])
def test_without_a_report_it_says_so(tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "status.json"
    if content is not None:
        path.write_bytes(content)
    assert main(["hosted", "--file", str(path)]) == 1
    assert capsys.readouterr().err == f"{NOT_REPORTED}\n"


@pytest.mark.parametrize(
    ("topic", "first"),
    [
        ("vip", "The api VIP 192.0.2.2 is held by master-1"),
        ("api-int", "api-int is 192.0.2.2"),
        ("hosted", "dnsmasq runs: every node answers the cluster's names itself"),
    ],
)
def test_a_topic_is_explained(report: Path, topic: str, first: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_hosted.run(Namespace(topic=topic, file=report)) == 0
    assert capsys.readouterr().out.splitlines()[0] == first


def test_nothing_is_explained_without_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_hosted.run(Namespace(topic="vip", file=tmp_path / "none")) == 1
    assert NOT_REPORTED in capsys.readouterr().err


def test_each_change_is_printed_until_interrupted(report: Path) -> None:
    # A shell starts what runs in its background with SIGINT ignored, and the tests may run there.
    python = ["/usr/bin/env", "--default-signal=INT", sys.executable, "-m"]
    command = [*python, "nodenet.cli.main", "hosted", "--watch", "--file", str(report)]
    with subprocess.Popen(command, env={"PYTHONPATH": DAEMON}, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline().startswith("ok: self-hosted")
            report.write_text(json.dumps(document(GOOD) | {"health": "degraded", "problems": ["a problem"]}))
            shown = (line for line in process.stdout if line.startswith("degraded: self-hosted"))
            assert next(shown)
        finally:
            process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 130


def test_control_characters_of_a_report_do_not_reach_the_terminal(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report.write_text(json.dumps(document(GOOD) | {"problems": ["\x1b[2Jgone"]}))
    main(["hosted", "--file", str(report)])
    assert "\x1b" not in capsys.readouterr().out


def test_printing_imports_no_bus() -> None:
    """The screen is there without D-Bus."""
    code = "import sys, nodenet.cli.hosted; sys.exit('dbus_next' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": DAEMON}, check=False).returncode == 0
