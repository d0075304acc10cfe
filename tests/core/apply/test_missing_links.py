"""Which missing links a node file waits for."""

from __future__ import annotations

import pytest

from nodenet.core.apply.awaited_links import MOST, host_has, keys, lacking, missing, missing_bases, missing_reason
from nodenet.core.kernel.snapshot import Link
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.links import Links

FILE = Links(awaited=frozenset({"eth0", "eth9"}))
GONE = NmstateFailure(FailureKind.INVALID, "Interface eth9 does not exist")


def test_a_link_that_the_kernel_does_not_have_and_libnmstate_names() -> None:
    assert missing(FILE, {"eth0", "lo"}, GONE) == {"eth9"}


def test_every_missing_link_is_waited_for_where_libnmstate_names_one() -> None:
    assert missing(FILE, {"lo"}, GONE) == {"eth0", "eth9"}


def test_a_nic_that_the_file_identifies_by_its_mac_address() -> None:
    """The name in the file is that of a profile; libnmstate has the address in capital letters."""
    file = Links(macs={"uplink": "02:00:00:00:00:aa"})
    gone = NmstateFailure(
        FailureKind.INVALID,
        "Desired interface uplink has `identifier: mac-address` with MAC address 02:00:00:00:00:AA, but no interface "
        "is holding that MAC address",
    )
    assert missing(file, keys([Link(2, "eth0", mac="02:00:00:00:00:01")]), gone) == {"02:00:00:00:00:aa"}
    assert missing(file, keys([Link(2, "eth0", mac="02:00:00:00:00:AA")]), gone) == frozenset()


def test_a_name_that_was_translated_is_in_the_words_of_libnmstate() -> None:
    translated = NmstateFailure(FailureKind.INVALID, "this host has no such link", said=GONE.cause)
    assert missing(FILE, {"eth0"}, translated) == {"eth9"}


@pytest.mark.parametrize(
    ("present", "failure"),
    [
        ({"eth0", "eth9"}, GONE),  # by another name of the link, as an altname
        ({"eth0"}, NmstateFailure(FailureKind.INVALID, "eth0: unknown key mtuu")),
        ({"eth0"}, NmstateFailure(FailureKind.INVALID, "Interface eth99 does not exist")),
        ({"eth0"}, NmstateFailure(FailureKind.VERIFICATION, "eth9 is not there")),
    ],
)
def test_nothing_else_is_waited_for(present: set[str], failure: NmstateFailure) -> None:
    """A file that is wrong in another way is refused at once."""
    assert missing(FILE, present, failure) == frozenset()


def test_the_link_below_a_vlan_is_missed_before_the_apply() -> None:
    """Libnmstate would make profiles that NetworkManager cannot activate."""
    assert missing_bases(Links(bases=frozenset({"eth0", "eth9"})), {"eth0", "lo"}) == {"eth9"}


def test_the_reason_names_link_file_and_the_links_that_there_are() -> None:
    there = "this host has eth0"
    assert missing_reason("a.yml", {"eth9"}, there) == f"the link eth9 of a.yml, which udev may still bring; {there}"
    assert missing_reason("a.yml", {"b", "a"}, there).startswith("the links a, b of a.yml")


def test_the_links_that_there_are_have_their_mac_speed_and_carrier() -> None:
    links = [
        Link(1, "lo", loopback=True),
        Link(2, "eth0", mac="52:54:00:00:00:01", permanent_mac="52:54:00:00:00:0a"),
        Link(3, "eth1", mac="52:54:00:00:00:02", carrier=False),
        Link(4, "eth2"),
        Link(5, "bond0", kind="bond"),
    ]
    assert host_has(links, {"eth0": 25000, "eth1": 100, "eth2": -1}) == (
        "this host has eth0 (52:54:00:00:00:0a, 25 Gbit/s, carrier), "
        "eth1 (52:54:00:00:00:02, 100 Mbit/s, no carrier), eth2 (carrier)"
    )
    assert host_has(links[:1], {}) == "this host has no NIC"
    assert host_has([Link(number, f"eth{number}") for number in range(MOST + 3)], {}).endswith(" and 3 more")


def test_what_a_file_names_and_a_host_lacks() -> None:
    """By name, by an alternative name, and by the MAC that identifies a NIC."""
    present = (Link(2, "ens3", altnames=("eth0",), mac="02:00:00:00:00:AA"),)
    assert lacking(FILE, present) == ("eth9",)
    file = Links(macs={"wan": "02:00:00:00:00:aa", "lan": "02:00:00:00:00:bb"})
    assert lacking(file, present) == ("lan with the MAC address 02:00:00:00:00:bb",)
