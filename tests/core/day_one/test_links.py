"""What a document says of links, addresses and routes, each with its place."""

from core.day_one.trees import block
from nodenet.core.day_one.links import addresses, child, gateways, is_automatic, is_on, items, present, routes

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


def test_links_that_are_down_are_not_present() -> None:
    assert [path for path, _ in present(DOCUMENT)] == ["interfaces[0]"]


def test_routes_that_go_do_not_count() -> None:
    assert [path for path, _ in routes(DOCUMENT)] == ["routes.config[0]", "routes.config[1]"]
    assert gateways(DOCUMENT) == ("192.0.2.1",)


def test_flags_in_every_spelling() -> None:
    flags = block("a: true\nb: 'true'\nc: 'no'\nd: 0\ne: yes\nf:\ng: false\n")
    assert [is_on(flags, key) for key in "abcdefgh"] == [True, True, False, False, True, False, False, False]


def test_automatic_is_dhcp_or_autoconfiguration_that_is_not_switched_off() -> None:
    assert is_automatic(block("ipv6: {enabled: true, autoconf: true}\n"))
    assert not is_automatic(block("ipv4: {enabled: false, dhcp: true}\n"))


def test_what_is_missing_is_nothing() -> None:
    assert (child(DOCUMENT, "a", "b"), items(DOCUMENT, "routes", "running")) == (None, ())
