"""The values of hosted services: which address of a node is of which family."""

from dataclasses import fields
from ipaddress import ip_address, ip_network

from nodenet.core.hosted_services import dnsmasq, keepalived
from nodenet.core.hosted_services.model import (
    HOSTS,
    RUN,
    TEXTS,
    UNITS,
    Options,
    Role,
    Service,
    Spec,
    expected,
    here,
    likely,
    options_of,
)
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.settings.model import Enabled, Settings
from nodenet.core.settings.parse import parse


def test_fields_that_are_disabled_are_named_as_in_the_resource() -> None:
    assert Spec().switched_off == ()
    every = Spec(nodes_resolution=False, apps_resolution=False, api_int=False, ingress_ha=False)
    assert every.switched_off == (
        "spec.dns.nodesResolution",
        "spec.dns.appsResolution",
        "spec.dns.apiInt",
        "spec.ingressHa",
    )


TEXT = b"""platform = "baremetal"
api_vips = ["192.0.2.2"]
ingress_vips = ["192.0.2.3"]
user_managed_lb = true
cluster_domain = "c.example.com"
[hosted]
enabled = "yes"
role = "worker"
drain_seconds = 5
advert_interval = 0.5
api_port = 443
lb_port = 444
worker_balancer = true
ca_file = "/ca"
ingress_health = "http://127.0.0.1:10254/healthz"
records = ["registry.example.com 192.0.2.40"]
upstreams = ["corp.example.com 192.0.2.53"]
"""


def test_the_defaults() -> None:
    """Hosted services have to be asked for."""
    assert options_of(Settings()) == Options(enabled=Enabled.NO)


def test_every_option_follows_its_setting() -> None:
    made = options_of(parse([("file", TEXT)]).settings)
    # where nodenet-hosted keeps the CA, whatever the settings name
    followed = {each.name for each in fields(Options)} - {"ca_file"}
    assert all(getattr(made, name) != getattr(Options(), name) for name in followed)
    assert made.role is Role.WORKER


V4, V6 = ip_address("192.0.2.10"), ip_address("2001:db8::10")
BRIDGE, CARD = Link(2, "br-ex"), Link(3, "eth0", master="ovs-system")


def test_during_the_move_to_a_bridge_the_bridge_carries_it() -> None:
    addresses = (Address(V4, 24, "eth0"), Address(V4, 24, "br-ex"))
    assert here("m0", [V4], Snapshot((CARD, BRIDGE), addresses, ())).places[Family.IPV4].link == "br-ex"
    assert here("m0", [V4], Snapshot((CARD, BRIDGE), addresses[:1], ())).places[Family.IPV4].link == "eth0"


def test_the_subnet_of_a_128_is_the_longest_advertised_prefix_around_it() -> None:
    def advertised(network: str, link: str = "br-ex") -> Route:
        return Route(ip_network(network), (NextHop(link),), protocol="ra")

    routes = (advertised("2001:db8::/48"), advertised("2001:db8::/64"), advertised("2001:db8::/96", "eth1"))
    snapshot = Snapshot((BRIDGE,), (Address(V6, 128, "br-ex"),), routes)
    assert here("m0", [V6], snapshot).places[Family.IPV6].network == ip_network("2001:db8::/64")
    alone = Snapshot((BRIDGE,), (Address(V6, 128, "br-ex"),), ())
    assert here("m0", [V6], alone).places[Family.IPV6].network == ip_network("2001:db8::10/128")


def test_a_node_ip_that_no_link_carries_has_no_place() -> None:
    found = here("m0", [V4], Snapshot((BRIDGE,), (), ()), remote_worker=True)
    assert (found.name, dict(found.places), found.remote_worker) == ("m0", {}, True)


def test_what_is_expected_has_no_link_and_one_address_a_family() -> None:
    found = expected("m0", [V4, ip_address("192.0.2.11"), V6])
    assert found.addresses == (V4, V6)
    assert {place.link for place in found.places.values()} == {""}


def test_likely_node_ips_are_in_the_subnets_of_vips_and_no_vips() -> None:
    vips = (ip_address("192.0.2.2"), ip_address("2001:db8::2"))
    other = Address(ip_address("198.51.100.1"), 24, "eth1")
    addresses = (other, Address(vips[0], 24, "br-ex"), Address(V4, 24, "br-ex"), Address(V6, 64, "br-ex"))
    assert likely(vips, Snapshot((BRIDGE,), addresses)) == (V4, V6)
    assert likely(vips, Snapshot((BRIDGE,), addresses[:3])) == (), "the other family may still come"
    assert likely(vips[:1], Snapshot((BRIDGE,), addresses)) == (V4,)
    assert likely(vips[:1], Snapshot((BRIDGE,), (other,))) == ()


def test_the_texts_name_the_files() -> None:
    assert str(HOSTS) == dnsmasq.HOSTS
    assert {str(RUN)} == {file.rpartition("/")[0] for file in keepalived.WEIGHT_FILES.values()}


def test_every_service_has_a_file_and_all_but_the_redirect_a_unit() -> None:
    assert set(TEXTS) == set(Service)
    assert set(UNITS) == set(Service) - {Service.REDIRECT}
    assert len(set(TEXTS.values())) == len(Service)
