"""Hosts, networks and VIPs of install-config, and the BareMetalHosts of a file."""

from __future__ import annotations

import pytest

from core.day_one.trees import block
from nodenet.core.day_one.links import addresses, gateways, is_on, routes
from nodenet.core.day_one.machine_config import bare_metal_hosts, cluster_of


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("- a\n", "hosts-shape", 1),
        ("a: 1\n", "hosts-shape", 1),
        ("platform: {baremetal: {hosts: 3}}\n", "hosts-shape", 1),
        ("platform:\n  baremetal:\n    hosts:\n    - role: x\n", "hosts-shape", 4),
        ("platform: {none: {}}\nnetworking:\n  machineNetwork:\n  - cidr: 192.0.2.1/24\n", "hosts-shape", 4),
        ("platform: {baremetal: {apiVIPs: [nonsense]}}\n", "hosts-shape", 1),
        ("platform: {none: {}}\na: 1\na: 2\n", "key-twice", 3),
    ],
)
def test_what_is_wrong_with_its_structure_has_a_place(text: str, rule: str, line: int) -> None:
    (found,) = cluster_of("i.yaml", block(text))[1]
    assert (found.rule.word, found.line) == (rule, line)


def test_bare_metal_hosts_have_their_secret() -> None:
    text = "kind: BareMetalHost\nmetadata: {name: w}\nspec: {bootMACAddress: x, preprovisioningNetworkDataName: s}\n"
    (host,), found = bare_metal_hosts("h.yaml", [block(text), block("kind: Secret\n")])
    assert found == []
    assert host.secret is not None
    assert (host.name.text, host.secret.text) == ("w", "s")
    _, (nameless,) = bare_metal_hosts("h.yaml", [block("kind: BareMetalHost\n")])
    assert nameless.cause == "the BareMetalHost has no name"


# What a document says of links, addresses and routes, each with its place.


DOCUMENT = block("""\
interfaces:
- name: enp2s0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    address:
    - {ip: 192.0.2.5, prefix-length: 24}
    - {ip: nonsense, prefix-length: 24}
  ipv6:
    enabled: false
    address:
    - {ip: 2001:db8::5, prefix-length: 64}
- name: enp3s0
  type: ethernet
  state: down
  ipv4: {enabled: true, dhcp: true}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: enp2s0}
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: enp2s0, metric: 5}
  - {destination: "::/0", state: absent, next-hop-interface: enp2s0}
""")


def test_addresses_have_their_place_and_what_is_off_is_left_out() -> None:
    (address,) = addresses(DOCUMENT)
    assert (address.interface, str(address.value), address.node.line) == ("enp2s0", "192.0.2.5/24", 8)
    assert (address.path, address.is_of_a_host) == ("interfaces[0].ipv4.address[0].ip", True)


def test_routes_that_go_do_not_count() -> None:
    assert [path for path, _ in routes(DOCUMENT)] == ["routes.config[0]", "routes.config[1]"]
    assert gateways(DOCUMENT) == ("192.0.2.1",)


def test_flags_in_every_spelling() -> None:
    flags = block("a: true\nb: 'true'\nc: 'no'\nd: 0\ne: yes\nf:\ng: false\n")
    assert [is_on(flags, key) for key in "abcdefgh"] == [True, True, False, False, True, False, False, False]
