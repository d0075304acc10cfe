"""What the boot must know of a node file before libnmstate reads it."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.content import parse, remaining, without_secrets
from nodenet.core.node_file.find import read

BRIDGE = """
interfaces:
- {name: eth0, type: ethernet, state: up}
- {name: br-ex, type: ovs-bridge, state: up}
- {name: br-ex, type: ovs-interface, state: up}
"""


def wish(text: str) -> Any:
    return parse(read("w.yml", text.encode()))


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "--- ''\n"])
def test_a_file_of_comments_is_empty(text: str) -> None:
    """It counts as no file."""
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
    ("text", "said"),
    [
        ("a: [1\nb: 2\n", "w.yml, line 2, column 2"),
        ("a: 1\na: 2\n", 'w.yml, line 2, column 1: found duplicate key "a"'),
        ("interfaces:\n- name: a\n  name: b\n", 'line 3, column 3: found duplicate key "name"'),
        ("- a\n", "w.yml, line 1: not a mapping"),
        ("just text\n", "w.yml, line 1: not a mapping"),
        ("interfaces: [{name: eth0}, {name: eth0}]\n", "'eth0' is described twice"),
        ("interfaces: eth0\n", "`interfaces` is not a list"),
        ("interfaces: [{name: a}, {name: b, type: x}]\n", "w.yml: interfaces[1].type: libnmstate knows no type 'x'"),
        ("interfaces: [{name: b, type: wireguard, state: absent}]\n", "interfaces[0].type"),
        ("a: *nobody\n", "undefined alias"),
        ("a: 1\n---\nb: 2\n", "w.yml, line 2"),
        ("[" * 5000, "w.yml"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(text: str, said: str) -> None:
    """Name, line and column, and what to do."""
    with pytest.raises(NodeFileInvalid) as caught:
        wish(text)
    assert said in caught.value.cause
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("ethernetz", "Did you mean 'ethernet'?"),
        ("Ethernet", "Did you mean 'ethernet'?"),
        ("macvlan", "Did you mean 'mac-vlan' or "),
        ("bridge", "'linux-bridge'"),
        ("wireguard", "Leave `type` out for a link that is there already; the types are: bond, dummy, "),
    ],
)
def test_a_type_that_libnmstate_does_not_know_is_refused_with_the_nearest(kind: str, meant: str) -> None:
    """It would only log a line, and call the file applied."""
    with pytest.raises(NodeFileInvalid) as caught:
        wish(f"interfaces: [{{name: eth0, type: {kind}}}]")
    assert f"{kind!r} (interface 'eth0')" in caught.value.cause
    assert meant in caught.value.remedy


@pytest.mark.parametrize("link", ["", "type: ", "type: unknown", "type: tun", "state: ignore, type: wireguard"])
def test_a_link_that_is_found_by_its_name_may_have_the_type_that_is_shown_or_none(link: str) -> None:
    """`nmstatectl show` prints such links, and says what it leaves alone."""
    assert not wish(f"interfaces: [{{name: x0, {link}}}]").empty


DEFAULT = {"destination": "0.0.0.0/0", "next-hop-interface": "eth0", "next-hop-address": "192.0.2.1"}
STATE = {"routes": {"config": [{**DEFAULT, "table-id": 254, "metric": 100}]}}


@pytest.mark.parametrize(
    ("difference", "left"),
    [
        ({"interfaces": [], "routes": {"config": [DEFAULT]}}, {}),
        ({"interfaces": []}, {}),
        ({"interfaces": [{"name": "eth0"}], "routes": {"config": [DEFAULT]}}, {"interfaces": [{"name": "eth0"}]}),
        (
            {"routes": {"config": [{**DEFAULT, "table-id": 100}]}},
            {"routes": {"config": [{**DEFAULT, "table-id": 100}]}},
        ),
        (
            {"routes": {"config": [DEFAULT, {**DEFAULT, "destination": "10.0.0.0/8"}]}},
            {"routes": {"config": [{**DEFAULT, "destination": "10.0.0.0/8"}]}},
        ),
        (
            {"dns-resolver": {"config": {"server": ["192.0.2.1"]}}},
            {"dns-resolver": {"config": {"server": ["192.0.2.1"]}}},
        ),
    ],
)
def test_a_route_without_a_table_is_in_the_main_table(difference: dict[str, Any], left: dict[str, Any]) -> None:
    """Otherwise an unchanged file would never read as nothing to do."""
    assert remaining(difference, STATE) == left


KEYS = """
interfaces:
- name: eth0
  802.1x: {identity: worker, password: hunter2, private-key-password: hunter22}
- name: macsec0
  macsec: {mka-cak: 50b71a8ef0bd5751ea76de6d6c98c03a}
"""


def test_no_secret_of_a_node_file_is_quoted() -> None:
    """Whatever libnmstate quotes of the file."""
    secrets = wish(KEYS).secrets
    assert secrets == {"hunter2", "hunter22", "50b71a8ef0bd5751ea76de6d6c98c03a"}
    told = without_secrets('invalid type: string "hunter22", then hunter2', secrets)
    assert told == 'invalid type: string "<hidden>", then <hidden>'


def test_an_order_for_the_apply_is_no_difference() -> None:
    """The order `allow-extra-patch-ports` is in no state: a bridge that asks for it alone is as it should be."""
    link = {"name": "br-ex", "type": "ovs-bridge", "state": "up", "bridge": {"allow-extra-patch-ports": True}}
    assert remaining({"interfaces": [link]}, STATE) == {}
    more = {**link, "bridge": {**link["bridge"], "port": [{"name": "eth0"}]}}  # type: ignore[dict-item]
    assert remaining({"interfaces": [more]}, STATE) == {"interfaces": [more]}
    bare = {"name": "br-ex", "type": "ovs-bridge", "state": "up"}
    assert remaining({"interfaces": [bare]}, STATE) == {"interfaces": [bare]}
