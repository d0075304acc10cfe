"""Which links are set down that NetworkManager would use?"""

from __future__ import annotations

from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.node_ip.choice import down, managed
from nodenet.core.node_ip.policy import Policy


def test_links_that_are_down_by_index() -> None:
    """A link without carrier is up; one of Open vSwitch's own is not the node's."""
    links = (
        Link(4, "eth1", up=False),
        Link(3, "eth0", up=False, carrier=False),
        Link(5, "eth2", carrier=False),
        Link(1, "lo", up=False, loopback=True),
        Link(6, "ovs-system", up=False),
    )
    assert down(Snapshot(links=links), Policy()) == ("eth0", "eth1")


def test_a_link_that_may_not_have_the_node_ip_stays_as_it_is() -> None:
    links = (Link(2, "eth0", up=False), Link(3, "ib0", up=False))
    assert down(Snapshot(links=links), Policy(deny_links=("ib*",))) == ("eth0",)


def test_links_of_networkmanager_only() -> None:
    """By the beginning of the state: its reason follows."""
    states = {"eth0": "unavailable (carrier changed)", "eth1": "unmanaged (by its user)", "eth2": "connected"}
    assert managed(("eth0", "eth1", "eth2", "eth3"), states) == ("eth0", "eth2")
