"""Which published addresses are missing, and the sentence for it."""

from ipaddress import ip_address

import pytest

from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, Snapshot
from nodenet.core.node_ip.last_published import cause, lost, unusable

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
