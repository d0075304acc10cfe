"""Does libnmstate resolve and judge policies as nodenet does? The cases are those of its public examples."""

from __future__ import annotations

import json
from typing import Any

import pytest

import libnmstate
from libnmstate.error import NmstateError
from nodenet.core.node_file import policy
from nodenet.core.node_file.yaml_text import Block, load


def nic(name: str, number: int, **more: object) -> dict[str, Any]:
    return {
        "name": name,
        "type": "ethernet",
        "state": "up",
        "mac-address": f"02:00:00:00:00:0{number}",
        "mtu": 1500,
        "lldp": {"enabled": False},
        "ipv4": {"enabled": False},
        **more,
    }


LEASE = {"ip": "198.51.100.7", "prefix-length": 24, "valid-life-time": "300sec", "preferred-life-time": "300sec"}
STATIC = {"enabled": True, "dhcp": False, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}
GATEWAY = {
    "destination": "0.0.0.0/0",
    "next-hop-interface": "eth1",
    "next-hop-address": "192.0.2.1",
    "table-id": 254,
    "metric": 100,
}
FURTHER = {"destination": "203.0.113.0/25", "next-hop-interface": "eth2", "next-hop-address": "198.51.100.1"}
CURRENT: dict[str, Any] = {
    "interfaces": [
        {"name": "br0", "type": "linux-bridge", "state": "up", "bridge": {"port": []}},
        nic("eth1", 1, description="primary", ipv4=STATIC, **{"alt-names": [{"name": "storage"}]}),
        nic("eth2", 2, description="secondary", mtu=9000, ipv4={"enabled": True, "dhcp": True, "address": [LEASE]}),
        {"name": "eth3", "type": "ethernet", "state": "down"},
    ],
    "routes": {"running": [GATEWAY, {**FURTHER, "table-id": 500}], "config": [GATEWAY]},
    "route-rules": {"config": [{"ip-from": "192.0.2.0/24", "route-table": 500, "priority": 10}]},
    "dns-resolver": {"config": {}, "running": {"server": ["192.0.2.53"], "search": ["example.com"]}},
}
UPLINK = """capture:
  everything: words without an operator
  gw: routes.running.destination=="0.0.0.0/0"
  base: >-
    interfaces.name==
    capture.gw.routes.running.0.next-hop-interface
"""
PORT = '{name: "{{ capture.base.interfaces.0.name }}"}'
TWO = """capture: {a: 'interfaces.description == "primary"', b: 'interfaces.description == "secondary"'}
desiredState: {interfaces: ["""
A, B = (f'"{{{{ capture.{each}.interfaces.0.name }}}}"' for each in "ab")
CASES = {
    "bridge on the default gateway, static": UPLINK
    + f"""  routes: routes.running.next-hop-interface==capture.gw.routes.running.0.next-hop-interface
  moved: capture.routes | routes.running.next-hop-interface:="br1"
desiredState:
  interfaces:
  - {{name: br1, type: linux-bridge, ipv4: "{{{{ capture.base.interfaces.0.ipv4 }}}}", bridge: {{port: [{PORT}]}}}}
  routes: {{config: "{{{{ capture.moved.routes.running }}}}"}}
""",
    "bridge on the default gateway, DHCP": UPLINK
    + f"""desiredState:
  interfaces:
  - {{name: br1, type: linux-bridge, ipv4: {{enabled: true, dhcp: true}}, bridge: {{port: [{PORT}]}},
     mac-address: "{{{{ capture.base.interfaces.0.mac-address }}}}"}}
""",
    "lldp on all that are up, out of order": """capture:
  lldp: capture.up | interfaces.lldp.enabled:=true
  nics: interfaces.type=="ethernet"
  up: capture.nics.interfaces.state=="up"
  bare: capture.lldp | interfaces.ethernet := null
desired: {interfaces: "{{ capture.bare.interfaces }}"}
""",
    "all bridges down": """capture: {a: 'interfaces.type=="linux-bridge"', b: 'capture.a | interfaces.state:="down"'}
desiredState: {interfaces: "{{ capture.b.interfaces }}"}
""",
    "lease to static, with DNS": """capture:
  nic: interfaces.name == "eth2"
  routes: routes.running.next-hop-interface == "eth2"
  dns: dns-resolver.running
desiredState:
  interfaces:
  - {name: eth2, type: ethernet, ipv4: {enabled: true, dhcp: false,
     address: "{{ capture.nic.interfaces.0.ipv4.address }}"}}
  routes: {config: "{{ capture.routes.routes.running }}"}
  dns-resolver: {config: "{{ capture.dns.dns-resolver.running }}"}
""",
    "by another name": """capture: {a: interfaces.alt-names.name=="storage"}
desiredState: {interfaces: [{name: "{{ capture.a.interfaces.0.name }}.7", type: vlan,
  vlan: {id: 7, base-iface: "{{ capture.a.interfaces.0.name }}"}}]}
""",
    "by MAC address": """capture: {a: 'interfaces.mac-address == "02:00:00:00:00:02"'}
desiredState: {interfaces: [{name: "{{ capture.a.interfaces.0.name }}", type: ethernet, identifier: mac-address,
  mac-address: "{{ capture.a.interfaces.0.mac-address }}"}]}
""",
    "bond by description": f"""{TWO}{{name: bond0, type: bond, copy-mac-from: {A},
  link-aggregation: {{mode: active-backup, port: [{A}, {B}]}}}}]}}
""",
    "Open vSwitch bond by description": f"""{TWO}
  {{name: br1-if, type: ovs-interface, ipv4: "{{{{ capture.a.interfaces.0.ipv4 }}}}"}},
  {{name: br1, type: ovs-bridge, bridge: {{port: [{{name: br1-if}}, {{name: bond0,
   link-aggregation: {{mode: balance-slb, port: [{{name: {A}}}, {{name: {B}}}]}}}}]}}}}]}}
""",
    "rules, metrics and MTUs": """capture:
  a: route-rules.config.route-table==500
  b: 'capture.a | route-rules.config.priority:=20'
  c: routes.config.metric==100
  d: 'capture.c | routes.config.metric:="50"'
  e: interfaces.mtu:=1400
desiredState:
  route-rules: {config: "{{ capture.b.route-rules.config }}"}
  routes: {config: "{{ capture.d.routes.config }}"}
  interfaces: ["{{ capture.e.interfaces.1 }}"]
""",
    "one that is satisfied": """capture: {a: interfaces.name=="eth1"}
desiredState: {interfaces: [{name: "{{ capture.a.interfaces.0.name }}", type: ethernet, mtu: 1500}]}
""",
}


def block(text: str) -> Block:
    document = load("policy", text)
    assert isinstance(document, Block)
    return document


def in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: in_order(each) for key, each in value.items()}
    return sorted(map(in_order, value), key=json.dumps) if isinstance(value, list) else value


@pytest.mark.parametrize("name", CASES)
def test_the_whole_document_differs_from_the_network_as_libnmstate_says(name: str) -> None:
    document = block(CASES[name])
    assert list(policy.findings(document)) == []
    made = policy.filled("policy", document, CURRENT)
    wanted = libnmstate.gen_net_state_from_policy(CASES[name], CURRENT)
    asked = libnmstate.generate_differences(json.dumps(made.document), CURRENT)
    assert in_order(asked) == in_order(wanted)
    assert bool(asked["interfaces"] or len(asked) > 1) is (name != "one that is satisfied")


@pytest.mark.parametrize(
    "expression",
    [
        'interfaces.name="eth1"',
        "interfaces.name==",
        'interfaces.name=="eth1" "eth2"',
        'interfaces.name=="eth1',
        "interfaces.mac-address==02:00:00:00:00:01",
        'interfaces.name!="eth1"',
        'interfaces.driver=~"^igb$"',
        'capture.b | capture.b | interfaces.name=="eth1"',
        "capture.b |",
        'capture.b | "eth1"',
        'interfaces | interfaces.name=="eth1"',
        'name=="eth1"',
        'capture.b=="eth1"',
        "interfaces.name==capture.b",
        'interfaces.name:="a":="b"',
    ],
)
def test_what_libnmstate_refuses_nodenet_refuses_with_a_place(expression: str) -> None:
    text = f"capture: {{b: all, a: {json.dumps(expression)}}}\ndesiredState: {{interfaces: []}}\n"
    with pytest.raises(NmstateError):
        libnmstate.gen_net_state_from_policy(text, CURRENT)
    (found, *_) = policy.findings(block(text))
    assert (found.line, found.key) == (1, "capture.a")
    assert found.remedy
