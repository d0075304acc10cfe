"""`nodenetctl what-if`: what new node files would do to every node of a fleet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.fleet import documents
from cli.test_fleet import archive, changed
from nodenet.cli.main import main
from nodenet.core.fleet.what_if import TAKEN, Outcome, roll_out
from nodenet.core.node_file import policy
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.policy import Filled
from nodenet.core.node_file.yaml_text import Block, load
from nodenet.edge.report import packed

MTU = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  mtu: 1400\n"
STATIC = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: %s, prefix-length: 8}]}
"""
BY_MAC = MTU.replace("eth0", "uplink") + "  identifier: mac-address\n  mac-address: 02:00:00:00:00:99\n"
ROUTE = """routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.255.255.254, next-hop-interface: eth0}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "new").mkdir()
    directory = tmp_path / "fleet"
    directory.mkdir()
    for number in range(7):
        archive(directory, number)
    return directory


def ask(fleet: Path, capsys: pytest.CaptureFixture[str], *words: str, **files: str) -> tuple[int, dict[str, Any]]:
    for name, text in files.items():
        (fleet.parent / "new" / f"{name.replace('_', '-')}.yml").write_text(text)
    code = main(["what-if", str(fleet), "--files", str(fleet.parent / "new"), "--json", *words])
    found = json.loads(capsys.readouterr().out)
    return code, {**found, "hosts": {each["host"]: each for each in found["hosts"]}}


def test_a_file_for_all_changes_the_mtu_of_all(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ask(fleet, capsys, cluster=MTU)
    worker = found["hosts"]["worker-3"]
    assert code == 0
    assert (worker["verdict"], worker["node_ips"], worker["uplink"]) == ("taken", ["10.0.0.3"], "eth0")
    assert (worker["mtu"], worker["changes"]) == ({"eth0": 1400}, ["MTU of eth0: 1500 -> 1400"])
    assert worker["addresses"] == ["eth0 10.0.0.3/8"]
    assert worker["default_routes"] == ["IPv4 via 10.255.255.254 on eth0"]
    assert found["roll_out"][:4] == [["worker-3"], ["control-0"], ["control-1"], ["control-2"]]
    assert sorted(host for wave in found["roll_out"] for host in wave) == sorted(found["hosts"])
    assert main(["what-if", str(fleet), "--files", str(fleet.parent / "new")]) == 0
    assert "7 taken; 0 with a problem." in capsys.readouterr().out


def test_the_own_file_of_a_host_counts_and_an_address_of_another_one_is_a_problem(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both hosts are named, also the host whose file does not change the address; the order has neither."""
    code, found = ask(fleet, capsys, cluster=MTU, worker_5=STATIC % "10.0.0.6" + ROUTE)
    five, six = found["hosts"]["worker-5"], found["hosts"]["worker-6"]
    assert (code, five["file"], six["file"]) == (1, "worker-5.yml", "cluster.yml")
    assert five["problems"] == [
        "the node IPs change from 10.0.0.5 to 10.0.0.6",
        "10.0.0.6 would be on worker-6 too",
    ]
    assert six["problems"] == ["10.0.0.6 would be on worker-5 too"]
    assert not {"worker-5", "worker-6"}.intersection(host for wave in found["roll_out"] for host in wave)


def test_who_loses_a_way_out_is_named(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = STATIC.replace("enabled: true, dhcp: false, address: [{ip: %s, prefix-length: 8}]", "enabled: false")
    code, found = ask(fleet, capsys, worker_5=text)
    assert code == 1
    assert found["hosts"]["worker-5"]["problems"] == ["no IPv4 default route is left", "no address is a node IP then"]
    assert found["hosts"]["worker-4"]["verdict"] == "no file"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MTU.replace("mtu:", "mtuu:"), "mtuu"),
        (MTU.replace("eth0", "eth7"), "worker-5.yml names eth7, and this host has no such link"),
        (BY_MAC, "worker-5.yml names uplink with the MAC address 02:00:00:00:00:99, and this host has no such link"),
        ("interfaces: [", "worker-5.yml"),
    ],
)
def test_a_file_that_would_be_refused_has_exit_code_65(
    text: str, said: str, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = ask(fleet, capsys, cluster=MTU, worker_5=text)
    five = found["hosts"]["worker-5"]
    assert (code, five["verdict"]) == (65, "refused")
    assert said in five["problems"][0]


def test_a_file_for_none_of_the_hosts_is_named(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its name is wrong, or a node is missing in the fleet."""
    code, found = ask(fleet, capsys, cluster=MTU, worker_5=MTU, worker_55=MTU)
    assert code == 0
    assert found["left_out"] == [{"place": "worker-55.yml", "why": "it is the file of none of these hosts"}]


POLICY = """capture: {nic: 'interfaces.type=="ethernet"'}
desiredState: {interfaces: [{name: "{{ capture.nic.interfaces.0.name }}", type: ethernet, mtu: 1400}]}
"""
NETWORK = {"interfaces": [{"name": "lo", "type": "loopback"}, {"name": "eth0", "type": "ethernet", "mtu": 1500}]}


def with_parts(fleet: Path, number: int, **parts: object) -> None:
    """Write the report of a node with more *parts*, which are JSON; the journal is before them."""
    more = {f"{name}.json": json.dumps(part).encode() for name, part in parts.items()}
    (fleet / f"n{number}.tar.gz").write_bytes(packed("top", {**documents(number), **more}, 0.0))


def test_a_policy_is_resolved_with_the_network_of_the_report(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It leads to another document on each host; a capture that finds nothing, and a wrong one, are refused."""
    with_parts(fleet, 5, network=NETWORK)
    with_parts(fleet, 6, network={"interfaces": [{"name": "bond0", "type": "bond"}]})
    code, found = ask(fleet, capsys, worker_5=POLICY, worker_6=POLICY, worker_3=POLICY.replace("==", "="))
    five, six, three = (found["hosts"][f"worker-{number}"] for number in (5, 6, 3))
    assert (code, five["verdict"], five["problems"]) == (65, "taken", [])
    assert five["changes"] == ["MTU of eth0: 1500 -> 1400"]
    assert five["notes"] == ["worker-5.yml is an NMState policy, resolved with the network of the report"]
    assert six["verdict"] == "refused"
    assert "no interface of this node has type = 'ethernet'" in six["problems"][0]
    assert three["verdict"] == "refused"
    assert "is no operator" in three["problems"][0]


def test_a_policy_that_was_resolved_on_its_host_is_not_resolved_again(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the document in force its captures would find nothing any more; an edited policy is resolved."""
    resolved = policy.resolved(NodeFile.of("worker-5.yml", POLICY), filled_here(POLICY), {})
    kept = json.loads(policy.render({NodeFile.of("", POLICY).digest: resolved.text}))
    parts = documents(5, node_file="worker-5.yml", digest=resolved.digest, applied_digest=resolved.digest)
    more = {"policies.json": json.dumps(kept).encode(), "network.json": b'{"interfaces": []}'}
    (fleet / "n5.tar.gz").write_bytes(packed("top", {**parts, **more}, 0.0))
    _, found = ask(fleet, capsys, worker_5=POLICY)
    assert (found["hosts"]["worker-5"]["verdict"], found["hosts"]["worker-5"]["notes"]) == ("unchanged", [])
    _, found = ask(fleet, capsys, worker_5=POLICY.replace("1400", "1300"))
    assert found["hosts"]["worker-5"]["verdict"] == "refused"


def filled_here(text: str) -> Filled:
    document = load("worker-5.yml", text)
    assert isinstance(document, Block)
    return policy.filled("worker-5.yml", document, NETWORK)


COPIED = """capture: {all: 'interfaces.name=="eth0"', nic: 'capture.all | interfaces.mtu:=1400'}
desiredState: {interfaces: "{{ capture.%s.interfaces }}"}
"""


def test_a_copied_interface_asks_for_what_the_copy_changes(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nic = {"name": "eth0", "type": "ethernet", "state": "up", "mtu": 1500, "ethernet": {"auto-negotiation": True}}
    for number in (5, 6):
        with_parts(fleet, number, network={"interfaces": [nic]})
    _, found = ask(fleet, capsys, worker_5=COPIED % "nic", worker_6=COPIED % "all")
    assert found["hosts"]["worker-5"]["problems"] == []
    assert found["hosts"]["worker-5"]["changes"] == ["MTU of eth0: 1500 -> 1400"]
    assert found["hosts"]["worker-6"]["changes"] == []


@pytest.mark.parametrize(
    "network",
    [
        None,
        [],
        {"interfaces": 7},
        {"interfaces": [7]},
        {"interfaces": [{"name": ["eth0"], "type": "ethernet"}]},
        {"interfaces": [{"name": "eth0"}]},
        {"routes": []},
        "deep",
    ],
)
def test_without_a_readable_network_a_policy_is_not_known(
    network: object, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report of an older version has none; a hostile one has anything."""
    if network == "deep":
        parts = {**documents(5), "network.json": b"[" * 100_000, "policies.json": b"{"}
        (fleet / "n5.tar.gz").write_bytes(packed("top", parts, 0.0))
    elif network is not None:
        with_parts(fleet, 5, network=network, policies={"version": 1, "resolved": {"x": 7}})
    code, found = ask(fleet, capsys, worker_5=POLICY)
    five = found["hosts"]["worker-5"]
    assert (code, five["verdict"], five["file"]) == (1, "not known", "worker-5.yml")
    assert five["problems"][0].startswith("worker-5.yml is an NMState policy, and its report has no readable network")


def test_values_of_each_host_are_filled_in(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By host name or MAC; a host without a row is refused, as on the node."""
    table = (
        "host,mac,address\n" + "".join(f"worker-{n},,10.0.0.{n}\n" for n in (3, 4, 5)) + ",52:54:00:00:00:06,10.0.0.6\n"
    )
    (fleet.parent / "new" / "hosts.csv").write_text(table)
    code, found = ask(fleet, capsys, cluster=STATIC % "$(address)" + ROUTE)
    verdicts = {host: one["verdict"] for host, one in found["hosts"].items()}
    assert code == 65
    assert {host for host, verdict in verdicts.items() if verdict == "refused"} == {f"control-{n}" for n in range(3)}
    assert found["hosts"]["worker-6"]["node_ips"] == ["10.0.0.6"]


def test_settings_of_the_report_and_of_the_option_decide(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A denied link has no node IP; the settings are those of each report unless a file is given."""
    parts = documents(5)
    settings = b'deny_links  ["eth*"]  /etc/nodenet/nodenet.toml\nplatform    "none"    default\n'
    (fleet / "n5.tar.gz").write_bytes(packed("top", {**parts, "settings.txt": settings}, 0.0))
    code, found = ask(fleet, capsys, cluster=MTU)
    assert (code, [host for host, one in found["hosts"].items() if one["problems"]]) == (1, ["worker-5"])
    given = fleet.parent / "nodenet.toml"
    given.write_text('platform = "none"\n')
    assert ask(fleet, capsys, "--settings", str(given))[0] == 0
    given.write_text("platform = 7\n")
    assert main(["what-if", str(fleet), "--files", str(fleet.parent / "new"), "--settings", str(given)]) == 78


def test_what_the_present_file_made_is_left_over(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = {"interfaces": [{"name": "br-old", "type": "linux-bridge", "state": "up"}]}
    parts = documents(5)
    bridge = {"ifindex": 9, "ifname": "br-old", "linkinfo": {"info_kind": "bridge"}}
    parts["snapshot.json"] = changed(parts["snapshot.json"], lambda it: it["links"].append(bridge))
    files = {"node-files/cluster.yml.json": json.dumps(old).encode(), **parts}
    (fleet / "n5.tar.gz").write_bytes(packed("top", files, 0.0))
    _, found = ask(fleet, capsys, cluster=MTU)
    assert found["hosts"]["worker-5"]["left_over"] == ["the present file: br-old"]
    assert found["hosts"]["worker-4"]["left_over"] == []


def test_br_ex_stays_over_its_uplink_and_its_ip_does_not_change(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bridge is over eth0, which the file names: its IP is on the bridge."""
    parts = documents(5, bridge="br-ex", uplink="eth0", link="br-ex")

    def moved(it: dict[str, Any]) -> None:
        port = {**it["links"][0], "master": "ovs-system"}
        own = {**it["links"][0], "ifindex": 5, "ifname": "br-ex", "linkinfo": {"info_kind": "openvswitch"}}
        it["links"] = [port, own]
        it["addresses"] = [{**own, "addr_info": it["addresses"][0]["addr_info"]}]
        it["routes"][0]["dev"] = "br-ex"

    parts["snapshot.json"] = changed(parts["snapshot.json"], moved)
    (fleet / "n5.tar.gz").write_bytes(packed("top", parts, 0.0))
    code, found = ask(fleet, capsys, worker_5=STATIC % "10.0.0.9")
    five = found["hosts"]["worker-5"]
    assert (code, five["node_ips"], five["link"], five["uplink"]) == (0, ["10.0.0.5"], "br-ex", "eth0")
    assert five["notes"] == ["eth0 is below br-ex: its IP changes only after `nodenetctl bridge remove`"]


def test_a_node_without_a_snapshot_is_not_known(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet / "worker-9.json").write_bytes(documents(9)["status.json"])
    code, found = ask(fleet, capsys, cluster=MTU)
    assert (code, found["hosts"]["worker-9"]["verdict"]) == (1, "not known")


def test_wrong_usage(fleet: Path) -> None:
    new = fleet.parent / "new"
    assert main(["what-if", str(fleet), "--files", str(new)]) == 64, "no node file"
    assert main(["what-if", str(fleet), "--files", str(new / "gone")]) == 64
    (new / "cluster.yml").write_text(MTU)
    assert main(["what-if", str(new), "--files", str(new)]) == 64, "no document"
    assert main(["what-if", str(fleet), "--files", str(new), "--settings", str(new / "gone")]) == 64


def test_the_order_has_one_of_each_kind_first_and_one_control_plane_node_at_once() -> None:
    made = [Outcome(f"w{n}", "worker", TAKEN, "cluster.yml", uplink="eth0") for n in range(25)]
    made += [Outcome(f"x{n}", "worker", TAKEN, "cluster.yml", uplink="bond0") for n in range(2)]
    made += [Outcome(f"c{n}", "control-plane", TAKEN, "cluster.yml", uplink="eth0") for n in range(3)]
    made += [Outcome("bad", "worker", TAKEN, "cluster.yml", problems=("x",)), Outcome("same", "worker", "unchanged")]
    waves = roll_out(made)
    assert waves[:4] == [["w0", "x0"], ["c0"], ["c1"], ["c2"]]
    assert all(sum(host.startswith("c") for host in wave) <= 1 for wave in waves)
    assert max(map(len, waves)) == 3
    assert len({host for wave in waves for host in wave}) == 30
