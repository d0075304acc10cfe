"""Which hosts answer for an address, between namespaces of the test's own."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from ipaddress import ip_address

import pytest

from edge.namespace import Namespace
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.edge.hosted_services.wire import AddressEvents, Wire

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)
VIP4, VIP6 = ip_address("192.0.2.2"), ip_address("2001:db8::2")
NOBODY4, NOBODY6 = ip_address("192.0.2.9"), ip_address("2001:db8::9")
MACS = {1: "02:00:00:00:00:01", 2: "02:00:00:00:00:02", 3: "02:00:00:00:00:03"}


@pytest.fixture
def hosts() -> Iterator[dict[int, Namespace]]:
    """Three hosts on one bridge, which is in the first one."""
    made = {number: Namespace() for number in MACS}
    try:
        for host in made.values():
            host.sysctl("net/ipv6/conf/default/accept_dad", 0)
        made[1].ip("link add br0 type bridge", f"link set br0 address {MACS[1]} up")
        for number, host in made.items():
            if number > 1:
                made[1].ip(
                    f"link add p{number} type veth peer name eth0 address {MACS[number]} netns {host._holder.pid}",
                    f"link set p{number} master br0 up",
                )
                host.ip(f"address add 192.0.2.1{number}/24 dev eth0", f"address add 2001:db8::1{number}/64 dev eth0")
                host.ip("link set eth0 up")
        made[1].ip("address add 192.0.2.11/24 dev br0", "address add 2001:db8::11/64 dev br0")
        yield made
    finally:
        for host in made.values():
            host.close()


def claims(host: Namespace, link: str, *addresses: IPAddress) -> Mapping[IPAddress, frozenset[str]]:
    return host.call(lambda: asyncio.run(Wire().claims(addresses, link)))


def test_nobody_and_one_holder_are_seen_in_both_families(hosts: dict[int, Namespace]) -> None:
    assert claims(hosts[1], "br0", VIP4, VIP6) == {VIP4: frozenset(), VIP6: frozenset()}
    hosts[2].ip("address add 192.0.2.2/24 dev eth0", "address add 2001:db8::2/128 dev eth0 nodad")
    found = claims(hosts[1], "br0", VIP4, VIP6, NOBODY4, NOBODY6)
    assert found == {VIP4: {MACS[2]}, VIP6: {MACS[2]}, NOBODY4: frozenset(), NOBODY6: frozenset()}


def test_two_holders_are_two(hosts: dict[int, Namespace]) -> None:
    for number in (2, 3):
        hosts[number].ip("address add 192.0.2.2/24 dev eth0", "address add 2001:db8::2/128 dev eth0 nodad")
    assert claims(hosts[1], "br0", VIP4, VIP6) == {VIP4: {MACS[2], MACS[3]}, VIP6: {MACS[2], MACS[3]}}
    assert claims(hosts[2], "eth0", VIP4, VIP6) == {VIP4: {MACS[3]}, VIP6: {MACS[3]}}, "the own answer is left out"


def test_a_link_that_is_not_there_and_one_without_ethernet(hosts: dict[int, Namespace]) -> None:
    with pytest.raises(Unavailable, match=r"^The hosts on br9 cannot be asked for an address: No such device$"):
        claims(hosts[1], "br9", VIP4)
    hosts[1].ip("link set br0 down")
    assert claims(hosts[1], "br0", VIP4, VIP6) == {VIP4: frozenset(), VIP6: frozenset()}


def test_the_kernel_knows_the_node_that_sends_it_packets(hosts: dict[int, Namespace]) -> None:
    """The holder of a VIP sends its advertisements from its node IP to each peer, and asks for the peer's MAC first."""

    def speak() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.sendto(b"", ("192.0.2.11", 9))

    hosts[2].call(speak)
    deadline = time.monotonic() + 5
    wanted = (ip_address("192.0.2.12"), MACS[2])
    while wanted not in hosts[1].call(lambda: Wire().neighbours("br0")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_advertisement_that_a_router_has_passed_on_is_no_claim(hosts: dict[int, Namespace]) -> None:
    """Any host of the Internet could say that a VIP has two holders (RFC 4861, 7.1.2)."""
    message = struct.pack("!BBHI16s", 136, 0, 0, 0x60000000, VIP6.packed) + b"\x02\x01" + bytes(6)

    def send(hops: int) -> None:
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as line:
            line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)
            end = time.monotonic() + 0.8  # longer than the question
            while time.monotonic() < end:
                line.sendto(message, ("2001:db8::11", 0))
                time.sleep(0.02)

    for hops, found in ((64, frozenset()), (255, frozenset({"00:00:00:00:00:00"}))):
        forger = hosts[2].start(lambda hops=hops: send(hops))  # type: ignore[misc]
        assert claims(hosts[1], "br0", VIP6) == {VIP6: found}
        forger.result()


def test_each_change_of_an_address_ends_a_wait_and_others_do_not() -> None:
    with closing(Namespace()) as space:
        space.ip("link add eth0 type veth peer name far0", "link set eth0 up")

        async def listen() -> list[bool]:
            with closing(AddressEvents()) as events:
                await events.next()  # at once
                found = []
                for change in (
                    "address add 192.0.2.10/24 dev eth0",
                    "address delete 192.0.2.10/24 dev eth0",
                    "address add 2001:db8::10/64 dev eth0 nodad",
                    "link set eth0 mtu 1400",
                ):
                    await asyncio.to_thread(space.ip, change)
                    try:
                        async with asyncio.timeout(0.3 if "mtu" in change else 10):
                            await events.next()
                        found.append(True)
                    except TimeoutError:
                        found.append(False)
                return found

        assert space.call(lambda: asyncio.run(listen())) == [True, True, True, False]


async def test_a_listener_that_was_closed_listens_again_at_its_next_wait() -> None:
    events = AddressEvents()
    for _ in range(2):
        async with asyncio.timeout(5):
            await events.next()
        events.close()
        events.close()
