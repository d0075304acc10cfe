"""Why a VIP, api-int or a service is as it is."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from core.hosted_services.test_report import GOOD
from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.report import TOPICS, WITHOUT_SOURCE, Report, ServiceState, document, explain
from nodenet.core.hosted_services.vips import Stance

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


def test_api_int_of_an_address_that_takes_the_place_of_a_dead_one() -> None:
    """It was said that no object names another address."""
    inputs = read_inputs(CASES / "api-int-is-external")
    (balancer,) = inputs.spec.api_int_addresses
    dead = document(Report(plan(replace(inputs, dead=frozenset({balancer}))), "master-0"))
    why = (
        f"The external load balancer {balancer} does not answer, and api-int is the API VIP until it does: see to the "
        "load balancer, or remove apiintIpAddress"
    )
    assert explain("api-int", dead) == ("api-int is 192.0.2.2", why)


def test_api_int_while_haproxy_serves_the_connections_that_it_has() -> None:
    inputs = read_inputs(CASES / "api-int-is-external")
    way = Migration(Phase.DRAIN_HAPROXY, inputs.options.api_vips, inputs.spec.api_int_addresses, 1)
    running = {Service.HAPROXY: ServiceState(wanted=True, running=True)}
    made = plan(replace(inputs, spec=replace(inputs.spec, migration=way)))
    assert (explain("api-int", document(Report(made, "master-0", services=running))) or ())[2] == (
        "It is not a VIP of the cluster: an external load balancer serves the API, and haproxy still runs"
    )


def test_services() -> None:
    assert (explain("hosted", document(GOOD)) or ())[0] == "dnsmasq runs: every node answers the cluster's names itself"


@pytest.mark.parametrize("stance", Stance)
def test_every_stance_is_explained(stance: Stance) -> None:
    found = explain("vip", document(replace(GOOD, stances=dict.fromkeys(VIPS, stance))))
    assert found is not None
    assert len(found) == 6


def test_every_topic_is_explained_in_every_case() -> None:
    for directory in CASES.iterdir():
        shown = document(Report(plan(read_inputs(directory)), "master-0"))
        assert all(explain(topic, shown) is not None for topic in TOPICS), directory.name
    assert explain("weather", document(GOOD)) is None
