"""Why a VIP, api-int or a service is as it is."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from core.hosted_services.test_report import GOOD
from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.explain import TOPICS, explain
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.report import WITHOUT_SOURCE, Report, document
from nodenet.core.hosted_services.stance import Position, Stance

VIPS = (ip_address("192.0.2.2"), ip_address("192.0.2.3"))


def test_a_vip() -> None:
    assert explain("vip", document(GOOD)) == (
        "The api VIP 192.0.2.2 is held by master-1",
        "  This node may hold it: br-ex has its subnet 192.0.2.0/24",
        "  It takes part in VRRP",
        "The ingress VIP 192.0.2.3 is held by master-1",
        "  This node may hold it: br-ex has its subnet 192.0.2.0/24",
        "  It takes part in VRRP",
    )


def test_a_vip_that_is_not_taken_because_keepalived_cannot_use_the_node_ip() -> None:
    found = document(replace(GOOD, muted=frozenset(VIPS[1:])))
    assert (explain("vip", found) or ())[2:] == (
        "  It takes part in VRRP",
        "The ingress VIP 192.0.2.3 is held by master-1",
        f"  This node may not hold it: {WITHOUT_SOURCE}",
    )
    assert (found["vips"][1]["candidate"], found["vips"][1]["stance"]) == (False, None)


def test_api_int_of_the_settings_and_of_an_external_load_balancer() -> None:
    assert explain("api-int", document(GOOD)) == (
        "api-int is 192.0.2.2",
        "No HostedNetServices object names another address: it is the API VIP of the settings",
        "The API answers there, verified by the cluster's CA",
    )
    external = document(Report(plan(read_inputs(CASES / "api-int-is-external")), "master-0"))
    assert (explain("api-int", external) or ())[2] == (
        "It is not a VIP of the cluster: an external load balancer serves the API, and haproxy does not run"
    )


def test_services() -> None:
    assert (explain("hosted", document(GOOD)) or ())[0] == "dnsmasq runs: every node answers the cluster's names itself"


@pytest.mark.parametrize("stance", Stance)
def test_every_stance_is_explained(stance: Stance) -> None:
    found = explain("vip", document(replace(GOOD, positions=dict.fromkeys(VIPS, Position(stance)))))
    assert found is not None
    assert len(found) == 6


def test_every_topic_is_explained_in_every_case() -> None:
    for directory in CASES.iterdir():
        shown = document(Report(plan(read_inputs(directory)), "master-0"))
        assert all(explain(topic, shown) is not None for topic in TOPICS), directory.name
    assert explain("weather", document(GOOD)) is None
