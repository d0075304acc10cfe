"""dnsmasq's files beyond the golden cases: no node takes over a name of the cluster."""

from dataclasses import replace
from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.hosted_services.api_int import api_int
from nodenet.core.hosted_services.dnsmasq import NO_SERVER, hosts, is_believed, receivers, servers
from nodenet.core.hosted_services.model import (
    ClusterNode,
    Here,
    Inputs,
    Options,
    Place,
    Role,
    Service,
    expected,
    options_of,
)
from nodenet.core.hosted_services.plan import plan
from nodenet.core.ip import Family
from nodenet.core.kernel.sock_diag import Listening
from nodenet.core.settings.model import ClusterDnsTrust
from nodenet.core.settings.parse import parse

SITE = (ip_address("10.0.0.1"), ip_address("fe80::1%eth0"))


ALONE = Inputs(Options(cluster_domain="c.example.com"), Here("m0"))


def test_the_cluster_s_own_server_is_asked_for_its_domain_only() -> None:
    cluster = (ip_address("127.0.0.1"), 5354)
    assert servers(SITE[:1], cluster, ALONE) == (("127.0.0.1#5354", "c.example.com"), ("10.0.0.1",))
    assert servers((), None, ALONE) == ()


def test_names_of_nodes_are_asked_nowhere() -> None:
    inputs = replace(ALONE, nodes=(ClusterNode("m0", (ip_address("192.0.2.1"),), Role.CONTROL_PLANE),))
    assert servers(SITE[:1], None, inputs) == (("10.0.0.1",), (NO_SERVER, "m0.c.example.com"))


TEXT = b"""platform = "baremetal"
api_vips = ["192.0.2.2"]
cluster_domain = "c.example.com"
[hosted]
enabled = "auto"
records = ["Registry.example.com 192.0.2.40", "registry.example.com 2001:db8::40", "api-int.c.example.com 192.0.2.66"]
upstreams = ["corp.example.com 192.0.2.53", "apps.c.example.com 192.0.2.66", "own.example.com 192.0.2.10"]
"""


def test_settings_name_further_records_and_the_servers_of_a_domain() -> None:
    """And none of them changes where the names of the API lead, or lets dnsmasq ask itself."""
    place = Place(ip_address("192.0.2.10"), "eth0", ip_network("192.0.2.0/24"))
    inputs = Inputs(options_of(parse([("file", TEXT)]).settings), Here("m0", {Family.IPV4: place}))
    assert hosts(inputs, api_int(inputs)) == (
        "192.0.2.2 api-int.c.example.com\n"
        "192.0.2.2 api.c.example.com\n"
        "127.0.0.1 nodenet-loop.c.example.com\n"
        "192.0.2.40 registry.example.com\n"
        "2001:db8::40 registry.example.com\n"
    )
    assert servers(SITE[:1], None, inputs) == (
        ("10.0.0.1",),
        ("192.0.2.53", "corp.example.com"),
        (NO_SERVER, "registry.example.com"),
    )
    assert plan(inputs).problems == (
        "`[hosted] records` names api-int.c.example.com, which the cluster answers itself: remove it from `records`",
        "`[hosted] upstreams` names apps.c.example.com, which the cluster answers itself: remove it from `upstreams`",
    )


def test_whoever_may_hear_a_question_counts() -> None:
    """A socket of another user on all addresses, or a second one on the same address, would answer for pods."""
    address, port = ip_address("127.0.0.1"), 5354
    root = Listening(port, 1, address)
    user = Listening(port, 1, ip_address("::"), uid=1000)
    assert receivers((address, port), ()) == ()
    assert receivers((address, port), (root,)) == (root,)
    assert receivers((address, port), (root, user)) == (root, user)
    assert receivers((address, port), (root, replace(user, only_ipv6=True))) == (root,)
    assert receivers((address, 5353), (root, user)) == ()


def test_a_service_of_systemd_is_believed_and_root_by_a_setting() -> None:
    service, container = Listening(5354, 7, uid=53), Listening(5354, 8, uid=0)
    old_kernel = Listening(5354, None, uid=0)
    believed = {
        trust: [is_believed(one, {7}, trust) for one in (service, container, old_kernel)] for trust in ClusterDnsTrust
    }
    assert believed == {ClusterDnsTrust.SERVICE: [True, False, False], ClusterDnsTrust.ROOT: [True, True, True]}


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
