"""Which entries of a list of nodes are used, and which hostile ones are left out."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hosted_services.model import ClusterNode, Role
from nodenet.core.hosted_services.nodes import MOST_ADDRESSES, MOST_NODES, NodeList, of_objects, of_status


def node(name: object = "master-0", *addresses: object, labels: object = None) -> dict[str, Any]:
    listed = [{"type": "InternalIP", "address": address} for address in addresses or ("192.0.2.10",)]
    return {"metadata": {"name": name, "labels": labels or {}}, "status": {"addresses": listed}}


def test_names_addresses_and_roles_are_read() -> None:
    master = node("master-0", "192.0.2.10", "2001:db8::10", labels={"node-role.kubernetes.io/control-plane": ""})
    old = node("master-1", "192.0.2.11", labels={"node-role.kubernetes.io/master": ""})
    master["status"]["addresses"].append({"type": "Hostname", "address": "master-0"})
    found = of_objects([node("worker-0", "192.0.2.20"), old, master])
    assert found.left_out == 0
    assert found.nodes == (
        ClusterNode("master-0", (ip_address("192.0.2.10"), ip_address("2001:db8::10")), Role.CONTROL_PLANE),
        ClusterNode("master-1", (ip_address("192.0.2.11"),), Role.CONTROL_PLANE),
        ClusterNode("worker-0", (ip_address("192.0.2.20"),), Role.WORKER),
    )


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        "a\nserver=/x/1",
        'a"b',
        "a;b",
        "a{b}",
        "-a",
        "a-",
        "A",
        "ä",
        "a..b",
        "a" * 64,
        "a." * 130 + "a",
        None,
        7,
    ],
)
def test_a_hostile_name_is_left_out(name: object) -> None:
    assert of_objects([node(name)]) == NodeList((), 1)


@pytest.mark.parametrize(
    "address",
    [
        *("", "192.0.2.1\n", "1.2.3", "::", "ff02::1", "127.0.0.1", "192.0.2.0/24", 7, None),
        *("fe80::1", "fe80::1%eth0", "2001:db8::9%\n192.0.2.66 api-int.c.example.com", "2001:db8::9%x]:1 #"),
        *("::ffff:192.0.2.66", "169.254.1.1", "255.255.255.255", "240.0.0.1", "0.0.0.9"),
    ],
)
def test_a_node_without_a_usable_address_is_left_out(address: object) -> None:
    assert of_objects([node("worker-0", address)]) == NodeList((), 1)


def test_a_list_that_is_none_or_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="not a list"):
        of_objects({})
    with pytest.raises(ValueError, match=f"{MOST_NODES} are the most"):
        of_objects([node()] * (MOST_NODES + 1))


def test_ten_thousand_nodes_are_read() -> None:
    many = [node(f"worker-{i}", f"192.0.{2 + i // 250}.{1 + i % 250}") for i in range(MOST_NODES)]
    assert len(of_objects(many).nodes) == MOST_NODES


JSON = st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))


@given(st.lists(st.fixed_dictionaries({"metadata": JSON, "status": JSON}) | JSON))
def test_no_entry_raises(items: list[object]) -> None:
    assert len(of_objects(items).nodes) + of_objects(items).left_out == len(items)
    assert of_status(items).left_out >= 0


def test_a_node_has_a_few_addresses_however_many_it_reports() -> None:
    (found,) = of_objects([node("worker-0", *(f"192.0.2.{number}" for number in range(1, 200)))]).nodes
    assert len(found.addresses) == MOST_ADDRESSES
