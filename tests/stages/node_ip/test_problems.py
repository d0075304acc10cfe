"""The problems of node IPs: whole sentences, each with a remedy."""

from ipaddress import ip_address
from pathlib import PurePosixPath

from nodenet.core.boot.outcome import Facts
from nodenet.core.ip import Family
from nodenet.core.messages import Message
from nodenet.core.node_ip.published_files import Override
from nodenet.core.node_ip.select import Selection
from nodenet.stages.node_ip.publish import (
    conflicting,
    family_missing,
    listed,
    no_longer_selected,
    node_ips_lost,
    override,
)

BOTH = (ip_address("192.0.2.5"), ip_address("2001:db8::5"))


def test_lost_and_no_longer_selected_ask_for_a_reselection() -> None:
    for problem in (node_ips_lost("Node IP 192.0.2.5 is missing"), no_longer_selected(BOTH)):
        assert problem.message is Message.NODE_IP_DRIFT
        assert "nodenetctl reselect" in problem.remedy
    assert no_longer_selected(BOTH).cause == (
        "192.0.2.5 and 2001:db8::5, published as node IP, would not be selected now"
    )


def test_a_missing_family_is_named() -> None:
    assert family_missing(Selection(BOTH)) is None
    problem = family_missing(Selection(BOTH[:1], missing=(Family.IPV6,), waiting="no router"))
    assert problem is not None
    assert problem.cause == "No IPv6 node IP within 60 s: no router"


def test_an_override_names_the_file_to_change() -> None:
    assert override(()) is None
    source = PurePosixPath("/etc/systemd/system/kubelet.service.d/99.conf")
    problem = override((Override("kubelet.service", "KUBELET_NODE_IP", "192.0.2.5", "192.0.2.9", source),))
    assert problem is not None
    assert problem.remedy.startswith(f"Take KUBELET_NODE_IP out of {source}, run `systemctl daemon-reload`")


def test_a_vip_that_is_the_nodes_own_address_is_looked_at_again() -> None:
    outcome = conflicting("api_vips contains this node's own address", Facts())
    assert outcome.again is not None
    assert outcome.problem.message is Message.NODE_IP_CLAIMED


def test_addresses_are_listed_as_a_sentence_names_them() -> None:
    assert listed(BOTH) == "192.0.2.5 and 2001:db8::5"
