"""What the boot must know of a node file before libnmstate reads it."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.content import cross_findings, is_node_file, judge, parse, secrets_in
from nodenet.core.node_file.find import read
from nodenet.core.node_file.finding import Severity

BRIDGE = """
interfaces:
- {name: eth0, type: ethernet, state: up}
- {name: br-ex, type: ovs-bridge, state: up}
- {name: br-ex, type: ovs-interface, state: up}
"""


def wish(text: str) -> Any:
    return parse(read("w.yml", text.encode()))


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "~\n"])
def test_a_file_of_comments_is_empty(text: str) -> None:
    """Nothing is applied."""
    assert wish(text).empty


def test_a_file_that_makes_br_ex_is_recognised() -> None:
    """configure-ovs stands aside then, and Open vSwitch is waited for."""
    assert (wish(BRIDGE).uses_ovs, wish(BRIDGE).brings_bridge) == (True, True)


@pytest.mark.parametrize(
    ("text", "uses_ovs", "brings_bridge"),
    [
        ("interfaces: [{name: eth0, type: ethernet}]", False, False),
        ("interfaces: [{name: br0, type: ovs-bridge}]", True, False),
        ("interfaces: [{name: br-ex, type: ovs-bridge, state: absent}]", False, False),
        ("interfaces: [{name: br-ex, type: linux-bridge}]", False, False),
        ("ovs-db: {external_ids: {a: b}}", True, False),
        ("ovn: {bridge-mappings: [{localnet: net1, bridge: br-ex, state: present}]}", True, False),  # R30
        ("routes: {config: []}", False, False),
    ],
)
def test_open_vswitch_is_waited_for_only_where_it_is_used(text: str, *, uses_ovs: bool, brings_bridge: bool) -> None:
    """A plain file does not wait for it."""
    assert (wish(text).uses_ovs, wish(text).brings_bridge) == (uses_ovs, brings_bridge)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("- a\n", "w.yml, line 1, column 1: not a mapping of NMState keys"),
        ("just text\n", "w.yml, line 1, column 1: not a mapping of NMState keys"),
        (
            "interfaces:\n- name: a\n  name: b\n",
            'w.yml, line 3, column 3: found duplicate key "name", first in line 2',
        ),
        ("a: [1\nb: 2\n", "w.yml, line 2, column 2: expected ',' or ']', but got ':'"),
        (
            "interfaces: [{name: a}, {name: a, mtu: big}]\n",
            (
                "w.yml, line 1, column 25: interfaces[1]: the interface 'a' is described twice, first in line 1 "
                "(and 1 more: `nodenetctl check FILE` shows them all)"
            ),
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_place(text: str, cause: str) -> None:
    """The first mistake, and how many there are beside it."""
    with pytest.raises(NodeFileInvalid) as caught:
        wish(text)
    assert caught.value.cause == cause
    assert caught.value.remedy


def test_a_warning_refuses_nothing() -> None:
    """A gateway outside every subnet is odd, and may be right (R31)."""
    text = """interfaces: [{name: a, ipv4: {address: [{ip: 192.0.2.5, prefix-length: 24}]}}]
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: a}]}
"""
    assert [each.severity for each in judge(read("w.yml", text.encode())).findings] == [Severity.WARNING]
    assert not wish(text).empty


KEYS = """
interfaces:
- name: eth0
  802.1x: {identity: worker, password: hunter2, private-key-password: hunter22}
- name: macsec0
  macsec: {mka-cak: 50b71a8ef0bd5751ea76de6d6c98c03a}
"""


def test_no_secret_of_a_node_file_is_quoted() -> None:
    """Whatever libnmstate quotes of the file (R46)."""
    for secrets in (wish(KEYS).secrets, secrets_in(KEYS)):
        told = secrets.hidden_in('invalid type: string "hunter22", then hunter2 and 50b71a8ef0bd5751ea76de6d6c98c03a')
        assert told == 'invalid type: string "<hidden>", then <hidden> and <hidden>'


def test_what_follows_from_a_mistyped_key_is_not_said() -> None:
    """The typo is the one mistake; it used to stand behind what it brings about (A13)."""
    text = """
interfaces:
- name: eth0
  type: ethernet
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-lenght: 24}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.99.0.1, next-hop-interface: eth0}]}
"""
    (found,) = judge(read("w.yml", text.encode())).findings
    assert found.key.endswith(".prefix-lenght")
    assert found.remedy == "Did you mean `prefix-length`?"
    missing, *_ = judge(read("w.yml", text.replace(", prefix-lenght: 24", "").encode())).findings
    assert missing.cause == "`prefix-length` is missing"
    (gateway,) = judge(read("w.yml", text.replace("lenght", "length").encode())).findings
    assert gateway.severity is Severity.WARNING


def test_a_netplan_file_is_recognised() -> None:
    """A remedy once said to remove `network`, which removes everything (A13)."""
    (found,) = judge(read("w.yml", b"network: {version: 2, ethernets: {eth0: {dhcp4: true}}}")).findings
    assert found.cause.startswith("this is a netplan or cloud-init network configuration")


# The node files of a directory beside each other.


LINK = "interfaces: [{name: eth0, ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}]\n"
PLAIN = "interfaces: [{name: eth0}]\n"


def said(**files: str) -> dict[str, list[str]]:
    """Return what is said of each file; `worker_0__yml` is worker-0.yml."""
    named = {key.replace("__", ".").replace("_", "-"): text for key, text in files.items()}
    judged = {name: judge(read(name, text.encode())) for name, text in named.items()}
    found = cross_findings(judged, sorted(named))
    return {name: [f"{each.severity}: {each.sentence()}" for each in each_file] for name, each_file in found.items()}


def test_an_empty_file_of_a_host_hides_the_file_of_all() -> None:
    """The node would get DHCP instead of what cluster.yml asks for (R51)."""
    assert said(worker_0__yml="# later\n", cluster__yml=PLAIN) == {
        "worker-0.yml": ["error: the file asks for nothing, and cluster.yml would be the node file without it"],
        "cluster.yml": [],
    }


def test_two_files_of_one_stem_are_rivals() -> None:
    both = "error: a.yaml and a.yml both claim to be the node file for 'a'"
    assert said(a__yml=PLAIN, a__yaml=PLAIN) == {"a.yml": [both], "a.yaml": [both]}


def test_one_address_for_two_hosts_is_an_error_and_for_all_a_warning() -> None:
    key = "interfaces[0].ipv4.address[0].ip = 192.0.2.5"
    assert said(a__yml=LINK, b__yml=LINK, cluster__yml=LINK) == {
        "a.yml": [],
        "b.yml": [f"error: {key}: a.yml, line 1 gives another host the same address"],
        "cluster.yml": [f"warning: {key}: every node without a file of its own gets this address"],
    }


def test_an_address_that_ovn_kubernetes_gives_every_node_is_no_conflict() -> None:
    """Its defaults, what is made like its own on br-ex, and the subnets of `ovn_masquerade_subnets`."""

    def conflicts(address: str, length: int, link: str = "br-ex", setting: str | None = None) -> bool:
        family = "ipv6" if ":" in address else "ipv4"
        section = f"{{enabled: true, address: [{{ip: '{address}', prefix-length: {length}}}]}}"
        judged = judge(read("a.yml", f"interfaces: [{{name: {link}, {family}: {section}}}]\n".encode()))
        subnets = [ip_network(setting)] if setting else []
        return any(cross_findings({"a.yml": judged, "b.yml": judged}, ["a.yml", "b.yml"], subnets).values())

    assert not conflicts("fd69::2", 125)
    assert not conflicts("fd70::2", 112)
    assert conflicts("fd70::3", 112)
    assert conflicts("fd70::2", 112, "eth0")
    assert conflicts("fd70::2", 64)
    assert conflicts("10.0.0.2", 29)
    assert not conflicts("10.0.0.2", 29, setting="10.0.0.0/29")


def test_a_short_name_beside_the_whole_one_is_hidden() -> None:
    """Both are of one host, so they may share an address."""
    assert said(a__yml=LINK, a__example__com__yml=LINK) == {
        "a.yml": ["warning: the host a.example.com reads a.example.com.yml; this file is for other hosts named a only"],
        "a.example.com.yml": [],
    }


def test_a_name_that_no_host_has_is_warned_of() -> None:
    assert said(localhost__yml=PLAIN)["localhost.yml"] == [
        "warning: no host finds this file: it only means that the real name is not known yet"
    ]


@pytest.mark.parametrize(
    ("name", "read_by_some_host"),
    [("a.yml", True), ("a.yaml", True), (".a.yml", False), (".yml", False), ("a.yml~", False), ("applied", False)],
)
def test_only_names_that_nodenetd_reads_are_node_files(name: str, *, read_by_some_host: bool) -> None:
    assert is_node_file(name) is read_by_some_host
