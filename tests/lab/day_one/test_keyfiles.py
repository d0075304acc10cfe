"""A node that has nothing but the keyfiles of day one gets exactly what the document says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from day_one.artefacts import keyfiles
from factories import NodeFactory
from harness import Dhcp, Ipv6, Lan, Node

DOCUMENT = """\
interfaces:
- name: eth0
  type: ethernet
  state: up
  mtu: 1400
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 10.88.0.50
      prefix-length: 24
    - ip: 10.88.0.51
      prefix-length: 24
  ipv6:
    enabled: true
    dhcp: false
    autoconf: false
    address:
    - ip: fd88::50
      prefix-length: 64
dns-resolver:
  config:
    search:
    - lab.test
    server:
    - 10.88.0.1
    - fd88::1
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 10.88.0.1
    next-hop-interface: eth0
  - destination: ::/0
    next-hop-address: fd88::1
    next-hop-interface: eth0
  - destination: 198.51.100.0/24
    next-hop-address: 10.88.0.1
    next-hop-interface: eth0
    metric: 150
  - destination: 203.0.113.0/24
    next-hop-address: 10.88.0.1
    next-hop-interface: eth0
    table-id: 100
route-rules:
  config:
  - ip-from: 10.88.0.51/32
    priority: 1000
    route-table: 100
"""
BRIDGE = """\
interfaces:
- name: br0
  type: linux-bridge
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 10.88.0.60
      prefix-length: 24
  ipv6:
    enabled: false
  bridge:
    options:
      stp:
        enabled: false
    port:
    - name: eth0
- name: eth0
  type: ethernet
  state: up
dns-resolver:
  config:
    server:
    - 10.88.0.1
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 10.88.0.1
    next-hop-interface: br0
"""


def addresses(node: Node) -> set[tuple[str, str]]:
    """Return link and address, with prefix, of every address that is not of loopback or link-local."""
    found = node.json("ip -j address")
    return {
        (link["ifname"], f"{info['local']}/{info['prefixlen']}")
        for link in found
        for info in link["addr_info"]
        if info["scope"] == "global"
    }


def static_routes(node: Node) -> set[tuple[str, str, str, str]]:
    """Return destination, gateway, link and table of the routes that a profile made."""
    found: set[tuple[str, str, str, str]] = set()
    for family in ("-4", "-6"):
        routes: list[dict[str, Any]] = node.json(f"ip -j {family} route show table all proto static")
        found |= {(each["dst"], each["gateway"], each["dev"], str(each.get("table", "main"))) for each in routes}
    return found


def name_servers(node: Node) -> list[str]:
    lines = node.run("cat /etc/resolv.conf").stdout.splitlines()
    return [line.split()[1] for line in lines if line.startswith("nameserver ")]


def test_addresses_routes_rules_and_dns_are_those_of_the_document(
    bare_node: NodeFactory, lan: Lan, tmp_path: Path
) -> None:
    """The LAN offers DHCP and router advertisements, too: nothing of them is taken."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    node = bare_node()
    for path, text in keyfiles(DOCUMENT, tmp_path).items():
        node.write(path, text, 0o600)
    node.boot()
    node.wait_settled()
    node.wait_until("ping -c 1 -W 1 10.88.0.1 && ping -c 1 -W 1 fd88::1")
    assert addresses(node) == {("eth0", "10.88.0.50/24"), ("eth0", "10.88.0.51/24"), ("eth0", "fd88::50/64")}
    assert static_routes(node) == {
        ("default", "10.88.0.1", "eth0", "main"),
        ("default", "fd88::1", "eth0", "main"),
        ("198.51.100.0/24", "10.88.0.1", "eth0", "main"),
        ("203.0.113.0/24", "10.88.0.1", "eth0", "100"),
    }
    rules = [rule for rule in node.json("ip -j rule") if rule["priority"] == 1000]
    assert [(rule["src"], rule["table"]) for rule in rules] == [("10.88.0.51", "100")]
    assert name_servers(node) == ["10.88.0.1", "fd88::1"]
    assert "search lab.test" in node.run("cat /etc/resolv.conf").stdout
    assert node.json("ip -j link show dev eth0")[0]["mtu"] == 1400


def test_a_bridge_with_its_port(bare_node: NodeFactory, lan: Lan, tmp_path: Path) -> None:
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = bare_node()
    made = keyfiles(BRIDGE, tmp_path)
    assert sorted(Path(path).name for path in made) == ["br0.nmconnection", "eth0.nmconnection"]
    for path, text in made.items():
        node.write(path, text, 0o600)
    node.boot()
    node.wait_settled()
    node.wait_until("ping -c 1 -W 1 10.88.0.1")
    assert addresses(node) == {("br0", "10.88.0.60/24")}
    assert static_routes(node) == {("default", "10.88.0.1", "br0", "main")}
    assert name_servers(node) == ["10.88.0.1"]
