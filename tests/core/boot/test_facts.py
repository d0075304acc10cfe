"""Facts: whether the node IPs are in the same place."""

from dataclasses import replace
from ipaddress import ip_address

from nodenet.core.boot.facts import Facts
from nodenet.core.node_ip.select import Selection

HERE = Facts(selection=Selection((ip_address("192.0.2.5"),), "eth0"))


def test_the_place_is_addresses_and_link() -> None:
    assert HERE.same_place(replace(HERE, hostname="worker-0", bridge="br-ex"))
    assert not HERE.same_place(Facts(selection=Selection((ip_address("192.0.2.5"),), "br-ex")))
    assert not HERE.same_place(Facts(selection=Selection((ip_address("192.0.2.6"),), "eth0")))


def test_without_a_selection_there_is_no_place() -> None:
    assert Facts().same_place(Facts(hostname="worker-0"))
    assert not Facts().same_place(HERE)
