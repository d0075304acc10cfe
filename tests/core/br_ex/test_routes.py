"""Which routes and rules move, and with which metric?"""

from __future__ import annotations

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.routes import configured, gateways, given_back, learnt, on_link, rules
from nodenet.core.br_ex.source import Source, source_of

STATIC = "static-dual-stack-policy-routes-rules-dns-onlink"


def source(case: str, uplink: str = "eth0") -> Source:
    return source_of(facts_of(CASES / case), "br-ex", uplink)


def test_the_best_default_route_gets_the_bridge_s_metric_and_a_second_one_stays_behind() -> None:
    found = configured(source("multipath-and-second-default-route"), "br-ex", 48)
    metrics = {route["next-hop-address"]: route["metric"] for route in found if route["destination"] == "0.0.0.0/0"}
    assert metrics == {"10.88.0.1": 48, "10.88.0.254": 600}


def test_routes_by_a_dhcp_gateway_are_static_until_the_lease_is_confirmed() -> None:
    (route,) = learnt(source("dhcp4"), "br-ex", 48)
    assert (route["destination"], route["next-hop-address"], route["next-hop-interface"]) == (
        *("0.0.0.0/0", "10.88.0.1"),
        "br-ex",
    )
    assert learnt(source("static4"), "br-ex", 48) == []


def test_the_gateways_of_both_families_are_those_of_the_best_routes() -> None:
    assert gateways(source("dhcp4")) == {"10.88.0.1"}


def test_a_rule_about_the_uplink_becomes_one_about_the_bridge() -> None:
    found = rules(source(STATIC), "br-ex")
    assert [rule["iif"] for rule in found if "state" not in rule and "iif" in rule] == ["br-ex"]
    assert [rule["iif"] for rule in found if rule.get("state") == "absent" and "iif" in rule] == ["eth0"]


def test_an_on_link_next_hop_keeps_its_attribute() -> None:
    """Without it NetworkManager refuses the route: no prefix has the next hop."""
    marked = [route for route in on_link(source(STATIC), "br-ex", 48)["ipv4"] if route.get("onlink")]
    assert [(route["dest"], route["next-hop"]) for route in marked] == [("203.0.113.0", "10.99.0.1")]


def test_the_plain_link_gets_its_routes_without_the_bridge_s_metric() -> None:
    back = given_back(source("standing-ours-static"), None)
    assert {route["next-hop-interface"] for route in back} == {"eth0"}
    assert not {48, 49} & {route.get("metric") for route in back if route["destination"] == "0.0.0.0/0"}
