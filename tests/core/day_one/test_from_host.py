"""A node file from the state of a host: golden files for saved states, and each part on its own."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.day_one.from_host import BOND, HIDDEN, beyond_defaults, made, not_expressed, state_in
from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.day_one.yaml_writing import plain

OFF: dict[str, Any] = {"ipv4": {"enabled": False}, "ipv6": {"enabled": False}}
DHCP: dict[str, Any] = {"ipv4": {"enabled": True, "dhcp": True}, "ipv6": {"enabled": False}}


def link(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "state": "up", "mtu": 1500, **DHCP, **more}


def of(*links: dict[str, Any], **more: Any) -> tuple[Any, list[str]]:
    found = made({"interfaces": list(links), **more})
    return plain(found.document), found.left_out


def test_a_bond_has_its_mode_and_what_differs() -> None:
    options = {"miimon": 100, "lacp_rate": "fast", "min_links": 0, "xmit_hash_policy": "layer2", "primary": None}
    aggregation = {"mode": "802.3ad", "options": options, "port": ["enp2s0", "enp3s0"]}
    legs = [link(name, "ethernet", controller="bond0") for name in ("enp2s0", "enp3s0")]
    document, left_out = of(link("bond0", "bond", **{"link-aggregation": aggregation}), *legs)
    assert left_out == []
    assert [each["name"] for each in document["interfaces"]] == ["enp2s0", "enp3s0", "bond0"]
    assert document["interfaces"][0] == {"name": "enp2s0", "type": "ethernet", "state": "up"}
    assert document["interfaces"][2]["link-aggregation"] == {
        "mode": "802.3ad",
        "options": {"miimon": 100, "lacp_rate": "fast"},
        "port": ["enp2s0", "enp3s0"],
    }


def test_a_vlan_keeps_its_base_even_where_that_has_no_address() -> None:
    vlan = {"base-iface": "enp2s0", "id": 100, "protocol": "802.1q", "reorder-headers": True}
    document, left_out = of(link("enp2s0.100", "vlan", vlan=vlan), {**link("enp2s0", "ethernet"), **OFF})
    assert left_out == []
    assert document["interfaces"][1]["vlan"] == {"base-iface": "enp2s0", "id": 100}


def test_what_is_left_out_is_named() -> None:
    document, left_out = of(
        link("lo", "loopback"),
        link("enp2s0", "ethernet"),
        {**link("enp3s0", "ethernet"), **OFF},
        {**link("enp4s0", "ethernet"), "state": "down"},
        {**link("docker0", "linux-bridge"), "state": "ignore"},
        link("ovn-k8s-mp0", "ovs-interface"),
        link("tun0", "tun"),
    )
    assert [each["name"] for each in document["interfaces"]] == ["enp2s0"]
    assert left_out == [
        "enp3s0: it has no configuration",
        "enp4s0: it is down",
        "docker0: NetworkManager does not manage it",
        "ovn-k8s-mp0: the network plugin makes it",
        "tun0: links of type tun are not written",
    ]


def test_secrets_are_left_out_and_named() -> None:
    found = made({"interfaces": [link("enp2s0", "ethernet", **{"802.1x": {"identity": "a", "password": HIDDEN}})]})
    links: Any = found.document["interfaces"]
    assert links[0]["802.1x"].remark == "add password: secrets are not shown"
    assert links[0]["802.1x"].value == {"identity": "a"}


def test_routes_rules_and_name_servers() -> None:
    routes = {
        "config": [
            {
                "destination": "0.0.0.0/0",
                "next-hop-address": "192.0.2.1",
                "next-hop-interface": "enp2s0",
                "table-id": 254,
            },
            {"destination": "::/0", "next-hop-address": "::", "next-hop-interface": "enp2s0", "metric": 1024},
            {"destination": "198.51.100.0/24", "next-hop-interface": "docker0"},
        ]
    }
    rules = {"config": [{"family": "ipv4", "ip-from": "192.0.2.5/32", "route-table": 100}]}
    resolver = {"config": {"search": [], "server": ["192.0.2.1"]}, "running": {"server": ["x"]}}
    document, _ = of(link("enp2s0", "ethernet"), routes=routes, **{"route-rules": rules, "dns-resolver": resolver})
    assert document["routes"]["config"] == [
        {"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "enp2s0"},
        {"destination": "::/0", "next-hop-interface": "enp2s0"},
    ]
    assert document["route-rules"]["config"] == [{"ip-from": "192.0.2.5/32", "route-table": 100}]
    assert document["dns-resolver"] == {"config": {"server": ["192.0.2.1"]}}


def test_a_state_may_be_saved_by_kubernetes_nmstate() -> None:
    state: dict[str, Any] = {"interfaces": []}
    assert state_in({"kind": "NodeNetworkState", "status": {"currentState": state}}) == state
    assert state_in(state) == state


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ([], "not a state of NMState: its first level has no keys such as interfaces"),
        ({"kind": "NodeNetworkState"}, "$.status.currentState is missing"),
        (
            {"links": []},
            "a snapshot of `nodenetctl snapshot` has no profiles: save `nmstatectl show` instead",
        ),
    ],
)
def test_what_is_no_state_is_refused(found: object, problem: str) -> None:
    with pytest.raises(ArtefactInvalid) as caught:
        state_in(found)
    assert str(caught.value) == problem
    with pytest.raises(ArtefactInvalid, match="no list of interfaces"):
        made({"interfaces": 3})


def test_repeated_ports_are_not_a_difference() -> None:
    bridge = {"name": "br0", "type": "linux-bridge", "bridge": {"port": [{"name": "eth0"}]}}
    state = {"interfaces": [{**bridge, "state": "up"}]}
    assert not_expressed({"interfaces": [bridge]}, state) == []
    other = {**bridge, "bridge": {"port": [{"name": "eth1"}]}}
    assert not_expressed({"interfaces": [other], "routes": {}}, state) == ["br0"]
    assert not_expressed({"interfaces": [], "dns-resolver": {"config": {}}}, state) == ["dns-resolver"]


def test_what_ovn_kubernetes_adds_to_br_ex_is_not_of_the_host() -> None:
    """Its patch port, host route and service route (ovn-kubernetes#3136); a route of the administrator stays."""
    patch = "patch-br-ex_worker-0-to-br-int"
    bridge = link("br-ex", "ovs-bridge", bridge={"port": [{"name": each} for each in ("br-ex", "enp2s0", patch)]})
    ours = {"destination": "198.51.100.0/24", "next-hop-address": "192.0.2.1", "next-hop-interface": "br-ex"}
    routes = [
        {"destination": "169.254.169.1/32", "next-hop-interface": "br-ex"},
        {"destination": "172.30.0.0/16", "next-hop-address": "169.254.169.4", "next-hop-interface": "br-ex"},
        {"destination": "fd02::/112", "next-hop-address": "fd69::4", "next-hop-interface": "br-ex"},
        {"destination": "169.254.169.254/32", "next-hop-address": "192.0.2.1", "next-hop-interface": "br-ex"},
        ours,
    ]
    inside, nic = link("br-ex", "ovs-interface", controller="br-ex"), link("enp2s0", "ethernet", controller="br-ex")
    document, left_out = of(
        nic, bridge, inside, link(patch, "ovs-interface", controller="br-ex"), routes={"config": routes}
    )
    made_bridge = next(each for each in document["interfaces"] if each["type"] == "ovs-bridge")
    assert [port["name"] for port in made_bridge["bridge"]["port"]] == ["br-ex", "enp2s0"]
    assert [route["destination"] for route in document["routes"]["config"]] == ["169.254.169.254/32", "198.51.100.0/24"]
    assert left_out == [f"{patch}: the network plugin makes it"]


def test_a_masquerade_subnet_of_the_cluster_is_seen_by_the_routes_over_it() -> None:
    """`internalMasqueradeSubnet` may be any subnet; without OVN-Kubernetes' routes the same address is the host's."""
    own = [{"ip": "192.0.2.5", "prefix-length": 24}, {"ip": "10.0.0.2", "prefix-length": 29}]
    own6 = [{"ip": "fd69::2", "prefix-length": 112}, {"ip": "2001:db8::6", "prefix-length": 64}]
    bridge = link("br-ex", "ovs-bridge", bridge={"port": [{"name": "br-ex"}]})
    inside = link(
        "br-ex",
        "ovs-interface",
        controller="br-ex",
        ipv4={"enabled": True, "address": own},
        ipv6={"enabled": True, "address": own6},
    )
    routes = [
        {"destination": "10.0.0.1/32", "next-hop-address": "", "next-hop-interface": "br-ex"},
        {"destination": "172.30.0.0/16", "next-hop-address": "10.0.0.4", "next-hop-interface": "br-ex"},
    ]

    def addresses(**state: Any) -> list[str]:
        document, _ = of(bridge, inside, routes=state)
        made = next(each for each in document["interfaces"] if each["type"] == "ovs-interface")
        assert [each["ip"] for each in made["ipv6"]["address"]] == ["2001:db8::6"]
        return [each["ip"] for each in made["ipv4"]["address"]]

    document, _ = of(bridge, inside, routes={"running": routes, "config": routes})
    assert addresses(running=routes, config=routes) == ["192.0.2.5"]
    assert "routes" not in document
    assert addresses(running=routes[1:], config=[]) == ["192.0.2.5", "10.0.0.2"]


# What a host shows beyond the defaults.


def test_only_what_differs_is_left() -> None:
    found = {"lacp_rate": "fast", "min_links": 0, "miimon": 100}
    assert beyond_defaults(found, BOND) == {"lacp_rate": "fast", "miimon": 100}
