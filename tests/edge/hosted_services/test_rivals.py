"""Which other hosts claim an address of this node, between namespaces of the test's own."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, ip_address

import pytest

from edge.hosted_services.test_wire import MACS, hosts, pytestmark
from edge.namespace import Namespace
from nodenet.core.ip import IPAddress
from nodenet.edge.hosted_services.other_stacks import Rivals

__all__ = ["hosts", "pytestmark"]
OWN4, OWN6 = ip_address("192.0.2.11"), ip_address("2001:db8::11")


def rivals(host: Namespace, meanwhile: Callable[[], None] = lambda: None) -> Mapping[IPAddress, frozenset[str]]:
    def asked() -> Mapping[IPAddress, frozenset[str]]:
        watch = Rivals()
        watch.ask((OWN4, OWN6), "br0")
        meanwhile()
        time.sleep(0.3)
        return watch.heard()

    return host.call(asked)


def test_a_host_with_the_same_addresses_is_heard_in_both_families(hosts: dict[int, Namespace]) -> None:
    """This node itself, and hosts with other addresses, are not."""
    assert rivals(hosts[1]) == {}
    hosts[3].ip("address add 192.0.2.11/24 dev eth0", "address add 2001:db8::11/64 dev eth0 nodad")
    assert rivals(hosts[1]) == {OWN4: frozenset({MACS[3]}), OWN6: frozenset({MACS[3]})}


@pytest.mark.parametrize(("claimed", "heard"), [("192.0.2.11", True), ("192.0.2.99", False)])
def test_an_announcement_counts_as_a_claim(hosts: dict[int, Namespace], claimed: str, heard: bool) -> None:  # noqa: FBT001
    """A host may announce an address and answer no question; announcements of other addresses do not arrive."""
    address = IPv4Address(claimed).packed
    mac = bytes.fromhex(MACS[2].replace(":", ""))
    packet = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, mac, address, bytes(6), address)

    def announce() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
            line.bind(("eth0", 0))
            line.send(b"\xff" * 6 + mac + b"\x08\x06" + packet)

    found = rivals(hosts[1], lambda: hosts[2].call(announce))
    assert found == ({OWN4: frozenset({MACS[2]})} if heard else {})


def test_a_link_that_cannot_be_asked_has_no_rivals(hosts: dict[int, Namespace]) -> None:
    def asked() -> Mapping[IPAddress, frozenset[str]]:
        watch = Rivals()
        watch.ask((OWN4, OWN6), "none0")
        return watch.heard()

    assert hosts[1].call(asked) == {}
