"""Values that no host can have: known offline, so `check` knows them."""

from __future__ import annotations

import pytest

from nodenet.core.node_file.values import wrong_values
from nodenet.core.node_file.yaml_text import Block, load


def said(text: str) -> list[str]:
    document = load("w.yml", text)
    assert isinstance(document, Block)
    return [f"{each.sentence()}. {each.remedy}" for each in wrong_values(document)]


def address(ip: str, prefix: object, family: str = "ipv4") -> str:
    return f"interfaces: [{{name: a, {family}: {{address: [{{ip: '{ip}', prefix-length: {prefix}}}]}}}}]"


def route(destination: str, gateway: str = "192.0.2.1", link: str = "eth0") -> str:
    return (
        f"routes: {{config: [{{destination: '{destination}', next-hop-address: '{gateway}', "
        f"next-hop-interface: {link}}}]}}"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            address("192.0.2.5", 33),
            (
                "interfaces[0].ipv4.address[0].prefix-length = 33: a prefix of IPv4 has 0 to 32 bits. "
                "Write a number from 0 to 32"
            ),
        ),
        (
            address("192.0.2.5/24", 24),
            (
                "interfaces[0].ipv4.address[0].ip = 192.0.2.5/24: this is an address with its prefix. "
                "Write `ip: 192.0.2.5` and `prefix-length: 24`"
            ),
        ),
        (
            address("2001:db8::5", 24),
            "interfaces[0].ipv4.address[0].ip = 2001:db8::5: an IPv6 address below `ipv4`. Move it to the other family",
        ),
        (
            "interfaces: [{name: abcdefghijklmnopqrstuvwxyz}]",
            (
                "interfaces[0].name = abcdefghijklmnopqrstuvwxyz: a link's name has 15 bytes at most (IFNAMSIZ). "
                "Shorten the name"
            ),
        ),
        (
            "dns-resolver: {config: {server: ['192.0.2.1,192.0.2.2']}}",
            (
                "dns-resolver.config.server[0] = 192.0.2.1,192.0.2.2: this is not an IP address. "
                "Write each server in a line of its own"
            ),
        ),
        (
            route("0.0.0.0"),  # noqa: S104
            "routes.config[0].destination = 0.0.0.0: no route leads to 0.0.0.0/8. Did you mean 0.0.0.0/0?",
        ),
        (
            route("0.0.0.0/0", "192.0.2.300"),
            (
                "routes.config[0].next-hop-address = 192.0.2.300: this is not an IP address. "
                "Write one address, such as 192.0.2.1 or 2001:db8::1"
            ),
        ),
        (
            route("0.0.0.0/0", "2001:db8::1"),
            "routes.config[0].next-hop-address = 2001:db8::1: an IPv6 gateway of an IPv4 route. Write an IPv4 address",
        ),
        (
            "interfaces: [{name: a, type: vlan, vlan: {id: 4095}}]",
            "interfaces[0].vlan.id = 4095: IEEE 802.1Q has VLAN ids from 0 to 4094. Write a number from 0 to 4094",
        ),
        (
            "interfaces: [{name: a, mac-address: 52-54}]",
            "interfaces[0].mac-address = 52-54: this is not a MAC address. Write six bytes, such as 52:54:00:12:34:56",
        ),
        (
            "interfaces: [{name: a}, {name: a}]",
            "interfaces[1]: the interface 'a' is described twice, first in line 1. Put the two into one entry",
        ),
    ],
)
def test_what_can_be_known_offline_is_known(text: str, sentence: str) -> None:
    """Apply refuses it on every host, so `check` must not call it good (R49)."""
    assert said(text) == [sentence]


@pytest.mark.parametrize("key", ["config", "running"])
@pytest.mark.parametrize("name", ["localhost", "localhost.localdomain", "LOCALHOST"])
def test_a_node_is_not_named_localhost_by_its_file(key: str, name: str) -> None:
    """The next boot would wait for a name for ever (R32)."""
    assert said(f"hostname: {{{key}: {name}}}") == [
        (
            f"hostname.{key} = {name}: this is not a node's name: it only means that the real name is not known yet. "
            "Write the node's own name"
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "hostname: {config: worker-0.example.com}",
        "interfaces: [{name: a-long-name-of-a-bridge, type: ovs-bridge}]",
        "interfaces: [{name: a-long-name-of-a-profile, identifier: mac-address, mac-address: 52:54:00:12:34:56}]",
        "interfaces: [{name: a-long-name-that-cannot-be, state: absent}]",
        "interfaces: [{name: br-ex, type: ovs-bridge}, {name: br-ex, type: ovs-interface}]",
        address("2001:db8::5", 64, "ipv6"),
        route("192.0.2.1"),
        route("0.0.0.0/0", "0.0.0.0"),  # noqa: S104
        "routes: {config: [{state: absent}, {destination: 192.0.2.0/24, route-type: blackhole}]}",
        "dns-resolver: {config: {server: [192.0.2.1, 'fe80::1%eth0']}}",
        "interfaces: [{name: ib0, type: infiniband, mac-address: '" + ":".join(["80"] * 20) + "'}]",
    ],
)
def test_what_some_host_can_have_is_left_to_the_host(text: str) -> None:
    assert said(text) == []
