"""Which links are refused, and with which sentence?"""

from __future__ import annotations

import pytest

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.uplink_checks import refuse_unfit
from nodenet.core.errors import UplinkRefused


@pytest.mark.parametrize(
    ("case", "link", "cause"),
    [
        ("refused-loopback", "lo", "It was named, but it is the loopback link"),
        ("refused-bond-port", "eth1", "It was named, but it is a port of bond0 (bond) already"),
        ("dhcp4", "eth9", "It was named, but this node has no such link"),
    ],
)
def test_a_link_that_cannot_be_an_uplink(case: str, link: str, cause: str) -> None:
    with pytest.raises(UplinkRefused) as caught:
        refuse_unfit(facts_of(CASES / case), link, "br-ex", "It was named")
    assert caught.value.cause == cause
    assert caught.value.remedy == "Name another link in /etc/ovnk/default_bridge"


def test_the_second_bridge_s_file_is_named_for_the_second_bridge() -> None:
    with pytest.raises(UplinkRefused) as caught:
        refuse_unfit(facts_of(CASES / "dhcp4"), "eth9", "br-ex1", "It was named")
    assert caught.value.remedy == "Name another link in /etc/ovnk/extra_bridge, or remove the file"


@pytest.mark.parametrize("case", ["dhcp4", "vlan", "bond-802-3ad"])
def test_a_link_that_can(case: str) -> None:
    facts = facts_of(CASES / case)
    assert facts.node_ip_link
    refuse_unfit(facts, facts.node_ip_link, "br-ex", "It was chosen")
