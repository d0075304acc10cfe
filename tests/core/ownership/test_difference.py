"""What is a difference, on a link that other programs are on, too?"""

from __future__ import annotations

from typing import Any

import pytest

import libnmstate
from nodenet.core.ownership.things import Kind, Others, Thing, remaining, without_others

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


def test_an_order_for_the_apply_is_no_difference() -> None:
    """The order `allow-extra-patch-ports` is in no state: a bridge that asks for it alone is as it should be."""
    link = {"name": "br-ex", "type": "ovs-bridge", "state": "up", "bridge": {"allow-extra-patch-ports": True}}
    assert remaining({"interfaces": [link]}, STATE) == {}
    more = {**link, "bridge": {**link["bridge"], "port": [{"name": "eth0"}]}}  # type: ignore[dict-item]
    assert remaining({"interfaces": [more]}, STATE) == {"interfaces": [more]}
    bare = {"name": "br-ex", "type": "ovs-bridge", "state": "up"}
    assert remaining({"interfaces": [bare]}, STATE) == {"interfaces": [bare]}


ADDRESS = {"ip": "192.0.2.5", "prefix-length": 24}
MASQUERADE = {"ip": "169.254.0.2", "prefix-length": 17}
ROUTE = {"destination": "0.0.0.0/0", "next-hop-interface": "br-ex", "next-hop-address": "192.0.2.1", "table-id": 254}
SERVICE = {"destination": "172.30.0.0/16", "next-hop-interface": "br-ex", "next-hop-address": "169.254.0.4"}
HOST = {"destination": "169.254.0.1/32", "next-hop-interface": "br-ex", "table-id": 254, "source": "192.0.2.5"}
NODE: dict[str, Any] = {
    "interfaces": [
        {
            "name": "br-ex",
            "type": "ovs-interface",
            "state": "up",
            "ipv4": {"enabled": True, "dhcp": False, "address": [ADDRESS, MASQUERADE]},
            "ipv6": {"enabled": False},
        },
        {
            "name": "br-ex",
            "type": "ovs-bridge",
            "state": "up",
            "bridge": {
                "options": {"datapath": "netdev"},
                "port": [{"name": "br-ex"}, {"name": "eth0"}, {"name": "patch"}],
            },
            "ovs-db": {"external_ids": {"ovn": "own"}},
        },
    ],
    "routes": {"config": [ROUTE, {**SERVICE, "table-id": 254}, HOST], "running": []},
}
"""A br-ex on which OVN-Kubernetes is."""
OVN = Others(
    (
        Thing(Kind.ADDRESS, "br-ex", ("169.254.0.2",)),
        Thing(Kind.ROUTE, "br-ex", ("172.30.0.0/16", "169.254.0.4", "254", "0")),
        Thing(Kind.ROUTE, "br-ex", ("169.254.0.1/32", "", "254", "0")),
    ),
    frozenset({("br-ex", "patch")}),
    frozenset({"br-ex"}),
)


def file(addresses: list[dict[str, Any]], ports: tuple[str, ...] = ("eth0", "br-ex")) -> dict[str, Any]:
    listed = [{"name": each} for each in ports]
    return {
        "interfaces": [
            {"name": "br-ex", "type": "ovs-interface", "state": "up", "ipv4": {"enabled": True, "address": addresses}},
            {
                "name": "br-ex",
                "type": "ovs-bridge",
                "state": "up",
                "bridge": {"port": listed},
            },
        ],
        "routes": {"config": [{key: value for key, value in ROUTE.items() if key != "table-id"}]},
    }


def compared(document: dict[str, Any], others: Others = OVN) -> dict[str, Any]:
    return remaining(libnmstate.generate_differences(document, NODE), NODE, others)


def test_what_another_program_added_is_no_difference() -> None:
    """Its addresses, routes, ports and external ids: a reload beside OVN-Kubernetes applies nothing."""
    assert compared(file([ADDRESS])) == {}
    assert compared(file([ADDRESS]), Others()) != {}


def test_what_the_file_names_and_the_link_lacks_is_a_difference() -> None:
    """Another address, another prefix, a port: each as before."""
    other = {"ip": "192.0.2.6", "prefix-length": 24}
    (link,) = compared(file([ADDRESS, other]))["interfaces"]
    assert [each["ip"] for each in link["ipv4"]["address"]] == ["192.0.2.5", "192.0.2.6"]
    (link,) = compared(file([{**ADDRESS, "prefix-length": 25}]))["interfaces"]
    assert link["ipv4"]["address"] == [{**ADDRESS, "prefix-length": 25}]
    found = compared(file([ADDRESS], ("eth0", "br-ex", "eth1")))["interfaces"]
    assert "ovs-bridge" in {link.get("type") for link in found}


def test_what_the_file_no_longer_names_is_a_difference_where_it_is_ours() -> None:
    """An address that NetworkManager has from the file before must go."""
    mine = Others(tuple(each for each in OVN.things if each.kind is Kind.ROUTE), OVN.ports, OVN.patched)
    (link,) = compared(file([ADDRESS]), mine)["interfaces"]
    assert link["ipv4"]["address"] == [ADDRESS]


def test_an_address_of_another_program_that_the_file_names_is_no_difference() -> None:
    """What the file asks for stays, whichever program set it, such as masquerade addresses in the file."""
    assert compared(file([ADDRESS, MASQUERADE])) == {}


def test_the_plan_of_a_bridge_sees_nothing_of_others() -> None:
    """Neither their addresses, their routes nor their ports can get into a profile; other links are as they are."""
    beside = {"name": "eth1", "type": "ethernet", "state": "up", "ipv4": {"enabled": True, "address": [MASQUERADE]}}
    on_it = {**SERVICE, "next-hop-interface": "eth1", "table-id": 254}
    both = Others((*OVN.things, Thing(Kind.ADDRESS, "eth1", ("169.254.0.2",))), OVN.ports, OVN.patched)
    state = {"interfaces": [*NODE["interfaces"], beside], "routes": {"config": [*NODE["routes"]["config"], on_it]}}
    found = without_others(state, both)
    inside, bridge, other = found["interfaces"]
    assert inside["ipv4"]["address"] == [ADDRESS]
    assert bridge["bridge"]["port"] == [{"name": "br-ex"}, {"name": "eth0"}]
    assert found["routes"]["config"] == [ROUTE, on_it]
    assert other == beside
    assert without_others(state, Others()) is state
