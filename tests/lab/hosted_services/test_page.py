"""The page of a node with hosted services: DNS, VIPs and who holds them."""

from __future__ import annotations

from pathlib import Path

from factories import NodeFactory
from harness import Dhcp, Ipv6, Lan
from report.test_page import page_of
from story import settle


def test_a_node_with_hosted_services(hosted_node: NodeFactory, lan: Lan, tmp_path: Path) -> None:
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = hosted_node()
    node.boot()
    document = settle(node)
    (node_ip,) = document["node_ips"]
    found = page_of(node, tmp_path, "hosted")
    (drawing,) = (each for each in found.of("img") if f"{node_ip}/24" in each)
    assert "10.88.0.1 gateway" in drawing
    (boot,) = (each for each in found.of("img") if "hosted-services" in each)
    assert "resolv-prepender" in boot
    assert found.of("status")[0].startswith(document["health"])
