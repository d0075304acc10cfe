"""Does `nodenetctl explain node-ip` print the same for people and programs, without daemon, bus or heavy imports?"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from nodenet.cli.main import parser

ROOT = Path(__file__).parents[2]
CASES = ROOT / "fixtures" / "node_ip"
TWO_LINKS = CASES / "vip-subnet" / "snapshot.json"


def nodenetctl(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command as a whole process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    command = [sys.executable, "-m", "nodenet.cli.main", *words]
    return subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)


def explain(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run `nodenetctl explain node-ip`."""
    return nodenetctl("explain", "node-ip", *words, stdin=stdin)


def test_a_person_gets_a_table_and_one_sentence() -> None:
    done = explain("--snapshot", str(TWO_LINKS), "--vip", "198.51.100.100")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["LINK", "ADDRESS", "VERDICT", "RULE", "BECAUSE"]
    assert lines[1].split(maxsplit=4) == [
        *("eth1", "198.51.100.5/24", "selected", "vip-subnet"),
        "VIP 198.51.100.100 is in its subnet",
    ]
    assert lines[-1] == "198.51.100.5 on eth1, because VIP 198.51.100.100 is in its subnet."
    assert b"\x1b" not in done.stdout


def test_a_program_gets_json() -> None:
    done = explain("--snapshot", str(TWO_LINKS), "--vip", "198.51.100.100", "--json")
    document = json.loads(done.stdout)
    assert document["schema_version"] == 1
    assert document["node_ips"] == ["198.51.100.5"]
    assert document["link"] == "eth1"
    assert document["matches_vip"] is True
    assert document["remote_worker"] is False
    assert {"address", "prefix_length", "link", "verdict", "rule", "source", "reason"} == set(document["candidates"][0])


@pytest.mark.parametrize(
    ("words", "node_ips"),
    [
        ((), ["192.0.2.5"]),
        (("--vip", "198.51.100.100"), ["198.51.100.5"]),
        (("--hint", "eth1"), ["198.51.100.5"]),
        (("--hint", "203.0.113.0/24", "--hint", "198.51.100.0/24"), ["198.51.100.5"]),
        (("--vip", "198.51.100.100", "--hint", "192.0.2.0/24"), ["192.0.2.5"]),
        (("--vip", "192.0.2.5"), []),
        (("--deny-link", "eth*"), []),
        (("--families", "ipv6"), []),
        (("--hint", "203.0.113.0/24", "--hint-required"), []),
    ],
)
def test_options_are_what_ifs(words: tuple[str, ...], node_ips: list[str]) -> None:
    done = explain("--snapshot", str(TWO_LINKS), "--json", *words)
    assert json.loads(done.stdout)["node_ips"] == node_ips
    assert done.returncode == (0 if node_ips else 1)


def test_the_order_of_families_and_the_preference() -> None:
    dual = str(CASES / "default-route-dual" / "snapshot.json")
    for words in (("--prefer-ipv6",), ("--families", "ipv6,ipv4")):
        assert json.loads(explain("--snapshot", dual, "--json", *words).stdout)["node_ips"][0] == "2001:db8::5"


def test_a_remote_worker_by_platform_and_load_balancer() -> None:
    words = ("--snapshot", str(TWO_LINKS), "--json", "--vip", "203.0.113.100", "--platform", "baremetal")
    assert json.loads(explain(*words).stdout)["remote_worker"] is True
    assert json.loads(explain(*words, "--user-managed-lb").stdout)["remote_worker"] is False


def test_another_pod_network_has_other_internals() -> None:
    ovn = str(CASES / "reject-ovn-internal" / "snapshot.json")
    addresses = json.loads(explain("--snapshot", ovn, "--json", "--network-type", "Calico").stdout)["candidates"]
    assert {item["address"]: item["rule"] for item in addresses}["fd69::2"] != "ovn-internal"


def test_a_snapshot_comes_from_standard_input_too() -> None:
    done = explain("--snapshot", "-", "--json", stdin=TWO_LINKS.read_bytes())
    assert json.loads(done.stdout)["node_ips"] == ["192.0.2.5"]


def test_nothing_eligible_says_what_is_waited_for() -> None:
    done = explain("--snapshot", str(CASES / "wait-dhcp" / "snapshot.json"))
    assert done.returncode == 1
    last = done.stdout.decode().splitlines()[-1]
    assert last == "There is no node IP: eth0 has carrier, no address yet (DHCP)."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--vip", "192.0.2"), "argument --vip: invalid IP address value: '192.0.2'"),
        (("--vip", "192.0.2.0/24"), "argument --vip: invalid IP address value"),
        (("--families", "ipv5"), "argument --families: invalid list of families value: 'ipv5'"),
        (("--families", "ipv4,ipv4"), "argument --families: invalid list of families value"),
        (("--hint", "192.0.2"), "--hint: '192.0.2' is not a valid node IP hint"),
        (("--nonsense",), "unrecognized arguments: --nonsense"),
    ],
)
def test_a_wrong_option_exits_64_and_is_named(words: tuple[str, ...], said: str) -> None:
    done = explain("--snapshot", str(TWO_LINKS), *words)
    assert done.returncode == 64
    assert said in done.stderr.decode()
    assert not done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"links": [', "nodenetctl: -: The snapshot is not JSON, line 1, column 12, at $.links[0]"),
        (
            b'{"links": [{"ifname": 3}]}',
            "nodenetctl: -: The snapshot has 3 at $.links[0].ifname, a string was expected",
        ),
        (b"\xff", "nodenetctl: -: The snapshot is not UTF-8"),
    ],
)
def test_a_bad_snapshot_exits_65_and_is_named(content: bytes, said: str) -> None:
    done = explain("--snapshot", "-", stdin=content)
    assert done.returncode == 65
    assert done.stderr.decode().startswith(said)
    assert b"Traceback" not in done.stderr


def test_fifty_megabytes_are_refused_with_little_memory(tmp_path: Path) -> None:
    """The limit of memory is less than what reading all of it would take."""
    file = tmp_path / "huge.json"
    entry = b'{"dst": "192.0.2.0/24", "dev": "eth0", "gateway": "192.0.2.1"},'
    file.write_bytes(b'{"routes": [' + entry * (50_000_000 // len(entry)) + b"{}]}")
    limited = f"ulimit -v 262144; exec {sys.executable} -m nodenet.cli.main explain node-ip --snapshot"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    for source in (str(file), f"- < {file}"):
        command = ["sh", "-c", f"{limited} {source}"]
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
        assert done.returncode == 65
        assert b"The snapshot is larger than 32 MiB. Only default routes" in done.stderr


def test_a_file_that_is_not_there_is_named() -> None:
    done = explain("--snapshot", "/nonexistent")
    assert done.returncode == 65
    assert done.stderr.decode().startswith("nodenetctl: /nonexistent cannot be read: No such file")


def test_a_terminal_gets_colours() -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    command = [sys.executable, "-m", "nodenet.cli.main", "explain", "node-ip", "--snapshot", str(TWO_LINKS)]
    with subprocess.Popen(command, stdout=follower, env=environment) as process:
        os.close(follower)
        out = b""
        # A terminal whose last writer has gone answers EIO.
        with contextlib.suppress(OSError):
            while more := os.read(leader, 65_536):
                out += more
        process.wait()
    os.close(leader)
    assert b"\x1b[1;32meth0  192.0.2.5/24" in out


def test_names_from_elsewhere_do_not_steer_the_terminal() -> None:
    document = json.loads(TWO_LINKS.read_text())
    for part in ("links", "addresses"):
        document[part][1]["ifname"] = "eth\x1b[2J\ud800"
    done = explain("--snapshot", "-", stdin=json.dumps(document).encode())
    assert done.returncode == 1
    assert b"eth?[2J?" in done.stdout
    assert b"\x1b" not in done.stdout
    assert not done.stderr


@pytest.mark.parametrize("option", ["--ignore-published", "--anew"])
def test_published_node_ips_can_be_ignored(option: str) -> None:
    """The former name of the option is accepted, and not shown."""
    assert parser().parse_args(["explain", "node-ip", option]).ignore_published
    assert b"--anew" not in explain("--help").stdout


@pytest.mark.parametrize("verb", [("explain",), ("explain", "node-ip"), ("snapshot",)])
def test_help_exits_0(verb: tuple[str, ...]) -> None:
    done = nodenetctl(*verb, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(b"usage: nodenetctl")


def test_the_output_of_ip_address_alone_is_explained() -> None:
    """And the missing routes are reported on standard error (R59)."""
    document = [{"ifname": "eth0", "addr_info": [{"local": "192.0.2.5", "prefixlen": 24}]}]
    done = explain("--snapshot", "-", "--vip", "192.0.2.10", "--json", stdin=json.dumps(document).encode())
    assert (done.returncode, json.loads(done.stdout)["node_ips"]) == (0, ["192.0.2.5"])
    assert done.stderr == b"nodenetctl: -: the snapshot has no routes, so no link has a default route\n"
    assert explain("--snapshot", "-", stdin=b"{}").returncode == 65


def test_a_vip_that_is_the_nodes_own_address_is_said_first() -> None:
    """Nothing would be published: exit 1, and the setting is named (R25)."""
    done = explain("--snapshot", str(CASES / "vip-is-own-address" / "snapshot.json"), "--vip", "192.0.2.5")
    assert done.returncode == 1
    cause = "api_vips contains this node's own address 192.0.2.5 (eth0)"
    assert f"Nothing is published: {cause}." in done.stdout.decode().splitlines()
