"""What the boot must know of a node file before libnmstate reads it."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.content import judge, parse, secrets_in
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
