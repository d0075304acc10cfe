"""The packets of ARP, neighbour discovery and VRRP, and those that any host may make up."""

from ipaddress import IPv4Address, IPv6Address

from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hosted_services import keepalived as packets
from nodenet.core.hosted_services.keepalived import Claim

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
