"""What does keepalived's configuration say on this node? (keepalived.conf(5), RFC 3768, RFC 5798)"""

import re
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosted_services_cases import CASES, directories, read_inputs
from nodenet.core.hosted_services import keepalived as packets
from nodenet.core.hosted_services.duties import vip_duties
from nodenet.core.hosted_services.keepalived import Claim, configuration, guard_rules, router_ids
from nodenet.core.hosted_services.model import Inputs, Purpose


def test_the_router_ids_are_those_of_the_replaced_stack() -> None:
    """Computed by hand from Fletcher's sums modulo 15: (first, second) = (13, 0) for ``ostest-api``."""
    assert router_ids("ostest") == {Purpose.API: 14, Purpose.INGRESS: 93}


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63))
def test_the_ids_of_a_cluster_are_valid_and_differ(cluster: str) -> None:
    found = router_ids(cluster)
    assert len(set(found.values())) == 2
    assert all(1 <= number <= 239 for number in found.values())


@pytest.mark.parametrize("directory", directories(), ids=lambda path: path.name)
def test_a_vip_has_no_subnet_whatever_the_node_ip_has(directory: Path) -> None:
    """With the length of the subnet it became the node's primary address, and the source of every connection."""
    inputs = read_inputs(directory)
    text = configuration(inputs, vip_duties(inputs)) or ""
    lengths = {line.split()[0].partition("/")[2] for line in re.findall(r"virtual_ipaddress {\n(.*)\n", text)}
    assert lengths <= {"32", "128"}


def test_on_openstack_the_vips_of_one_purpose_are_on_one_node() -> None:
    """Neutron lets a port answer for both or for none."""
    inputs = read_inputs(CASES / "dual-stack-control-plane")
    stack = replace(inputs, options=replace(inputs.options, platform="openstack"))
    text = configuration(stack, vip_duties(stack)) or ""
    assert (
        "vrrp_sync_group ostest_API {\n    group {\n        ostest_API_ipv4\n        ostest_API_ipv6\n    }\n" in text
    )
    assert text.count("sync_group_tracking_weight") == 2, "without it, the weights of a member do not count"
    assert "vrrp_sync_group" not in (configuration(inputs, vip_duties(inputs)) or "")
    single = read_inputs(CASES / "control-plane")
    alone = replace(single, options=replace(single.options, platform="openstack"))
    assert "vrrp_sync_group" not in (configuration(alone, vip_duties(alone)) or "")


def made(inputs: Inputs) -> str:
    return guard_rules(inputs, vip_duties(inputs)) or ""


def test_beside_the_former_stack_any_hop_limit_of_ipv6_is_accepted_from_the_peers() -> None:
    inputs = read_inputs(CASES / "dual-stack-control-plane")
    text = made(replace(inputs, options=replace(inputs.options, advert_interval=1.0)))
    assert "hoplimit" not in text
    assert "ip ttl 255" in text


def test_a_node_without_peers_hears_no_host_and_one_without_vips_has_no_table() -> None:
    inputs = read_inputs(CASES / "control-plane")
    assert "accept\n" not in made(replace(inputs, nodes=inputs.nodes[:1])).replace("policy accept;\n", "")
    assert made(read_inputs(CASES / "user-managed-lb")) == ""


MAC = bytes.fromhex("020000000001")
VIP4, VIP6 = IPv4Address("192.0.2.2"), IPv6Address("2001:db8::1234:5678")


def test_an_arp_probe_has_no_sender_address() -> None:
    """RFC 5227, 2.1.1: it changes no cache."""
    packet = packets.arp_probe(MAC, VIP4)
    assert packet.hex() == "000108000604000102000000000100000000000000000000c0000202"
    assert packets.arp_claim(packet) is None, "a question claims nothing"


def test_an_arp_reply_is_a_claim() -> None:
    reply = bytes.fromhex("0001080006040002020000000002c000020202000000000100000000")
    assert packets.arp_claim(reply) == Claim(VIP4, "02:00:00:00:00:02")
    assert packets.arp_claim(reply + bytes(18)) == Claim(VIP4, "02:00:00:00:00:02"), "Ethernet pads short frames"
    assert packets.arp_claim(reply[:-1]) is None


def test_a_neighbour_solicitation_asks_the_solicited_node_group() -> None:
    message = packets.neighbour_solicit(MAC, VIP6)
    assert message.hex() == "8700000000000000" + VIP6.packed.hex() + "0101020000000001"
    assert str(packets.solicited_node(VIP6)) == "ff02::1:ff34:5678"


def test_a_neighbour_advertisement_is_a_claim_where_it_names_a_mac() -> None:
    head = bytes.fromhex("8800000060000000") + VIP6.packed
    assert packets.neighbour_claim(head + bytes.fromhex("0201020000000003")) == Claim(VIP6, "02:00:00:00:00:03")
    other = bytes.fromhex("0e01000000000000")
    assert packets.neighbour_claim(head + other + bytes.fromhex("0201020000000003")) is not None
    for wrong in (head, head + other, head + bytes.fromhex("0200020000000003"), b"\x87" + head[1:], b""):
        assert packets.neighbour_claim(wrong) is None


@given(st.binary(max_size=200))
def test_whatever_a_host_sends_is_a_claim_or_none(data: bytes) -> None:
    packets.arp_claim(data)
    packets.neighbour_claim(data)
    packets.neighbour_claim(b"\x88" + data)
