"""Facts: whether the node IPs are in the same place."""

from dataclasses import replace
from ipaddress import ip_address

from nodenet.core.boot.outcome import Facts
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Candidate, Selection, Verdict

HERE = Facts(selection=Selection((ip_address("192.0.2.5"),), "eth0"))


def test_the_place_is_addresses_and_link() -> None:
    assert HERE.same_place(replace(HERE, hostname="worker-0", bridge="br-ex"))
    assert not HERE.same_place(Facts(selection=Selection((ip_address("192.0.2.5"),), "br-ex")))
    assert not HERE.same_place(Facts(selection=Selection((ip_address("192.0.2.6"),), "eth0")))


def test_without_a_selection_there_is_no_place() -> None:
    assert Facts().same_place(Facts(hostname="worker-0"))
    assert not Facts().same_place(HERE)


def test_each_node_ip_is_on_its_own_link_where_that_is_known() -> None:
    second = ip_address("2001:db8::5")
    chosen = Candidate(second, 64, "eth1", Verdict.SELECTED, Rule.LINK_DOWN, str)
    selection = Selection((ip_address("192.0.2.5"), second), "eth0")
    assert Facts(selection=selection).node_ip_links == ("eth0", None)
    assert Facts(selection=replace(selection, selected=(chosen,))).node_ip_links == ("eth0", "eth1")
    assert Facts().node_ip_links == ()
    both = tuple(replace(chosen, address=address, link="eth0") for address in selection.node_ips)
    moved = Selection(selection.node_ips, "br-ex", selected=both)
    assert Facts(selection=moved, bridge="br-ex").node_ip_links == ("br-ex", "br-ex")
