"""nodenetctl explain hostname: every source with its verdict, with neither daemon nor bus."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from nodenet.cli import explain_hostname
from nodenet.cli.main import main

NOBODY = ["--no-dns", "--root"]


@pytest.fixture(autouse=True)
def no_bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine's own bus is none of this test's business."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/nobody")


def host(root: Path, **files: str) -> str:
    for name, content in {"etc/hostname": "", "proc/cmdline": "", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return str(root)


def test_every_source_has_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the answer stands below them."""
    root = host(tmp_path, **{"etc/hostname": "Worker-0.\n", "proc/cmdline": "ro systemd.hostname=localhost"})
    assert main(["explain", "hostname", *NOBODY, root]) == 0
    text = capsys.readouterr().out
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "selected" in rows["static"]
    assert "transient" in rows
    assert "absent" in rows["dhcp"]
    assert "refused" in rows["command-line"]
    assert text.rstrip().endswith("The host name is worker-0.")


def test_the_document_names_every_source_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For programs."""
    assert main(["explain", "hostname", "--json", *NOBODY, host(tmp_path, **{"etc/hostname": "worker-0"})]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["hostname"] == "worker-0"
    assert {"source", "where", "value", "name", "verdict", "because"} == set(document["sources"][0])


def test_a_host_without_a_name_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is in force was made up."""
    root = host(tmp_path, **{"run/systemd/default-hostname": socket.gethostname()})
    assert main(["explain", "hostname", *NOBODY, root]) == 1
    answer = capsys.readouterr().out.splitlines()[-1]
    assert answer == "This node has no host name yet: no source gives a valid one."


def test_dns_that_does_not_answer_is_waited_for_together_and_no_longer() -> None:
    """One time for all addresses, a second at most (R61)."""
    answered = threading.Event()
    lookups = [threading.Thread(target=answered.wait, daemon=True) for _ in range(8)]
    for lookup in lookups:
        lookup.start()
    assert not explain_hostname._ended(lookups, 0.05)
    assert all(lookup.is_alive() for lookup in lookups)
    answered.set()
    assert explain_hostname._ended(lookups, 60.0)
    assert explain_hostname.DNS_SECONDS <= 1.0
