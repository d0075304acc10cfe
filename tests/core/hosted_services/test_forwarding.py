"""Which link forwards packets: that of the node IP, on on-premises platforms with VIPs."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.boot.facts import Facts
from nodenet.core.hosted_services.dns import SYSCTLS, forwarding_link, to_set
from nodenet.core.hosted_services.model import ON_PREMISES
from nodenet.core.node_ip.select import Selection
from nodenet.core.settings.model import Settings

NODE_IP = ip_address("192.0.2.5")
SETTINGS = Settings(platform="baremetal", api_vips=(ip_address("192.0.2.2"),))
FACTS = Facts(selection=Selection((NODE_IP,), "eth0"))


@pytest.mark.parametrize("platform", sorted(ON_PREMISES))
def test_the_link_of_the_node_ip_forwards(platform: str) -> None:
    assert forwarding_link(replace(SETTINGS, platform=platform), FACTS) == "eth0"


def test_below_br_ex_it_is_the_bridge() -> None:
    assert forwarding_link(SETTINGS, replace(FACTS, bridge="br-ex", uplink="eth0")) == "br-ex"
    assert forwarding_link(SETTINGS, replace(FACTS, bridge="br-ex", uplink="eth1")) == "eth0"


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        (replace(SETTINGS, platform="aws"), FACTS),
        (replace(SETTINGS, api_vips=()), FACTS),
        (SETTINGS, Facts()),
    ],
)
def test_no_other_link_forwards(settings: Settings, facts: Facts) -> None:
    assert forwarding_link(settings, facts) is None


def test_only_what_differs_is_set() -> None:
    """A family that the kernel lacks has no setting."""
    assert to_set(dict.fromkeys(SYSCTLS, "1")) == {}
    assert to_set({SYSCTLS[0]: "0"}) == {SYSCTLS[0]: "1"}
