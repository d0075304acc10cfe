"""Whose VRRP is accepted. What the kernel does with the rules is in tests/edge/hosted_services/test_lessons_vrrp.py."""

from dataclasses import replace

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.duties import vip_duties
from nodenet.core.hosted_services.keepalived import guard_rules
from nodenet.core.hosted_services.model import Inputs


def made(inputs: Inputs) -> str:
    return guard_rules(inputs, vip_duties(inputs)) or ""


def test_the_peers_of_each_family_are_accepted_on_the_link_of_the_vip_and_everything_else_is_dropped() -> None:
    text = made(read_inputs(CASES / "dual-stack-control-plane"))
    four, six, last = (line.strip() for line in text.splitlines() if "l4proto" in line)
    assert four.startswith('iifname "br-ex" ip saddr { 192.0.2.11, ')
    assert four.endswith("} ip ttl 255 meta l4proto 112 accept")
    assert six.startswith('iifname "br-ex" ip6 saddr { 2001:db8::11, ')
    assert six.endswith("} ip6 hoplimit 255 meta l4proto 112 accept")
    assert last == "meta l4proto 112 drop"


def test_beside_the_former_stack_any_hop_limit_of_ipv6_is_accepted_from_the_peers() -> None:
    inputs = read_inputs(CASES / "dual-stack-control-plane")
    text = made(replace(inputs, options=replace(inputs.options, advert_interval=1.0)))
    assert "hoplimit" not in text
    assert "ip ttl 255" in text


def test_a_node_without_peers_hears_no_host_and_one_without_vips_has_no_table() -> None:
    inputs = read_inputs(CASES / "control-plane")
    assert "accept\n" not in made(replace(inputs, nodes=inputs.nodes[:1])).replace("policy accept;\n", "")
    assert made(read_inputs(CASES / "user-managed-lb")) == ""
