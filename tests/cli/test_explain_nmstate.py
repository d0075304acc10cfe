"""nodenetctl explain nmstate: the probes of the last apply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest  # noqa: TC002  (pytest reads the annotations)

from nodenet.cli.main import main
from nodenet.core.probes.questions import Answer, Kind, Look, Question
from nodenet.core.probes.verdict import report, verdict

GATEWAY, DNS = Question(Kind.GATEWAY, "192.0.2.1", "eth0"), Question(Kind.DNS, "192.0.2.53")


def written(path: Path, answer: Answer) -> str:
    before, after = Look({GATEWAY: Answer.YES}), Look({GATEWAY: answer, DNS: Answer.NO})
    document = report("worker-0.yml", before, after, verdict(before, after), {GATEWAY: 0.002})
    (path / "probes.json").write_text(json.dumps(document))
    return str(path / "probes.json")


def test_a_file_that_was_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nmstate", "--report", written(tmp_path, Answer.YES)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["before", "gateway", "192.0.2.1", "eth0", "answers", "0.002"],
        ["after", "gateway", "192.0.2.1", "eth0", "answers", "0.002"],
        ["after", "DNS", "server", "192.0.2.53", "-", "does", "not", "answer", "-"],
    ]
    assert lines[-2:] == ["worker-0.yml was kept.", "Not counted: the DNS server 192.0.2.53 does not answer."]


def test_a_file_that_was_rolled_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = Look({DNS: Answer.YES}), Look({DNS: Answer.NO})
    path = str(tmp_path / "probes.json")
    Path(path).write_text(json.dumps(report("worker-0.yml", before, after, verdict(before, after), {})))
    assert main(["explain", "nmstate", "--report", path]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "worker-0.yml is not kept.",
        "the DNS server 192.0.2.53 does not answer, and it answered before the apply.",
    ]
    assert main(["explain", "nmstate", "--json", "--report", path]) == 1
    assert json.loads(capsys.readouterr().out) == json.loads(Path(path).read_text())


def test_without_an_apply_there_is_nothing_to_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nmstate", "--report", str(tmp_path / "none")]) == 0
    said = "nodenetctl: nodenetd has applied no node file in this boot, or `probe_timeout` is 0\n"
    assert capsys.readouterr().err == said


def test_a_report_that_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "probes.json").write_text("{")
    assert main(["explain", "nmstate", "--report", str(tmp_path / "probes.json")]) != 0
    assert "cannot be read" in capsys.readouterr().err
