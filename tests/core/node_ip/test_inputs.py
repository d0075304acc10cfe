"""Which links may carry the node IP: not those that leave it to a bridge, a bond or others."""

from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.node_ip.choice import own_links
from nodenet.core.node_ip.policy import Policy


def names(*links: Link) -> list[str]:
    return [link.name for link in own_links(Snapshot(links, (), ()), Policy())]


def test_links_are_listed_by_index() -> None:
    assert names(Link(3, "eth1"), Link(2, "eth0")) == ["eth0", "eth1"]


def test_a_port_leaves_the_address_to_its_bridge_or_bond() -> None:
    assert names(Link(2, "eth0", master="br0"), Link(3, "br0", kind="bridge")) == ["br0"]


def test_a_link_in_a_vrf_keeps_its_address_and_the_vrf_has_none() -> None:
    assert names(Link(2, "eth0", master="blue"), Link(3, "blue", kind="vrf")) == ["eth0"]


def test_loopback_and_denied_links_are_none() -> None:
    assert names(Link(1, "lo", loopback=True), Link(2, "docker0"), Link(3, "ovn-k8s-mp0")) == []
