"""docs/dev/by-hand.toml: each kind of change by hand, compared by the library itself, gives the words of its row."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

import libnmstate
from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read
from nodenet.core.node_file.yaml_text import load, plain
from nodenet.core.ownership.things import Kind, Others, Thing, remaining
from nodenet.core.trial import drift
from nodenet.core.trial.refusals import changes

KINDS = tomllib.loads((Path(__file__).parents[2] / "docs/dev/by-hand.toml").read_text())["kind"]
FILE = """
interfaces:
- name: eth0
  type: ethernet
  state: up
  mtu: 1500
  mac-address: "02:00:00:00:00:01"
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.5, prefix-length: 24}, {ip: 192.0.2.6, prefix-length: 24}]}
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: "2001:db8::5", prefix-length: 64}]}
  ethtool: {ring: {rx: 256}, feature: {rx-gro: true}}
- {name: eth1, type: ethernet, state: up}
- {name: eth7, type: ethernet, state: down}
- {name: dummy0, type: dummy, state: up}
- name: bond0
  type: bond
  state: up
  link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [eth2, eth3]}
- name: br0
  type: linux-bridge
  state: up
  bridge: {options: {stp: {enabled: true}}, port: [{name: eth4}]}
- {name: eth0.10, type: vlan, state: up, vlan: {base-iface: eth0, id: 10}}
- {name: vrf0, type: vrf, state: up, vrf: {port: [eth5], route-table-id: 100}}
- {name: ovs0, type: ovs-bridge, state: up, bridge: {port: [{name: eth6}]}}
routes:
  config:
  - {destination: 198.51.100.0/24, next-hop-address: 192.0.2.1, next-hop-interface: eth0, metric: 100}
route-rules:
  config:
  - {ip-from: 192.0.2.0/24, priority: 1000, route-table: 100}
dns-resolver: {config: {server: [192.0.2.1]}}
"""
KEYFILE = b"""[connection]
id=eth0
uuid=u
type=ethernet
interface-name=eth0
timestamp=1

[802-1x]
password=geheim

[ipv4]
address1=192.0.2.5/24
dns=192.0.2.1;
"""
PORTS = ("eth2", "eth3", "eth4", "eth5", "eth6")
LINKS = tuple(Link(number, name) for number, name in enumerate(("eth0", "eth1", "bond0", "br0", *PORTS), 2))
OTHERS = (Thing(Kind.ADDRESS, "eth0", ("203.0.113.5",)), Thing(Kind.ROUTE, "eth0", ("203.0.113.0/24", "", "254", "0")))
State = dict[str, Any]


def as_asked() -> State:
    """Return what libnmstate shows of a node that is as the file asks."""
    state: State = plain(load("file", FILE))
    state["interfaces"] += [{"name": name, "type": "ethernet", "state": "up"} for name in PORTS]
    state["interfaces"] += [{"name": "lo", "type": "loopback", "state": "up"}]
    state["routes"]["config"][0] |= {"table-id": 254, "metric": 100}
    state["dns-resolver"] = {"config": {"server": ["192.0.2.1"]}, "running": {"server": ["192.0.2.1"]}}
    return state


def item(state: State, name: str) -> State:
    found: State = next(each for each in state["interfaces"] if each["name"] == name)
    return found


def at(name: str, key: str, value: object) -> Callable[[State], None]:
    """Return what sets *key*, with dots, of the interface *name*."""

    def change(state: State) -> None:
        *path, last = key.split(".")
        place = item(state, name)
        for part in path:
            place = place[part]
        place[last] = value

    return change


def without(name: str) -> Callable[[State], None]:
    return lambda state: state["interfaces"].remove(item(state, name))


def route(**values: object) -> Callable[[State], None]:
    """Return what changes the route; without values it is removed."""
    return lambda state: state["routes"]["config"][0].update(values) if values else state["routes"].update(config=[])


def addresses(*found: str) -> list[State]:
    return [{"ip": one.split("/")[0], "prefix-length": int(one.split("/")[1])} for one in found]


def other_dns(state: State) -> None:
    state["dns-resolver"] = {"config": {"server": ["192.0.2.9"]}, "running": {"server": ["192.0.2.9"]}}


def address_added(state: State) -> None:
    item(state, "eth0")["ipv4"]["address"] += addresses("203.0.113.5/24")


def route_added(state: State) -> None:
    another = {"destination": "203.0.113.0/24", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth0"}
    state["routes"]["config"].append({**another, "metric": 0, "table-id": 254})


def nothing(_: State) -> None:
    """Change nothing that libnmstate shows."""


IN_STATE: Mapping[str, Callable[[State], None]] = {
    "address removed": at("eth0", "ipv4.address", addresses("192.0.2.5/24")),
    "address replaced": at("eth0", "ipv4.address", addresses("192.0.2.5/24", "192.0.2.7/24")),
    "prefix changed": at("eth0", "ipv4.address", addresses("192.0.2.5/24", "192.0.2.6/25")),
    "IPv6 address removed": at("eth0", "ipv6.address", []),
    "IPv6 switched off": at("eth0", "ipv6", {"enabled": False}),
    "DHCP switched on": at("eth0", "ipv4", {"enabled": True, "dhcp": True, "address": []}),
    "route removed": route(),
    "route over another gateway": route(**{"next-hop-address": "192.0.2.9"}),
    "metric of a route": route(metric=7),
    "rule removed": lambda state: state["route-rules"].update(config=[]),
    "MTU": at("eth0", "mtu", 1400),
    "MAC": at("eth0", "mac-address", "02:00:00:00:00:99"),
    "link deleted": without("dummy0"),
    "bond option": at("bond0", "link-aggregation.options.miimon", 500),
    "bond port removed": at("bond0", "link-aggregation.port", ["eth2"]),
    "bridge port removed": at("br0", "bridge.port", []),
    "bridge option": at("br0", "bridge.options.stp.enabled", False),
    "VLAN deleted": without("eth0.10"),
    "VLAN with another number": at("eth0.10", "vlan.id", 11),
    "VRF left": at("vrf0", "vrf.port", []),
    "OVS port removed": at("ovs0", "bridge.port", []),
    "DNS by nmcli, active": other_dns,
    "ring size": at("eth0", "ethtool.ring.rx", 512),
    "offload": at("eth0", "ethtool.feature.rx-gro", False),
    "address added": address_added,
    "route added": route_added,
    "queueing discipline": nothing,
}
IN_KEYFILE: Mapping[str, tuple[bytes, bytes]] = {
    "profile edited, not active yet": (b"address1=192.0.2.5", b"address1=192.0.2.7"),
    "DNS of a profile, not active yet": (b"dns=192.0.2.1", b"dns=192.0.2.9"),
    "autoconnect off": (b"uuid=u\n", b"uuid=u\nautoconnect=false\n"),
    "secret of a profile": (b"geheim", b"other"),
}


def said_of(change: str) -> list[str]:
    """Return the words for *change*."""
    wish, state = parse(read("worker-0.yml", FILE.encode())), as_asked()
    IN_STATE.get(change, nothing)(state)
    difference = remaining(libnmstate.generate_differences(FILE, state), state, Others(OTHERS))
    links = [Link(each.index, each.name, up=each.name != "eth1" or change != "link set down") for each in LINKS]
    said = list(drift.values(changes(difference, state), links, drift.wanted_up(wish.document)))
    listed = [IPv4Address("192.0.2.9" if change == "DNS by resolv.conf" else "192.0.2.1")]
    said += filter(None, [drift.other_servers(wish, listed, ())])
    old, new = IN_KEYFILE.get(change, (b"timestamp=1", b"timestamp=2"))
    now = {} if change == "profile deleted" else {"u": drift.profile(KEYFILE.replace(old, new))}
    return [*said, *drift.of_profiles({"u": drift.profile(KEYFILE)}, now, {"eth0"})]


def test_a_network_that_is_as_asked_differs_in_nothing() -> None:
    assert said_of("") == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["change"])
def test_each_kind_is_said_in_the_words_of_its_row(kind: Mapping[str, str]) -> None:
    said = said_of(kind["change"])
    if kind["said"]:
        assert kind["said"] in "; ".join(said)
    else:
        assert said == []
    assert not any("geheim" in each for each in said)


def test_every_kind_has_a_case() -> None:
    names = {kind["change"] for kind in KINDS}
    assert len(names) == len(KINDS) >= 30
    assert names == {*IN_STATE, *IN_KEYFILE, "profile deleted", "link set down", "DNS by resolv.conf"}
