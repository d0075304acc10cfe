"""The policy of a node without settings, and the order of families."""

from ipaddress import ip_address

import pytest

from nodenet.core.ip import Family
from nodenet.core.node_ip.policy import Policy

V4, V6 = Family.IPV4, Family.IPV6


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        (Policy(), (V4, V6)),
        (Policy(prefer_ipv6=True), (V6, V4)),
        (Policy(families=(V6,)), (V6,)),
        (Policy(families=(V6, V4), prefer_ipv6=False), (V6, V4)),
    ],
)
def test_the_settings_outrank_the_preference(policy: Policy, order: tuple[Family, ...]) -> None:
    assert policy.family_order == order


def test_every_vip_counts() -> None:
    api, ingress = ip_address("192.0.2.2"), ip_address("192.0.2.3")
    assert Policy(api_vips=(api,), ingress_vips=(ingress,)).vips == (api, ingress)
