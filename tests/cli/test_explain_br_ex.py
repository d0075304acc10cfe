"""Does `nodenetctl explain br-ex` tell a person and a program the same, from a file, without touching anything?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from br_ex_cases import CASES, expected_of

ROOT = Path(__file__).parents[2]


def explain(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run `nodenetctl explain br-ex` as a whole process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    command = [sys.executable, "-m", "nodenet.cli.main", "explain", "br-ex", *words]
    return subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)


def of_case(name: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    return explain("--snapshot", str(CASES / name / "facts.json"), *words)


def test_a_person_gets_the_reason_and_two_documents() -> None:
    """Plan and difference are documents of a YAML stream, everything else is a comment."""
    done = of_case("dual-stack-dhcp-and-ra")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "# br-ex goes over eth0, because the node IP 10.88.0.113 is on it."
    assert "static at first" in lines[2]
    plan, difference = YAML(typ="safe", pure=True).load_all(done.stdout)
    assert plan == expected_of(CASES / "dual-stack-dhcp-and-ra")["document"]
    assert {item["name"] for item in difference["interfaces"]} == {"eth0", "br-ex"}


def test_a_program_gets_json() -> None:
    document = json.loads(of_case("sysctls", "--json").stdout)
    assert document["schema_version"] == 1
    assert document["uplinks"][0]["rule"] == "node-ip"
    assert document["sysctls"] == {"br-ex": {"net/ipv4/conf/forwarding": "1", "net/ipv4/conf/rp_filter": "2"}}
    assert document["difference"]["interfaces"]


def test_a_bridge_that_stands_makes_no_difference() -> None:
    done = of_case("standing-ours", "--datapath", "netdev")
    assert "# br-ex is there, made by nodenet." in done.stdout.decode().splitlines()
    assert done.stdout.decode().splitlines()[-2:] == ["# That would change nothing.", "{}"]


def test_what_does_not_fit_is_named() -> None:
    text = of_case("stale-port-without-link").stdout.decode()
    assert "#   port-without-link: the port eth7 of br-ex needs the link eth7" in text
    assert "(nodenetd repairs it)." in text


def test_a_snapshot_may_come_from_a_pipe() -> None:
    facts = (CASES / "mtu-9000" / "facts.json").read_bytes()
    assert b"mtu: 9000" in explain("--snapshot", "-", stdin=facts).stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refused-empty-file", "/etc/ovnk/default_bridge is empty. Write the name of one link"),
        ("refused-unknown-link", "names 'eno1np0', and this node has no such link. Name one of the links it has: eth0"),
        ("refused-extra-is-the-uplink", "/etc/ovnk/extra_bridge names eth0, which is the uplink of br-ex already"),
    ],
)
def test_a_refusal_exits_65_with_file_and_remedy(name: str, said: str) -> None:
    done = of_case(name)
    assert done.returncode == 65
    assert not done.stdout
    assert said in done.stderr.decode()


def test_a_bad_file_is_named_with_the_place() -> None:
    done = explain("--snapshot", "-", stdin=b'{"devices": [{"kind": "ethernet"}]}')
    assert done.returncode == 65
    assert b"$.devices[0].link" in done.stderr
    missing = explain("--snapshot", "/nonexistent")
    assert missing.returncode == 65
    assert b"/nonexistent cannot be read" in missing.stderr


def test_a_stranger_cannot_steer_the_terminal() -> None:
    facts = json.loads((CASES / "dhcp4" / "facts.json").read_text())
    facts["sysctls"] = {"default": {}, "eth0": {"net/ipv4/conf/x": "\x1b]0;owned\x07"}}
    assert b"\x1b" not in explain("--snapshot", "-", stdin=json.dumps(facts).encode()).stdout


@pytest.mark.parametrize(
    "damage",
    [
        lambda facts: facts["state"].pop("interfaces", None),
        lambda facts: facts["state"].update(interfaces=[{"ipv4": 7}]),
        lambda facts: facts["state"].update(routes={"running": ["x"]}),
    ],
)
def test_damaged_facts_are_no_traceback(damage: Callable[[dict[str, Any]], Any]) -> None:
    """The help promises 65 for a file that is not valid (S10)."""
    facts = json.loads((CASES / "dhcp4" / "facts.json").read_text())
    damage(facts)
    done = explain("--snapshot", "-", stdin=json.dumps(facts).encode())
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 65)


def test_a_direction_mark_does_not_reach_the_terminal() -> None:
    text = (CASES / "dhcp4" / "facts.json").read_text().replace("eth0", "eth\\u202e0")
    assert "\u202e" not in explain("--snapshot", "-", stdin=text.encode()).stdout.decode()
