"""Upstream servers: those of the site, and the cluster's own for its domain."""

from ipaddress import ip_address

from nodenet.core.hosted_services.upstreams import MOST, servers

SITE = (ip_address("10.0.0.1"), ip_address("fe80::1%eth0"))


def test_the_servers_of_the_site() -> None:
    assert servers(SITE, None, "c.example.com") == (("10.0.0.1",), ("fe80::1%eth0",))
    assert servers((*SITE, SITE[0]), None, "c.example.com") == servers(SITE, None, "c.example.com")
    assert len(servers((ip_address(f"10.0.0.{i}") for i in range(1, 99)), None, "")) == MOST


def test_the_cluster_s_own_server_is_asked_for_its_domain_only() -> None:
    cluster = (ip_address("127.0.0.1"), 5354)
    assert servers(SITE[:1], cluster, "c.example.com") == (("127.0.0.1#5354", "c.example.com"), ("10.0.0.1",))
    assert servers((), None, "c.example.com") == ()
