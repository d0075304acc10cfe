"""dnsmasq's files beyond the golden cases: no node takes over a name of the cluster."""

from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.api_int import api_int
from nodenet.core.hosted_services.dnsmasq import hosts
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Options, Role

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
    assert hosts(inputs, api_int(inputs)) == "192.0.2.2 api-int.ostest.example.com\n192.0.2.2 api.ostest.example.com\n"
