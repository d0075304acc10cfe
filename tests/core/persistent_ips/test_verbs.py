from __future__ import annotations

import json
from typing import Any

import pytest

from nodenet.core.persistent_ips import cni
from nodenet.core.persistent_ips.cni import CniError, Request
from nodenet.core.persistent_ips.verbs import check, doomed, full
from persistent_ips_story import added, vm
from persistent_ips_world import World, network


def request(container: str = "c1", **changes: Any) -> Request:
    configuration = {"cniVersion": "1.1.0", "name": "blue", "ipam": {}, **changes}
    fields = {
        "container_id": container,
        "netns": "/n",
        "ifname": "net1",
        "args": "",
        "config": json.dumps(configuration),
    }
    return cni.parse({"version": 1, "command": "CHECK", **fields})


def test_check_compares_with_the_answer() -> None:
    world = World(1)
    book = world.nodes[0].book
    (address,) = added(world, world.nodes[0], vm(world), "c1")
    check(book, request(prevResult={"ips": [{"address": address}, {"address": "198.51.100.1/24"}]}))
    for wrong, text in (
        (request("c2"), "Interface net1 of container c2 is not attached"),
        (request(), "prevResult is missing: CHECK compares with it"),
        (request(prevResult={"ips": []}), f"prevResult has not {address}, which claim vms/vm has"),
    ):
        with pytest.raises(CniError) as caught:
            check(book, wrong)
        assert caught.value.text == text


def test_gc_finds_what_is_not_valid_of_its_network() -> None:
    world = World(1)
    for number in range(3):
        added(world, world.nodes[0], world.api.put_pod(f"p{number}"), f"c{number}")
    book = world.nodes[0].book
    assert {one.container_id for one in doomed(book, "blue", {("c1", "net1")})} == {"c0", "c2"}
    assert doomed(book, "red", ()) == ()


def test_a_full_pool_is_seen() -> None:
    world = World(1, network(subnets="192.0.2.0/30"))
    book = world.nodes[0].book
    for number in range(2):
        assert full(book, world.network) is None
        added(world, world.nodes[0], world.api.put_pod(f"p{number}"))
    assert full(book, world.network) == world.network.pools[0]
