"""Do the facts of a br-ex survive being written down, and does a wrong document say where it is wrong?"""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Interface, IPv6Address

import pytest

from nodenet.core.br_ex import facts_json as bridge_facts_json
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.errors import SnapshotInvalid
from nodenet.core.network_manager.profiles import Device, Lease4, Lease6, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort

PROFILE = Profile("u-1", "Wired connection 1", "802-3-ethernet", settings={"ipv4": {"method": "auto", "dns-data": []}})
FACTS = BridgeFacts(
    state={"interfaces": [{"name": "eth0", "mtu": 1500}]},
    devices=(
        Device(
            "eth0",
            "ethernet",
            mac="52:54:00:00:00:01",
            profile=PROFILE,
            lease4=Lease4(IPv4Interface("192.0.2.5/24"), IPv4Address("192.0.2.1"), "01:52:54", 1.5, 3600.0),
            lease6=Lease6(IPv6Address("2001:db8::5"), duid="00:03", iaid="0:0:0:1"),
        ),
    ),
    profiles=(PROFILE,),
    sysctls={"eth0": {"net/ipv4/conf/forwarding": "1"}},
    node_ips=(IPv4Address("192.0.2.5"), IPv6Address("2001:db8::5")),
    node_ip_link="eth0",
    default_bridge="eth0\n",
    ovs=(OvsBridge("br-int", ports=(OvsPort("p", (OvsInterface("p", "patch"),)),), external_ids={"a": "b"}),),
)


def test_facts_survive_being_written_down() -> None:
    """What is printed on one node plans the same on another."""
    text = json.dumps(bridge_facts_json.document(FACTS))
    assert bridge_facts_json.parse(text) == FACTS


def test_every_key_may_be_missing() -> None:
    assert bridge_facts_json.parse("{}") == BridgeFacts()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "[] at $, an object was expected"),
        ('{"schema_version": 2}', "2 at $.schema_version, 1 was expected"),
        ('{"state": []}', "[] at $.state, an object was expected"),
        ('{"devices": [{}, {"kind": "ethernet"}]}', "null at $.devices[1].link, a string was expected"),
        ('{"devices": [{"link": "a", "profile": "u"}]}', '"u" at $.devices[0].profile, the uuid of one of'),
        ('{"devices": [{"link": "a", "lease4": {"address": "x"}}]}', '"x" at $.devices[0].lease4.address, an IPv4'),
        ('{"devices": [{"link": "a", "lease6": {"address": "x"}}]}', '"x" at $.devices[0].lease6.address, an IPv6'),
        ('{"profiles": [{"uuid": "u", "settings": {"ipv4": 1}}]}', "1 at $.profiles[0].settings.ipv4, an object"),
        ('{"sysctls": {"eth0": {"net/x": 1}}}', "1 at $.sysctls.eth0.net/x, a string was expected"),
        ('{"node_ips": ["192.0.2.5", "here"]}', '"here" at $.node_ips[1], an IP address was expected'),
        ('{"ovs": [{"name": "b", "ports": [{}, {"name": ""}]}]}', '"" at $.ovs[0].ports[1].name, a string'),
        ('{"node_ips": [', "is not JSON, line 1, column 15, at $.node_ips[0]"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SnapshotInvalid) as caught:
        bridge_facts_json.parse(text)
    assert said in caught.value.cause
    assert "nodenetctl" in caught.value.remedy
