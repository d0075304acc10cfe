"""Are addresses read right where their messages are laid out differently?"""

from __future__ import annotations

import struct
from ipaddress import ip_address

from nodenet.core.kernel.rtnetlink_messages import addresses
from nodenet.core.kernel.snapshot import Address, AddressFlag

NAMES = {2: "eth0"}


def message(*attributes: tuple[int, bytes], family: int = 2, flags: int = 0x80, index: int = 2) -> memoryview:
    """Return an RTM_NEWADDR body."""
    body = struct.pack("=BBBBI", family, 24, flags, 0, index)
    for kind, value in attributes:
        body += struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
    return memoryview(body)


def local(text: str) -> tuple[int, bytes]:
    return 2, ip_address(text).packed


def test_of_two_messages_of_one_size_each_is_read_by_its_own_layout() -> None:
    label = (3, b"eth\0")
    found = list(addresses([message(label, local("192.0.2.1")), message(local("192.0.2.2"), label)], NAMES))
    assert found == [Address(ip_address(text), 24, "eth0", "eth") for text in ("192.0.2.1", "192.0.2.2")]


def test_without_a_local_address_there_is_no_peer() -> None:
    far = (1, ip_address("192.0.2.9").packed)
    first, second = addresses([message(far), message(far, local("192.0.2.1"))], NAMES)
    assert first == Address(ip_address("192.0.2.9"), 24, "eth0")
    assert second == Address(ip_address("192.0.2.1"), 24, "eth0", peer=ip_address("192.0.2.9"))


def test_the_longer_flags_win_and_a_lifetime_may_end() -> None:
    flags, ends = (8, struct.pack("=I", 0x20)), (6, struct.pack("=IIII", 0, 600, 1, 1))
    one, other = addresses([message(local("192.0.2.1"), ends, flags), message(local("192.0.2.1"), flags=0x81)], NAMES)
    assert one
    assert (one.valid_lifetime, one.preferred_lifetime) == (600, 0)
    assert one.flags == {AddressFlag.DEPRECATED, AddressFlag.DYNAMIC}
    assert other == Address(ip_address("192.0.2.1"), 24, "eth0", flags=frozenset({AddressFlag.SECONDARY}))


def test_other_protocols_are_passed_over_and_unknown_links_told() -> None:
    odd = [message(local("192.0.2.1"), family=45), message(local("192.0.2.1"), index=9), message()]
    assert list(addresses(odd, NAMES)) == [None, None]


def test_of_a_terse_link_only_the_address_is_told() -> None:
    found = list(addresses([message(local("192.0.2.1"), (3, b"eth0:1\0"))], NAMES, {2}))
    assert found == [Address(ip_address("192.0.2.1"), 24, "eth0")]
