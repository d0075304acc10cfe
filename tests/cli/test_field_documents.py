"""Documents as people write them: `check` and `day-one check` give the verdict that stands in the first line of each.

``# verdict: good``, or the severity and words of the finding. The second line names the public report.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nodenet.cli.main import main

pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")

DOCUMENTS = sorted((Path(__file__).parents[2] / "fixtures" / "field_documents").glob("*.yml"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_both_checks_give_the_verdict(document: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = document.read_text(encoding="utf-8").splitlines()[0].removeprefix("# verdict: ")
    severity, _, words = verdict.partition(" ")
    (tmp_path / "worker-0.yml").write_bytes(document.read_bytes())
    (tmp_path / "worker-0.yml").chmod(0o600)
    code = main(["check", "--json", str(tmp_path)])
    (file,) = json.loads(capsys.readouterr().out)["files"]
    second = main(["day-one", "check", str(tmp_path), "--step", "second", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert code == second == (65 if severity == "error" else 0)
    for found in (file["findings"], findings):
        said = [f"{each['severity']}: {each['cause']}. {each['remedy']}" for each in found]
        expected = [] if severity == "good" else [line for line in said if line.startswith(severity) and words in line]
        assert said == expected
        assert bool(said) is (severity != "good")
