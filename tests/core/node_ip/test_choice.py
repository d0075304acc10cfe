"""Which of the ranked addresses become the node IPs, beyond the cases under ``fixtures/node_ip`` (sticky-*, dual-*)."""

from __future__ import annotations

from ipaddress import ip_address

from nodenet.core.ip import Family
from nodenet.core.kernel.iproute import from_document
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import Selection, select


def host(*rows: tuple[str, str, int]) -> dict[str, object]:
    """Return a snapshot of links (name, address, metric of the default route), in iproute2's form."""
    up = ["UP", "LOWER_UP"]
    return {
        "links": [{"ifindex": i, "ifname": name, "flags": up} for i, (name, _, _) in enumerate(rows, 1)],
        "addresses": [
            {"ifname": name, "addr_info": [{"local": address, "prefixlen": 64 if ":" in address else 24}]}
            for name, address, _ in rows
        ],
        "routes": [{"dst": "default", "dev": name, "metric": metric} for name, _, metric in rows],
        "routes6": [{"dst": "default", "dev": name, "metric": metric} for name, _, metric in rows],
    }


def chosen(document: object, policy: Policy = Policy(), last: LastPublished | None = None) -> Selection:  # noqa: B008
    return select(from_document(document), policy, last)


def test_the_best_leads_and_what_was_published_stays_over_it() -> None:
    two = host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50))
    assert [str(address) for address in chosen(two).node_ips] == ["198.51.100.5"]
    last = LastPublished((ip_address("192.0.2.5"),), None)
    assert chosen(two, last=last).node_ips == last.addresses


def test_a_published_order_of_families_stays() -> None:
    both = host(("eth0", "192.0.2.5", 100), ("eth0", "2001:db8::5", 100))
    wanted = Policy(families=(Family.IPV4, Family.IPV6))
    assert [address.version for address in chosen(both, wanted).node_ips] == [4, 6]
    last = LastPublished((ip_address("2001:db8::5"), ip_address("192.0.2.5")), None, "", this_boot=True)
    assert [address.version for address in chosen(both, wanted, last).node_ips] == [6, 4]
