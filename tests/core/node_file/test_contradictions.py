"""Gateways outside every subnet of their link: taken, and warned about."""

from __future__ import annotations

import pytest

from nodenet.core.node_file.contradictions import unreachable_gateways
from nodenet.core.node_file.finding import Severity
from nodenet.core.node_file.yaml_text import Block, load

LINK = "{name: eth0, ipv4: {enabled: true, %s address: [{ip: 192.0.2.5, prefix-length: %s}]}}"


def warnings(prefix: int = 24, leased: str = "", gateway: str = "198.51.100.1", more: str = "") -> list[str]:
    text = f"""interfaces: [{LINK % (leased, prefix)}]
routes:
  config:
  - {{destination: 0.0.0.0/0, next-hop-address: '{gateway}', next-hop-interface: eth0}}
{more}"""
    document = load("w.yml", text)
    assert isinstance(document, Block)
    found = list(unreachable_gateways(document))
    assert {each.severity for each in found} <= {Severity.WARNING}
    return [f"{each.line}: {each.sentence()}. {each.remedy}" for each in found]


def test_a_gateway_outside_every_subnet_is_warned_of() -> None:
    """The boot was ok, and the gateway could not be reached (R31)."""
    assert warnings() == [
        (
            "4: routes.config[0].next-hop-address = 198.51.100.1: the gateway is outside every subnet of eth0 "
            "(192.0.2.0/24). Correct the gateway, or the address and prefix length of the link"
        )
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"gateway": "192.0.2.1"},
        {"leased": "dhcp: true,"},
        {"gateway": "fe80::1"},
        {"gateway": "0.0.0.0"},  # noqa: S104
        {"gateway": "not-an-address"},
        {"more": "  - {destination: 198.51.100.0/24, next-hop-interface: eth0}\n"},
        {"prefix": 0},
    ],
    ids=str,
)
def test_a_gateway_that_the_file_does_not_rule_out_is_not(given: dict[str, object]) -> None:
    """Leases, link-local gateways and routes without gateway make more reachable than the addresses say."""
    assert warnings(**given) == []  # type: ignore[arg-type]
