"""What each line of `nodenetctl doctor` says, and what it is worth."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from nodenet.core.boot.outcome import Problem
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.uplink_health.doctor import (
    Kubelet,
    Line,
    Ping,
    Seen,
    State,
    document,
    exit_code,
    lines,
    place,
    printed,
)
from nodenet.core.uplink_health.watched import Gateway, gateways

NODE_IP, ROUTER, SERVER = map(ip_address, ("10.88.0.50", "10.88.0.1", "10.88.0.2"))
GATEWAY = Gateway(ROUTER, "eth0")
ETH0 = Link(2, "eth0", mac="02:00:00:00:00:50")
DEFAULT = Route(ip_network("0.0.0.0/0"), (NextHop("eth0", ROUTER),))
LEASED = Address(NODE_IP, 24, "eth0", valid_lifetime=43_000)
NODE = Snapshot((ETH0,), (LEASED,), (DEFAULT,))
GOOD = Seen(
    snapshot=NODE,
    place=place(NODE, (NODE_IP,), None, None),
    node_ips=(NODE_IP,),
    this_boot=True,
    uplinks=("eth0",),
    gateways={GATEWAY: True},
    pings={GATEWAY: Ping.ALL},
    servers={SERVER: True},
    claims={},
    kubelet=Kubelet(("kubelet",), "10.88.0.50"),
    manager=ManagerState.READY,
    lease_seconds=86_400,
    now=2_000.0,
    in_words="NOW",
    release=1_000.0,
    synchronised=True,
)
PROBLEM = Problem(Message.NODE_IP_NOT_IN_USE, "kubelet runs with --node-ip=10.88.0.9", "`systemctl restart kubelet`")


def on(*addresses: Address, link: Link = ETH0) -> Snapshot:
    return Snapshot((link,), addresses, (DEFAULT,))


def test_a_good_node_has_ten_good_lines() -> None:
    found = lines(GOOD)
    assert [(line.state, line.remedy) for line in found] == [(State.GOOD, "")] * 10
    assert exit_code(found) == 0
    assert document(found)["lines"][5] == {  # type: ignore[index]
        "name": "gateway",
        "state": "ok",
        "text": "10.88.0.1 on eth0 answers",
        "remedy": "",
    }


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        ("cable", {"snapshot": on(LEASED, link=replace(ETH0, carrier=False))}, "eth0 has no carrier"),
        ("cable", {"snapshot": on(LEASED, link=replace(ETH0, up=False))}, "eth0 is down"),
        ("cable", {"uplinks": ("eth1",)}, "eth1, the uplink of eth0, does not exist"),
        ("cable", {"uplinks": ()}, "This node has no NIC"),
        ("NetworkManager", {"manager": ManagerState.ABSENT}, "NetworkManager is not on the bus yet"),
        ("NetworkManager", {"manager": None}, "NetworkManager does not answer in time"),
        ("address", {"node_ips": ()}, "No node IP is published; this node has 10.88.0.50 on eth0"),
        ("address", {"this_boot": False}, "No node IP is published in this boot; 10.88.0.50 is of an earlier one"),
        (
            "address",
            {"snapshot": on()},
            "The node IP 10.88.0.50 is on no link; this node has no address that others reach",
        ),
        (
            "address",
            {"snapshot": on(replace(LEASED, flags=frozenset({AddressFlag.DAD_FAILED})))},
            "IPv6 does not use 10.88.0.50: duplicate address detection has failed or is not over",
        ),
        ("duplicate", {"claims": {NODE_IP: ["02:bb"]}}, "02:bb has the node IP 10.88.0.50"),
        (
            "lease",
            {"manager": ManagerState.ABSENT},
            "10.88.0.50 on eth0 ends in 11 h, and NetworkManager does not renew it",
        ),
        (
            "lease",
            {"snapshot": on(replace(LEASED, valid_lifetime=3_600))},
            "10.88.0.50 on eth0 ends in 60 min, and no DHCP server has renewed it",
        ),
        ("gateway", {"gateways": {}}, "There is no default route with a gateway"),
        ("gateway", {"gateways": {GATEWAY: False}}, "No answer from 10.88.0.1 on eth0"),
        (
            "gateway",
            {"gateways": {replace(GATEWAY, on_subnet=False): False}},
            "No answer from 10.88.0.1 on eth0; it is in no subnet of eth0",
        ),
        (
            "full-size ping",
            {"pings": {GATEWAY: Ping.SMALL}},
            "10.88.0.1 answers small pings only: packets as large as the MTU of eth0 are lost",
        ),
        ("DNS", {"servers": {}}, "No DNS server is listed"),
        ("DNS", {"servers": {SERVER: False, ROUTER: False}}, "No answer from 10.88.0.2 and 10.88.0.1"),
        ("kubelet", {"kubelet": Kubelet()}, "No kubelet runs"),
        ("kubelet", {"kubelet": Kubelet(("kubelet",), problem=PROBLEM)}, PROBLEM.cause),
        (
            "clock",
            {"now": 0.0},
            "It is set to NOW, which is before nodenet was installed",
        ),
    ],
)
def test_a_fault_is_named_with_a_remedy(name: str, changes: dict[str, Any], text: str) -> None:
    line = named(name, replace(GOOD, **changes))
    assert (line.state, line.text) == (State.BAD, text)
    assert line.remedy
    assert exit_code(lines(replace(GOOD, **changes))) == 1
    assert list(printed((line,)))[1].split() == ["to", "do", *line.remedy.split()]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("duplicate", {"claims": None}),
        ("gateway", {"gateways": {GATEWAY: None}}),
        ("full-size ping", {"pings": {GATEWAY: Ping.NONE}}),
        ("full-size ping", {"pings": {GATEWAY: None}}),
        ("kubelet", {"kubelet": Kubelet(("kubelet",), readable=False)}),
        ("clock", {"synchronised": False}),
        ("clock", {"synchronised": None}),
    ],
)
def test_what_could_not_be_asked_is_neither_right_nor_wrong(name: str, changes: dict[str, Any]) -> None:
    seen = replace(GOOD, **changes)
    assert named(name, seen).state is State.UNKNOWN
    assert exit_code(lines(seen)) == 2


def test_hosts_cannot_be_asked_without_a_carrier() -> None:
    """Silence on a dead link is no proof that an address is free."""
    seen = replace(GOOD, snapshot=on(LEASED, link=replace(ETH0, carrier=False)))
    assert named("duplicate", seen).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        ("lease", {"snapshot": on(replace(LEASED, valid_lifetime=None))}, "No address of eth0 ends"),
        ("DNS", {"servers": {SERVER: True, ROUTER: False}}, "10.88.0.2 answers; no answer from 10.88.0.1"),
        (
            "cable",
            {"snapshot": Snapshot((ETH0, Link(3, "eth1", carrier=False)), (LEASED,)), "uplinks": ("eth0", "eth1")},
            "eth0 has a carrier",
        ),
    ],
)
def test_what_is_good_enough(name: str, changes: dict[str, Any], text: str) -> None:
    assert named(name, replace(GOOD, **changes)) == Line(name, State.GOOD, text)


def test_the_place_is_where_the_node_ips_are_or_were() -> None:
    """Without a node IP on the node, the link that nodenetd reported counts; without nodenetd, a default route."""
    found = place(NODE, (NODE_IP,), "br-ex", "eth0")
    assert found is not None
    assert (found.link, found.uplink) == ("eth0", None)
    lost = place(on(), (NODE_IP,), "br-ex", "eth9")
    assert lost is not None
    assert (lost.link, lost.uplink) == ("br-ex", "eth9")
    routed = place(on(), (), None, None)
    assert routed is not None
    assert (routed.link, routed.families) == ("eth0", frozenset())
    assert place(Snapshot(), (), None, None) is None
    assert gateways(NODE, Family) == (Gateway(ROUTER, "eth0"),)


def named(name: str, seen: Seen) -> Line:
    return next(line for line in lines(seen) if line.name == name)
