"""`nodenetctl hosted` and `nodenetctl explain vip`: what is printed, and the exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from core.hosted_services.test_report import GOOD
from nodenet.cli.hosted import NOT_REPORTED
from nodenet.cli.main import main
from nodenet.core.hosted_services.report import document


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


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b"\xff"])
def test_without_a_report_it_says_so(tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "status.json"
    if content is not None:
        path.write_bytes(content)
    assert main(["hosted", "--file", str(path)]) == 1
    assert capsys.readouterr().err == f"{NOT_REPORTED}\n"


def test_control_characters_of_a_report_do_not_reach_the_terminal(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report.write_text(json.dumps(document(GOOD) | {"problems": ["\x1b[2Jgone"]}))
    main(["hosted", "--file", str(report)])
    assert "\x1b" not in capsys.readouterr().out


def test_printing_imports_no_bus() -> None:
    """The screen is there without D-Bus."""
    import subprocess  # noqa: PLC0415

    code = "import sys, nodenet.cli.hosted; sys.exit('dbus_next' in sys.modules)"
    daemon = str(Path(__file__).parents[2] / "daemon")
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": daemon}, check=False).returncode == 0
