"""Documents as people write them: `check`, `day-one check` and nodenetd give the verdict in the first line of each.

``# verdict: good``, or the severity and words of the finding. The second line names the public report.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest

from fakes import FakeFiles
from nodenet.cli.main import main
from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.finding import errors
from nodenet.edge.nmstate.client import Nmstate
from nodenet.stages.apply.node_file import NodeFiles, all_findings

pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
async def test_nodenetd_refuses_the_same_before_it_touches_the_network(document: Path) -> None:
    """As far as that is known without the host: what a boot reads, and what a reload asks libnmstate."""
    content = document.read_bytes()  # noqa: ASYNC240 - nothing else runs
    severity, _, words = content.decode().splitlines()[0].removeprefix("# verdict: ").partition(" ")
    nmstate = Nmstate()
    files = NodeFiles(FakeFiles({str(DIRECTORY / "worker-0.yml"): content}), nmstate, DIRECTORY)
    file = files.read("worker-0.yml", "worker-0")
    said: list[str] = []
    try:
        await files.wanted(file, files.find("worker-0"))
        async with nmstate.transaction() as transaction:
            said = [f"{each.cause}. {each.remedy}" for each in errors((await all_findings(file, transaction)).findings)]
    except NodeFileInvalid as error:
        said = [f"{error.cause}. {error.remedy}"]
    assert bool(said) is (severity == "error")
    assert all(words in each for each in said)
