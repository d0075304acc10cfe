"""`nodenetctl claims`: words that do not belong together. What it prints is in tests/cni/test_bus_object.py."""

from __future__ import annotations

import pytest

from nodenet.cli.main import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain"], "explain takes NAMESPACE/NAME of a claim. Run `nodenetctl claims` to see all"),
        (["explain", "vm.blue"], "explain takes NAMESPACE/NAME of a claim. Run `nodenetctl claims` to see all"),
        (["check", "team/vm.blue"], "check takes no claim. Run `nodenetctl claims explain NAMESPACE/NAME`"),
        (["check", "--network", "blue"], "check takes no --network. Run it without"),
        (["--repair"], "--repair belongs to check. Run `nodenetctl claims check --repair`"),
        (["--dry-run"], "--kubeconfig and --dry-run belong to import. Run `nodenetctl claims import`"),
        (["import", "--json"], "import has no --json. Run it without"),
        (["import"], "import needs the kubeconfig of an administrator. Add --kubeconfig FILE"),
        (["explain", "a/b", "--repair"], "--repair belongs to check. Run `nodenetctl claims check --repair`"),
    ],
)
def test_words_that_do_not_belong_together(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert main(["claims", *words]) == 64
    assert capsys.readouterr().err == f"nodenetctl: {said}\n"


def test_another_order_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "release"]) == 64
    assert "invalid choice: 'release'" in capsys.readouterr().err
