"""What comes out of differences, configurations and policies?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import libnmstate
from libnmstate.error import NmstatePolicyError

CURRENT: dict[str, Any] = {
    "interfaces": [
        {
            "name": "eth0",
            "type": "ethernet",
            "state": "up",
            "mtu": 1500,
            "ipv4": {"enabled": True, "dhcp": False, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]},
        },
        {"name": "eth1", "type": "ethernet", "state": "up", "mtu": 1500},
    ],
    "routes": {
        "running": [
            {
                "destination": "0.0.0.0/0",
                "next-hop-interface": "eth0",
                "next-hop-address": "192.0.2.1",
                "table-id": 254,
            }
        ],
        "config": [],
    },
}


def test_a_difference_holds_only_what_changes() -> None:
    desired = "interfaces:\n- {name: eth0, type: ethernet, mtu: 9000}\n- {name: eth1, type: ethernet, mtu: 1500}\n"
    (interface,) = libnmstate.generate_differences(desired, CURRENT)["interfaces"]
    assert (interface["name"], interface["mtu"]) == ("eth0", 9000)


def test_a_satisfied_state_has_no_difference() -> None:
    assert libnmstate.generate_differences(CURRENT, CURRENT) == {"interfaces": []}


def test_a_route_without_table_is_a_difference() -> None:
    """Callers who ask "is there anything to do?" must write the table; this is why."""
    route = {"destination": "0.0.0.0/0", "next-hop-interface": "eth0", "next-hop-address": "192.0.2.1"}
    with_table = {"routes": {"config": [{**route, "table-id": 254}]}}
    current = {**CURRENT, **with_table}
    assert "routes" not in libnmstate.generate_differences(with_table, current)
    assert "routes" in libnmstate.generate_differences({"routes": {"config": [route]}}, current)


def test_configurations_are_keyfiles_by_backend() -> None:
    """Offline there is no MAC address to copy, so that line is left out."""
    text = (Path(__file__).parent / "documents" / "br-ex.yml").read_text()
    br_ex = text.replace("  copy-mac-from: enp2s0\n", "")
    files = dict(libnmstate.generate_configurations(br_ex)["NetworkManager"])
    assert any("type=ovs-bridge" in content for content in files.values())
    assert all(name.endswith(".nmconnection") for name in files)


POLICY = """
capture:
  gw: routes.running.destination=="0.0.0.0/0"
  uplink: interfaces.name==capture.gw.routes.running.0.next-hop-interface
desired:
  interfaces:
  - name: "{{ capture.uplink.interfaces.0.name }}"
    type: ethernet
    mtu: MTU
"""


def test_a_policy_is_filled_from_the_current_state() -> None:
    state = libnmstate.gen_net_state_from_policy(POLICY.replace("MTU", "9000"), CURRENT)
    assert [(i["name"], i["mtu"]) for i in state["interfaces"]] == [("eth0", 9000)]


def test_a_satisfied_policy_is_empty() -> None:
    assert libnmstate.gen_net_state_from_policy(POLICY.replace("MTU", "1500"), CURRENT) == {"interfaces": []}


@pytest.mark.parametrize(
    ("policy", "position"),
    [
        ('capture: {a: "interfaces.type=="}\ndesired: {}\n', 15),
        ('capture: {a: interfaces.name=="eth9"}\ndesired: {interfaces: "{{ capture.a.interfaces }}"}\n', 11),
    ],
    ids=["wrong expression", "finds nothing"],
)
def test_a_policy_error_points_at_the_culprit(policy: str, position: int) -> None:
    with pytest.raises(NmstatePolicyError) as caught:
        libnmstate.gen_net_state_from_policy(policy, CURRENT)
    assert caught.value.expression is not None
    assert caught.value.expression.startswith("interfaces.")
    assert caught.value.position == position


def test_a_policy_is_validated_as_one() -> None:
    libnmstate.validate(POLICY.replace("MTU", "9000"))
    with pytest.raises(NmstatePolicyError):
        libnmstate.validate('capture: {a: "interfaces.type=="}\ndesired: {}\n')


def test_pretty_state_names_things_first() -> None:
    pretty = libnmstate.PrettyState({"interfaces": [{"mtu": 1, "type": "dummy", "name": "x0"}], "dns-resolver": {}})
    assert pretty.yaml == "---\ndns-resolver: {}\ninterfaces:\n- name: x0\n  type: dummy\n  mtu: 1\n"
    assert pretty.json.index('"dns-resolver"') < pretty.json.index('"interfaces"')
