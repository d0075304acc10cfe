"""Is what others put on a link put back as it was, from the kernel's own words? In a namespace of the test's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest

from edge.namespace import Namespace
from nodenet.core.errors import Unavailable
from nodenet.core.ownership.things import of_links
from nodenet.edge.kernel import netlink

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)
MAKE = ("link add br-ex type veth peer name far0", "link set br-ex up", "link set far0 up")
OURS = (
    "addr add 192.0.2.5/24 dev br-ex noprefixroute",
    "route add 192.0.2.0/24 dev br-ex proto kernel scope link src 192.0.2.5 metric 48",
    "route add default via 192.0.2.1 dev br-ex proto static metric 48",
)
OVN = (
    "addr add 169.254.0.2/17 brd + dev br-ex label br-ex:ovn",
    "-6 addr add fd69::2/112 dev br-ex nodad",
    "addr add 203.0.113.7/32 dev br-ex valid_lft forever preferred_lft 0",
    "neigh replace 169.254.0.4 lladdr 0a:58:a9:fe:00:04 dev br-ex nud permanent",
    "-6 neigh replace fd69::4 lladdr 0a:58:a9:fe:00:04 dev br-ex nud permanent",
    "route add 169.254.0.1 dev br-ex src 192.0.2.5 mtu 1400",
    "route add 172.30.0.0/16 via 169.254.0.4 dev br-ex src 169.254.0.2 mtu 1400 metric 7",
    "route add 10.128.0.0/14 via 198.51.100.1 dev br-ex onlink table 1007 proto 84",
    "-6 route add fd02::/112 via fd69::4 dev br-ex mtu 1400",
)


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """Give a namespace with a br-ex that NetworkManager has configured and OVN-Kubernetes is on."""
    inside = Namespace()
    try:
        inside.sysctl("net/ipv6/conf/default/accept_dad", 0)
        inside.ip(*MAKE, *OURS, *OVN)
        yield inside
    finally:
        inside.close()


def seen(namespace: Namespace) -> list[str]:
    """Return what iproute2 shows of br-ex, without the number of the link."""
    addresses = [info for link in namespace.ip_json("-d addr show dev br-ex") for info in link["addr_info"]]  # type: ignore[attr-defined]
    questions = ("route show table all dev br-ex", "neigh show dev br-ex")
    both = [f"{family} {what}" for what in questions for family in ("-4", "-6")]
    rest = [each for line in both for each in namespace.ip_json(f"-d {line}")]
    kernels = [each for each in rest if each.get("protocol") != "kernel" and "unreachable" not in str(each)]
    listed = [str(each) for each in (*addresses, *kernels) if "fe80" not in str(each)]
    return sorted(listed)


def test_only_what_others_put_there_is_noted(namespace: Namespace) -> None:
    """Nothing of NetworkManager's, of the kernel's, or of another link."""
    names = [thing.name for thing in of_links(namespace.call(netlink.noted), {"br-ex"})]
    routes = {"169.254.0.1/32", "172.30.0.0/16", "10.128.0.0/14", "fd02::/112"}
    assert {name[0] for name in names} == {"169.254.0.2", "fd69::2", "203.0.113.7", "169.254.0.4", "fd69::4"} | routes
    assert ("172.30.0.0/16", "169.254.0.4", "254", "7") in names
    assert ("10.128.0.0/14", "198.51.100.1", "1007", "0") in names


def test_what_was_taken_away_is_put_back_as_it_was(namespace: Namespace) -> None:
    """With source, MTU, metric, table, label, scope and lifetimes; what is there already is no error."""
    before = seen(namespace)
    kept = of_links(namespace.call(netlink.noted), {"br-ex"})
    namespace.call(lambda: netlink.take(kept))
    assert namespace.call(netlink.noted) == ()
    namespace.call(lambda: netlink.take(kept))
    assert namespace.call(lambda: netlink.put(kept)) == ()
    assert seen(namespace) == before
    assert namespace.call(lambda: netlink.put(kept)) == ()
    assert seen(namespace) == before


def test_a_link_that_was_made_again_gets_it_too(namespace: Namespace) -> None:
    """Its number is another one."""
    before = seen(namespace)
    kept = of_links(namespace.call(netlink.noted), {"br-ex"})
    namespace.ip("link del br-ex", "link add other0 type veth peer name other9", *MAKE, *OURS)
    assert namespace.call(lambda: netlink.put(kept)) == ()
    assert seen(namespace) == before


def test_what_the_kernel_refuses_is_named(namespace: Namespace) -> None:
    """A route whose next hop is not reachable any more, and a link that is gone; the rest is put back."""
    kept = of_links(namespace.call(netlink.noted), {"br-ex"})
    namespace.call(lambda: netlink.take(kept))
    gone = replace(kept[0], link="gone0")
    route = next(each for each in kept if each.name[0] == "172.30.0.0/16")
    refused = namespace.call(lambda: netlink.put((gone, route, kept[0])))
    assert [(thing.name[0], why) for thing, why in refused] == [
        ("169.254.0.2", "No such device"),
        ("172.30.0.0/16", "Network is unreachable"),
    ]
    assert [thing.name for thing in namespace.call(netlink.noted)] == [kept[0].name]


def test_an_order_that_is_none_is_unavailable(namespace: Namespace) -> None:
    """As a list from a disk that lies may have."""
    kept = of_links(namespace.call(netlink.noted), {"br-ex"})
    with pytest.raises(Unavailable):
        namespace.call(lambda: netlink.put((replace(kept[0], message="00"),)))
