"""Questions and answers about neighbours, as bytes of rtnetlink."""

from __future__ import annotations

import struct
from ipaddress import ip_address

import pytest

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour, dump, get, learn, neighbour, neighbours, probe, refusals, resolve
from nodenet.core.kernel.rtnetlink import SCRATCH, Dump

MAC = bytes.fromhex("525400000001")
BOTH = pytest.mark.parametrize("address", [ip_address("192.0.2.1"), ip_address("2001:db8::1")], ids=str)


@BOTH
def test_an_entry_that_is_sent_is_read_back(address: IPAddress) -> None:
    """``learn`` has the form of the kernel's own message, RTM_NEWNEIGH."""
    (found,) = neighbours(learn(7, Neighbour(3, address, 0x02, MAC, router=True)))
    assert (found.link_index, found.address, found.mac, found.router) == (7, address, MAC, True)
    assert found.known
    assert found.left_alone, "it is used at once, and confirmed by the kernel later"


@BOTH
def test_every_order_names_link_and_address(address: IPAddress) -> None:
    for order in (get, probe, resolve):
        message = order(7, address)
        assert struct.unpack_from("=I", message)[0] == len(message)
        assert struct.unpack_from("=i", message, 20)[0] == 7
        assert message.endswith(address.packed)


@pytest.mark.parametrize(
    ("state", "mac", "told"),
    [
        # known, fixed, answered, left alone (linux/neighbour.h, NUD_*)
        (0x01, None, (False, False, False, False)),
        (0x02, MAC, (True, False, True, False)),
        (0x04, MAC, (True, False, False, True)),
        (0x08, MAC, (True, False, False, True)),
        (0x10, MAC, (True, False, False, False)),
        (0x20, None, (False, False, False, True)),
        (0x40, MAC, (True, True, False, False)),
        (0x80, MAC, (True, True, True, False)),
    ],
)
def test_what_a_state_means(state: int, mac: bytes | None, told: tuple[bool, ...]) -> None:
    found = Neighbour(1, ip_address("192.0.2.1"), state, mac)
    assert (found.known, found.fixed, found.answered, found.left_alone) == told


def test_refusals_are_seen() -> None:
    refused = struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -1)
    assert list(refusals(refused)) == [1]
    assert list(refusals(learn(1, Neighbour(1, ip_address("192.0.2.1"), 2, MAC)))) == []


def test_a_list_is_read_as_every_other_list_of_the_kernel() -> None:
    assert struct.unpack_from("=IHH", dump()) == (28, 30, 0x301), "RTM_GETNEIGH of every family and link"
    entry = Neighbour(7, ip_address("192.0.2.1"), 0x04, MAC)
    answer = learn(7, entry) + struct.pack("=IHHIIi", 20, 3, 2, 1, 0, 0)
    read = Dump()
    assert [neighbour(body) for body in read.every(memoryview(answer + bytes(SCRATCH)), len(answer))] == [entry]
    assert read.done
    assert neighbour(memoryview(bytes(8))) is None
