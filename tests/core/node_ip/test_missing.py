"""Why no address is eligible: what may change first comes first, three reasons at the most."""

from core.node_ip.test_choice import chosen, host
from nodenet.core.ip import Family
from nodenet.core.node_ip.policy import Policy


def test_without_any_link() -> None:
    assert chosen({"links": []}).waiting == "there is no link that could have a node IP"


def test_a_link_without_an_address_and_one_without_carrier() -> None:
    links = [
        {"ifindex": 2, "ifname": "eth0", "flags": ["UP"]},
        {"ifindex": 3, "ifname": "eth1", "flags": ["UP", "LOWER_UP"]},
    ]
    assert chosen({"links": links}).waiting == ("eth1 has carrier, no address yet (DHCP); eth0 has no carrier")


def test_an_address_without_a_route() -> None:
    alone = host(("eth0", "192.0.2.5", 100))
    assert chosen({**alone, "routes": []}).waiting == "192.0.2.5 on eth0: eth0 has no IPv4 default route yet"


def test_more_than_three_reasons_are_counted() -> None:
    links = [{"ifindex": i, "ifname": f"eth{i}", "flags": ["UP"]} for i in range(5)]
    assert chosen({"links": links}).waiting == (
        "eth0 has no carrier; eth1 has no carrier; eth2 has no carrier; and 2 more"
    )


def test_a_family_that_the_settings_name_is_missing() -> None:
    found = chosen(host(("eth0", "192.0.2.5", 100)), Policy(families=(Family.IPV4, Family.IPV6)))
    assert found.missing == (Family.IPV6,)
    assert found.waiting == "IPv6: eth0 has carrier, no IPv6 address yet (router advertisement, DHCPv6)"


def test_a_link_without_carrier_is_said_once() -> None:
    links = [{"ifindex": 2, "ifname": "eth0", "flags": ["UP"]}]
    assert (
        chosen({**host(("eth0", "192.0.2.5", 100)), "links": links}).waiting == "192.0.2.5 on eth0: eth0 has no carrier"
    )
