"""The facts of a node, from everybody who knows one."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from br_ex_rig import Rig
from fakes import FakeFiles, FakeKernel, FakeNmstate, FakeOvsdb, FakeProfiles, FakeStanding, FakeSysctls
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.kernel.snapshot import Address, AddressFlag, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.select import Selection
from nodenet.core.open_vswitch import OvsBridge
from nodenet.core.settings.model import Datapath
from nodenet.stages.br_ex.gather import DEFAULT_BRIDGE, EXTRA_BRIDGE, Gatherer

NODE_IP = ip_address("192.0.2.5")
PRIVACY = ip_address("2001:db8::beef")
STATE = {
    "interfaces": [
        {"name": "eth0", "ipv4": {"enabled": True}},
        {"name": "eth1", "ipv4": {"enabled": False}, "ipv6": {"enabled": False}},
        {"name": "veth7"},
    ]
}
PROFILE = Profile("u", "wired", "802-3-ethernet", "eth0")


def gatherer(files: dict[str, bytes] | None = None) -> Gatherer:
    addresses = (
        Address(NODE_IP, 24, "eth0"),
        Address(PRIVACY, 64, "eth0", flags=frozenset({AddressFlag.TEMPORARY})),
    )
    settings = {link: {"net/ipv4/conf/forwarding": "1"} for link in ("default", "eth0", "eth1", "veth7")}
    return Gatherer(
        FakeProfiles(Inventory((Device("eth0", "ethernet", profile=PROFILE),), (PROFILE,), global_dns=True)),
        FakeOvsdb(held=(OvsBridge("br-int"),)),
        FakeSysctls(settings),
        FakeKernel(Snapshot(addresses=addresses)),
        FakeStanding(),
        FakeFiles(files or {}),
    )


async def test_everything_is_there() -> None:
    """Settings only of links that speak IP, or that somebody names."""
    made = gatherer({str(DEFAULT_BRIDGE): b"eth1\n", str(EXTRA_BRIDGE): b"../../kernel\xff"})
    facts = await made.gather(
        FakeNmstate(shown=STATE), Selection((NODE_IP,), "eth0"), remembered="eth9", remembered_mac="02::"
    )
    assert set(facts.sysctls) == {"default", "eth0", "eth1"}
    assert replace(facts, sysctls={}) == BridgeFacts(
        state=STATE,
        temporary=(PRIVACY,),
        global_dns=True,
        devices=(Device("eth0", "ethernet", profile=PROFILE),),
        profiles=(PROFILE,),
        node_ips=(NODE_IP,),
        node_ip_link="eth0",
        default_bridge="eth1\n",
        extra_bridge="../../kernel\\xff",
        remembered="eth9",
        remembered_mac="02::",
        ovs=(OvsBridge("br-int"),),
    )


async def test_the_link_of_the_node_ips_is_where_they_are_now() -> None:
    """They may have moved since they were selected."""
    facts = await gatherer().gather(FakeNmstate(shown=STATE), Selection((NODE_IP,), "eth9"))
    assert facts.node_ip_link == "eth0"
    facts = await gatherer().gather(FakeNmstate(shown=STATE), Selection((ip_address("192.0.2.6"),), "eth9"))
    assert facts.node_ip_link == "eth9"


async def test_a_node_without_open_vswitch_and_without_a_node_ip() -> None:
    """Its facts can be told all the same."""
    made = gatherer()
    made.ovsdb.up = False  # type: ignore[attr-defined]
    facts = await made.gather(FakeNmstate(shown=STATE), None)
    assert (facts.ovs, facts.node_ips, facts.default_bridge) == ((), (), None)


@pytest.mark.parametrize(("datapath", "proven"), [(Datapath.SYSTEM, False), (Datapath.NETDEV, True)])
async def test_a_datapath_that_the_kernel_lacks_is_named(datapath: Datapath, *, proven: bool) -> None:
    """Before anything is touched; the userspace datapath needs none (R12)."""
    rig = Rig(ovsdb=FakeOvsdb(in_kernel=False))
    gatherer = Gatherer(rig.profiles, rig.ovsdb, rig.sysctls, rig.kernel, FakeStanding(), rig.files)
    if proven:
        await gatherer.prove_datapath(datapath)
        return
    with pytest.raises(NmstateFailure) as caught:
        await gatherer.prove_datapath(datapath)
    assert caught.value.cause == "the kernel has no datapath of Open vSwitch (kernel module openvswitch)"
    assert caught.value.kind is FailureKind.DEPENDENCY


async def test_a_vip_that_this_node_holds_is_no_part_of_a_link_and_its_node_ip_is() -> None:
    """A bridge would make the VIP a static address, and a second holder; a wrong setting names the node IP as one."""
    vip, listed = ip_address("192.0.2.2"), [{"ip": "192.0.2.2", "prefix-length": 24}]
    own = [{"ip": str(NODE_IP), "prefix-length": 24}]
    shown = {"interfaces": [{"name": "eth0", "ipv4": {"enabled": True, "address": [*listed, *own]}}]}
    made = replace(gatherer(), vips=(vip, NODE_IP))
    facts = await made.gather(FakeNmstate(shown=shown), Selection((NODE_IP,), "eth0"))
    assert facts.state["interfaces"][0]["ipv4"]["address"] == own
