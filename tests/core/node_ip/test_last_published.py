"""Which node IPs were published last, so that a reboot does not select other ones without a reason?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest

from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, Snapshot
from nodenet.core.node_ip import last_published
from nodenet.core.node_ip.last_published import LastPublished, cause, last_publication, lost, unusable
from nodenet.core.node_ip.published_files import IPV6, KUBELET_DROP_IN, PRIMARY, Publication, files

V4, V6, OTHER = ip_address("192.0.2.5"), ip_address("2001:db8::5"), ip_address("192.0.2.6")
RECORD = LastPublished((V4, V6), "52:54:00:00:00:02", "boot-1")


def published(*addresses: str, this_boot: bool) -> dict[PurePosixPath, bytes | None]:
    """Return the files of a publication; those in /run are empty in a later boot."""
    found = files(Publication(tuple(map(ip_address, addresses))))
    return {file.path: file.content for file in found if this_boot or file.unit}


def test_the_files_say_whether_it_was_in_this_boot() -> None:
    """/run is empty after a boot, whatever became of the clock or the boot's number."""
    now = published("192.0.2.5", "2001:db8::5", this_boot=True)
    assert last_publication(RECORD, now) == replace(RECORD, this_boot=True)
    before = published("192.0.2.5", "2001:db8::5", this_boot=False)
    assert last_publication(replace(RECORD, this_boot=True), before) == RECORD


def test_a_record_that_could_not_be_written_does_no_harm() -> None:
    """The files name other addresses, and a later reload must not take them for those of an earlier boot (R15)."""
    now = published("192.0.2.6", this_boot=True)
    for stale in (None, RECORD):
        assert last_publication(stale, now) == LastPublished((OTHER,), this_boot=True)


def test_a_record_of_the_same_primary_still_knows_the_link() -> None:
    now = published("192.0.2.5", this_boot=True)
    assert last_publication(RECORD, now) == LastPublished((V4,), RECORD.permanent_mac, this_boot=True)


def test_what_a_boot_gave_up_is_what_the_next_one_wants() -> None:
    """In the boot that gave it up, kubelet runs with the other one."""
    record = replace(RECORD, addresses=(OTHER,), wanted=(V4, V6))
    now = published("192.0.2.6", this_boot=True)
    assert last_publication(record, now) == replace(record, this_boot=True)
    before = published("192.0.2.6", this_boot=False)
    assert last_publication(record, before) == last_publication(record, {}) == RECORD


@pytest.mark.parametrize(
    ("link", "is_on"),
    [
        (Link(2, "eth0", mac="52:54:00:00:00:02"), True),
        (Link(2, "enp1s0", mac="52:54:00:00:00:09", permanent_mac="52:54:00:00:00:02"), True),
        (Link(2, "br-ex", kind="openvswitch", mac="52:54:00:00:00:02"), True),
        (Link(2, "eth0", mac="52:54:00:00:00:03"), False),
        (Link(2, "eth0.10", kind="vlan", mac="52:54:00:00:00:02"), False),
        (Link(2, "eth0"), False),
    ],
)
def test_a_nic_is_known_by_its_mac(link: Link, *, is_on: bool) -> None:
    """A VLAN has the MAC of its NIC and is another network."""
    assert RECORD.is_on(link) is is_on
    on_vlan = replace(RECORD, vlan="eth0.10")
    assert on_vlan.is_on(link) is (link.name in ("eth0.10", "br-ex"))
    assert on_vlan.vlan_of(link) == ("eth0.10" if on_vlan.is_on(link) else "")
    assert not LastPublished((V4,)).is_on(link)


def test_without_files_the_record_is_left() -> None:
    """As of an earlier boot; an empty record is none."""
    assert last_publication(replace(RECORD, this_boot=True), {}) == RECORD
    assert last_publication(replace(RECORD, addresses=()), {}) is last_publication(None, {}) is None


@pytest.mark.parametrize(
    ("drop_in", "addresses"),
    [
        (b'[Service]\nEnvironment="KUBELET_NODE_IP=192.0.2.5" "KUBELET_NODE_IPS=192.0.2.5,2001:db8::5"\n', (V4, V6)),
        (b"[Service]\nEnvironment=KUBELET_NODE_IP=192.0.2.5\n", (V4,)),
        (b"[Service]\nEnvironment=KUBELET_NODE_IP=node7\n", ()),
        (b"[Service]\nEnvironment='KUBELET_NODE_IP\n\xff", ()),
    ],
)
def test_the_drop_in_of_the_replaced_tools_is_adopted(drop_in: bytes, addresses: tuple[object, ...]) -> None:
    """Who wrote it does not matter; what names no addresses is as none (R18)."""
    adopted = last_publication(None, {KUBELET_DROP_IN: drop_in})
    assert (adopted.addresses if adopted else ()) == addresses
    assert adopted is None or not adopted.this_boot


def test_primary_ip_of_the_replaced_tools_is_adopted_as_of_this_boot() -> None:
    """With the other family's file; a drop-in of an earlier boot does not outrank it (R18)."""
    contents = {PRIMARY: b"192.0.2.5\n", IPV6: b"2001:db8::5", **published("192.0.2.6", this_boot=False)}
    assert last_publication(None, contents) == LastPublished((V4, V6), this_boot=True)


def test_the_record_is_read_as_it_was_written() -> None:
    addresses = (ip_address("192.0.2.5"), ip_address("2001:db8::5"))
    record = LastPublished(addresses, "52:54:00:00:00:02", "boot-1", vlan="eth0.10", wanted=(OTHER,))
    assert last_published.parse(last_published.render(record), "boot-2") == record
    assert last_published.parse(last_published.render(record), "boot-1") == replace(record, this_boot=True)


def test_the_record_of_an_earlier_version_is_read() -> None:
    old = b'{"version": 1, "addresses": ["192.0.2.5"], "permanent_mac": null, "boot_id": "b"}'
    assert last_published.parse(old, "c") == LastPublished((ip_address("192.0.2.5"),), boot_id="b")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\xff", b"[]", b"{}", b'{"version":2}', b'{"version":1}', b'{"version":1,"addresses":["x"]}'),
        b'{"version":1,"addresses":["192.0.2.5"],"permanent_mac":1,"boot_id":"b"}',
        b'{"version":1,"addresses":["192.0.2.5"],"permanent_mac":null}',
        b'{"version":1,"addresses":["192.0.2.5"],"permanent_mac":null,"boot_id":"b","wanted":"x"}',
        b'{"version":1,"addresses":["192.0.2.5"],"permanent_mac":null,"boot_id":"b","wanted":["x"]}',
        b'{"version":1,"addresses":["192.0.2.5"],"permanent_mac":null,"boot_id":"b","vlan":1}',
    ],
)
def test_a_broken_record_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them: the caller sets the file aside
        last_published.parse(content, "boot")


FIRST, SECOND = ip_address("192.0.2.5"), ip_address("2001:db8::5")
ETH0 = Link(2, "eth0")


def test_what_a_link_has_is_not_lost() -> None:
    snapshot = Snapshot((ETH0,), (Address(FIRST, 24, "eth0"),), ())
    assert lost((FIRST, SECOND), snapshot) == (SECOND,)


@pytest.mark.parametrize(
    ("link", "snapshot", "sentence"),
    [
        (None, Snapshot((), (), ()), "Node IP 192.0.2.5 is missing (no link has it)"),
        ("eth0", Snapshot((), (), ()), "Node IP 192.0.2.5 is missing (eth0: no such link)"),
        ("eth0", Snapshot((Link(2, "eth0", up=False),), (), ()), "Node IP 192.0.2.5 is missing (eth0: down)"),
        (
            "eth0",
            Snapshot((Link(2, "eth0", carrier=False),), (), ()),
            "Node IP 192.0.2.5 is missing (eth0: no carrier)",
        ),
        ("eth0", Snapshot((ETH0,), (), ()), "Node IP 192.0.2.5 is missing (eth0: no address)"),
        (
            "eth0",
            Snapshot((ETH0,), (Address(ip_address("192.0.2.9"), 24, "eth0"),), ()),
            "Node IP 192.0.2.5 is missing (eth0: has 192.0.2.9)",
        ),
    ],
)
def test_the_sentence_names_the_link(link: str | None, snapshot: Snapshot, sentence: str) -> None:
    assert cause((FIRST,), link, snapshot) == sentence


def test_two_addresses_are_missing_together() -> None:
    assert cause((FIRST, SECOND), None, Snapshot((), (), ())) == (
        "Node IPs 192.0.2.5 and 2001:db8::5 are missing (no link has it)"
    )


def test_an_address_that_moved_to_another_link_is_not_lost() -> None:
    """The kernel's list decides, not whether a server can listen on it (R22)."""
    assert lost((FIRST,), Snapshot((ETH0,), (Address(FIRST, 24, "br-ex"),))) == ()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({AddressFlag.DAD_FAILED, AddressFlag.TENTATIVE}, "is also the address of another host (eth0: dadfailed)"),
        ({AddressFlag.TENTATIVE}, "is still checked for duplicates (eth0: tentative)"),
        ({AddressFlag.TENTATIVE, AddressFlag.OPTIMISTIC}, None),
        ({AddressFlag.DEPRECATED}, None),
    ],
)
def test_an_address_that_duplicate_address_detection_holds_back(flags: set[AddressFlag], sentence: str | None) -> None:
    """It is on its link, and nothing can be sent from it; that of another address does not matter."""
    snapshot = Snapshot((ETH0,), (Address(SECOND, 64, "eth0", flags=frozenset(flags)),), ())
    assert unusable((FIRST, SECOND), snapshot) == (sentence and f"Node IP 2001:db8::5 {sentence}")
    assert unusable((FIRST,), snapshot) is None
