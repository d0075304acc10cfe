"""`nodenetctl day-one from-csv`: one document and a table give the node file of each host."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.cli.main import main

DOCUMENT = """\
interfaces:
- name: enp2s0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: $(address)
      prefix-length: 24
dns-resolver:
  config:
    server: [192.0.2.53]
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 192.0.2.1
    next-hop-interface: enp2s0
"""


def files(tmp_path: Path, rows: str, document: str = DOCUMENT) -> list[str]:
    (tmp_path / "cluster.yml").write_text(document)
    (tmp_path / "inventory.csv").write_text(rows)
    (tmp_path / "nodes").mkdir()
    shared = ["--file", str(tmp_path / "cluster.yml"), "--out", str(tmp_path / "nodes")]
    return ["day-one", "from-csv", str(tmp_path / "inventory.csv"), *shared]


def test_each_host_gets_its_file(tmp_path: Path) -> None:
    """An inventory has columns that no document asks for; the made files pass the check."""
    rows = "host;rack;address\nworker-0;a;192.0.2.10\nWorker-1.;b;192.0.2.11\n"
    assert main(files(tmp_path, rows)) == 0
    made = {path.name: path.read_text() for path in (tmp_path / "nodes").iterdir()}
    assert sorted(made) == ["worker-0.yml", "worker-1.yml"]
    assert "    - ip: 192.0.2.11\n" in made["worker-1.yml"]
    assert main(["day-one", "check", str(tmp_path / "nodes"), "--strict"]) == 0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("mac,address\n52:54:00:00:00:01,192.0.2.10\n", "inventory.csv, line 2 has no host"),
        ("host,adress\nworker-0,192.0.2.10\n", "has no column 'address'"),
        ("host,address\nworker-0,192.0.2.300\n", "this is not an IP address"),
        ("host,address\n", "inventory.csv has no row"),
        ("host,address\nw,192.0.2.9\nCluster,192.0.2.10\n", "line 3, column host: cluster.yml would be the file of ev"),
        ("host,address\nw,192.0.2.9\nw.,192.0.2.10\n", "line 3, column host: w.yml is there already"),
    ],
)
def test_nothing_is_written_if_one_host_is_wrong(
    rows: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(files(tmp_path, rows)) == 65
    assert said in capsys.readouterr().err
    assert list((tmp_path / "nodes").iterdir()) == []


def test_a_document_that_was_not_filled_in_is_named_by_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cluster.yml").write_text(DOCUMENT)
    assert main(["day-one", "check", str(tmp_path)]) == 65
    assert "nodenetctl day-one from-csv" in capsys.readouterr().err


def test_hosts_with_one_address_become_no_artefact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `day-one check` says it."""
    assert main(files(tmp_path, "host,address\na,192.0.2.5\nb,192.0.2.5\n")) == 65
    assert "gives another host the same address" in capsys.readouterr().err
    assert list((tmp_path / "nodes").iterdir()) == []
