"""Which link takes the place of the one below br-ex, and what is remembered of the bridge then?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.source import source_of, takes_over
from nodenet.core.br_ex.take_over import over_another, refuse_removal, without_bridge
from nodenet.core.errors import UplinkRefused
from nodenet.core.network_manager.objects import KeptProfile


def text(value: str) -> list[Any]:
    return ["variant", "s", ["plain", value]]


OF_PORT = {"type": text("802-3-ethernet"), "interface-name": text("eth1")}
CONTROLLED = {"controller": text("u-p"), "port-type": text("ovs-port"), "master": text("u-p")}
AUTO, NONE = {"method": text("auto")}, {"method": text("disabled")}
PORT = KeptProfile(
    "u-1",
    "spare",
    "/etc/spare.nmconnection",
    in_memory=False,
    keyfile="[connection]",
    settings={
        "connection": ["dict", OF_PORT | CONTROLLED],
        "802-3-ethernet": ["dict", {"mtu": ["variant", "u", ["plain", 1500]]}],
        "ovs-interface": ["dict", {"type": text("system")}],
        "ipv4": ["dict", NONE],
        "ipv6": ["dict", NONE],
    },
)
ORIGINAL = KeptProfile(
    "u-0",
    "uplink",
    "",
    in_memory=True,
    settings={"connection": ["dict", {"zone": text("public")}], "ipv4": ["dict", AUTO], "ipv6": ["dict", NONE]},
)


def with_address(facts: BridgeFacts, address: str) -> BridgeFacts:
    """Return *facts* in which eth1 has an IPv4 address."""
    ip = {"enabled": True, "address": [{"ip": address, "prefix-length": 24}]}
    links = [item | {"ipv4": ip} if item["name"] == "eth1" else item for item in facts.state["interfaces"]]
    return replace(facts, state={**facts.state, "interfaces": links})


@pytest.mark.parametrize(("address", "takes"), [("10.88.0.7", True), ("10.89.0.7", False)])
def test_a_link_in_the_network_of_the_bridge_takes_the_place_and_one_in_another_network_does_not(
    address: str, *, takes: bool
) -> None:
    facts = with_address(facts_of(CASES / "takes-over"), address)
    assert takes_over(facts, "br-ex", "eth1") is takes
    assert source_of(facts, "br-ex", "eth1").link == ("br-ex" if takes else "eth1")


def test_a_link_with_the_node_ip_and_a_bridge_of_another_program_change_nothing_below() -> None:
    facts = facts_of(CASES / "takes-over")
    assert takes_over(facts, "br-ex", "eth1")
    assert not takes_over(facts, "br-ex", "eth0")
    assert not takes_over(replace(facts, node_ip_link="eth1"), "br-ex", "eth1")
    row = replace(facts.ovs[0], external_ids={})
    assert not takes_over(replace(facts, ovs=(row,)), "br-ex", "eth1")


def test_the_link_gets_the_settings_of_the_first_one_if_the_bridge_goes() -> None:
    """Its own hardware settings stay; DHCP knows the node by the identifier of the bridge."""
    record = BridgeRecord({"br-ex": "eth0", "br-ex1": "eth2"}, {"eth0": "aa"}, (), {"eth0": ORIGINAL}, ("u-0",))
    found = over_another(record, "br-ex", "eth1", PORT, "bb", "01:aa")
    kept = KeptProfile(
        "u-1",
        "spare",
        "/etc/spare.nmconnection",
        in_memory=False,
        settings={
            "connection": ["dict", {**OF_PORT, "zone": text("public")}],
            "802-3-ethernet": PORT.settings["802-3-ethernet"],
            "ipv4": ["dict", AUTO | {"dhcp-client-id": text("01:aa")}],
            "ipv6": ["dict", NONE],
        },
    )
    uplinks = {"br-ex": "eth1", "br-ex1": "eth2"}
    assert found == BridgeRecord(uplinks, {"eth1": "bb"}, (), {"eth1": kept}, ("u-0", "u-1"))
    static = replace(ORIGINAL, settings={**ORIGINAL.settings, "ipv4": ["dict", NONE]})
    assert without_bridge(PORT, static, "01:aa").settings["ipv4"] == ["dict", NONE]


def test_br_ex_stays_if_a_node_file_would_give_its_addresses_to_the_first_link() -> None:
    taken = facts_of(CASES / "standing-ours-taken-over")
    refuse_removal(taken, in_file=False)
    refuse_removal(facts_of(CASES / "standing-ours"), in_file=True)
    with pytest.raises(UplinkRefused, match="gives eth0 the configuration of br-ex, which is over eth1"):
        refuse_removal(taken, in_file=True)
