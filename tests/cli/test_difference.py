"""Does `nodenetctl explain node-ip --diff` print which verdicts change, and nothing else?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BEFORE = ROOT / "fixtures" / "node_ip" / "vip-subnet" / "snapshot.json"


def diff(*words: str, after: dict[str, Any] | bytes) -> subprocess.CompletedProcess[str]:
    """Compare the host of `vip-subnet` with another state, given on standard input."""
    content = after if isinstance(after, bytes) else json.dumps(after).encode()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    command = [sys.executable, "-m", "nodenet.cli.main", "explain", "node-ip", "--snapshot", str(BEFORE), "--diff", "-"]
    done = subprocess.run([*command, *words], input=content, capture_output=True, env=environment, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def document() -> dict[str, Any]:
    """Give a snapshot to change: eth0 with 192.0.2.5 and the default route, eth1 with 198.51.100.5."""
    found: dict[str, Any] = json.loads(BEFORE.read_text())
    return found


def test_equal_snapshots_exit_0_and_say_so(document: dict[str, Any]) -> None:
    """The order of the parts is no difference."""
    document["addresses"].reverse()
    done = diff(after=document)
    assert (done.returncode, done.stdout) == (0, "Nothing changes: the node IPs are 192.0.2.5.\n")


def test_an_address_that_goes_takes_the_choice_with_it(document: dict[str, Any]) -> None:
    for entry in document["addresses"]:
        entry["addr_info"] = [info for info in entry["addr_info"] if info["local"] != "192.0.2.5"]
    document["routes"].append({"dst": "default", "dev": "eth1", "metric": 500})
    done = diff(after=document)
    assert done.returncode == 1
    assert done.stdout.endswith("\nThe node IPs change from 192.0.2.5 to 198.51.100.5.\n")
    gone, chosen = (" ".join(line.split()) for line in done.stdout.splitlines()[1:3])
    assert gone == "eth0 192.0.2.5/24 selected (default-route) not there"
    assert chosen.startswith("eth1 198.51.100.5/24 rejected (no-default-route) selected (default-route) eth1 has the")


def test_a_program_gets_json(document: dict[str, Any]) -> None:
    document["links"][1]["flags"] = ["BROADCAST"]
    done = diff("--json", after=document)
    printed = json.loads(done.stdout)
    assert done.returncode == 1
    assert printed["schema_version"] == 1
    assert printed["equal"] is False
    assert printed["node_ips"] == {"before": ["192.0.2.5"], "after": []}
    (change,) = printed["changes"]
    assert (change["link"], change["address"], change["prefix_length"]) == ("eth0", "192.0.2.5", 24)
    assert (change["before"]["verdict"], change["before"]["rule"]) == ("selected", "default-route")
    assert (change["after"]["verdict"], change["after"]["rule"]) == ("rejected", "link-down")
    assert change["after"]["reason"] == "eth0 is down"


def test_an_address_that_comes_is_a_change_even_where_the_choice_stays(document: dict[str, Any]) -> None:
    document["addresses"][1]["addr_info"].append({"family": "inet", "local": "192.0.2.77", "prefixlen": 24})
    done = diff(after=document)
    assert done.returncode == 1
    assert "not there  eligible (outranked)  192.0.2.5 has the lower address" in done.stdout
    assert done.stdout.endswith("The node IPs stay 192.0.2.5; 1 verdict changes.\n")


def test_options_hold_for_both_sides(document: dict[str, Any]) -> None:
    """A hint on the link that does not change makes the change of the other one a matter of rules only."""
    document["routes"] = []
    assert "from 192.0.2.5 to none" in diff(after=document).stdout
    assert diff("--hint", "eth1", after=document).stdout.endswith(
        "The node IPs stay 198.51.100.5; 1 verdict changes.\n"
    )


def test_a_bad_other_snapshot_exits_65_and_is_named() -> None:
    done = diff(after=b'{"links": 1}')
    assert done.returncode == 65
    assert done.stderr.startswith("nodenetctl: -: The snapshot has 1 at $.links, a list was expected")


def test_standard_input_cannot_be_both() -> None:
    done = diff("--snapshot", "-", after=b"{}")
    assert done.returncode == 64
    assert "cannot both be read from standard input" in done.stderr
