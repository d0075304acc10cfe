"""dnsmasq's files beyond the golden cases: no node takes over a name of the cluster."""

from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.api_int import api_int
from nodenet.core.hosted_services.dnsmasq import hosts
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Options, Role, Service, expected
from nodenet.core.hosted_services.plan import plan

OPTIONS = Options("baremetal", "ostest.example.com", (ip_address("192.0.2.2"),))


@pytest.mark.parametrize(
    "name",
    [
        "api",
        "api-int",
        "apps",
        "api-int.ostest.example.com",
        "console.apps.ostest.example.com",
        "x.apps",
        "x.api-int",
        "localhost",
        "x.localhost",
        "localhost.ostest.example.com",
    ],
)
def test_a_node_with_a_reserved_name_is_left_out(name: str) -> None:
    inputs = Inputs(OPTIONS, Here("master-0"), nodes=(ClusterNode(name, (ip_address("192.0.2.66"),), Role.WORKER),))
    assert hosts(inputs, api_int(inputs)) == (
        "192.0.2.2 api-int.ostest.example.com\n"
        "192.0.2.2 api.ostest.example.com\n"
        "127.0.0.1 nodenet-loop.ostest.example.com\n"
    )


def test_the_order_of_the_node_ips_changes_nothing() -> None:
    """The primary family is known only when node IPs are selected, and other text means a restart."""
    v4, v6 = ip_address("192.0.2.10"), ip_address("2001:db8::10")
    made = {plan(Inputs(OPTIONS, expected("m0", order))).texts[Service.DNSMASQ] for order in ((v4, v6), (v6, v4))}
    assert len(made) == 1
