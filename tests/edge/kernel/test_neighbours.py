"""Who answers on a link, between two namespaces of the test's own."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from edge.namespace import PATIENCE_SECONDS, Namespace
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.edge.kernel.neighbours import Neighbours

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)
ROUTER4, ROUTER6, ROUTER_LOCAL = (ip_address(text) for text in ("192.0.2.1", "2001:db8::1", "fe80::1"))
NOBODY4, NOBODY6 = ip_address("192.0.2.9"), ip_address("2001:db8::9")
ROUTER_MAC = "02:00:00:00:00:01"
SHORT = 0.5


@pytest.fixture
def near(sides: tuple[Namespace, Namespace]) -> Namespace:
    """The node's side: eth0 to the router, eth1 to nobody."""
    return sides[0]


@pytest.fixture
def sides() -> Iterator[tuple[Namespace, Namespace]]:
    """The node's side and the router's."""
    here, there = Namespace(), Namespace()
    try:
        for side in (here, there):
            side.sysctl("net/ipv6/conf/default/accept_dad", 0)
        here.ip(
            f"link add eth0 type veth peer name far0 address {ROUTER_MAC} netns {there._holder.pid}",
            "link add eth1 type veth peer name lost1",
            "address add 192.0.2.5/24 dev eth0",
            "address add 2001:db8::5/64 dev eth0",
            "address add 192.0.2.6/24 dev eth1",
            "link set eth0 up",
            "link set eth1 up",
            "link set lost1 up",
        )
        there.ip(
            "address add 192.0.2.1/24 dev far0",
            "address add 2001:db8::1/64 dev far0",
            "address add fe80::1/64 dev far0",
            "link set far0 up",
        )
        yield here, there
    finally:
        here.close()
        there.close()


def answers(namespace: Namespace, address: IPAddress, link: str = "eth0", *, seconds: float = PATIENCE_SECONDS) -> bool:
    return namespace.call(lambda: asyncio.run(Neighbours().answers(address, link, seconds)))


@pytest.mark.parametrize("router", [ROUTER4, ROUTER6, ROUTER_LOCAL], ids=str)
def test_a_router_answers(near: Namespace, router: IPAddress) -> None:
    """In both families, by its link-local address too; and again, when it is known already."""
    assert answers(near, router)
    assert answers(near, router)


@pytest.mark.parametrize("nobody", [NOBODY4, NOBODY6], ids=str)
def test_nobody_does_not(near: Namespace, nobody: IPAddress) -> None:
    assert not answers(near, nobody, seconds=SHORT)


def test_the_same_address_on_another_link_is_another_neighbour(near: Namespace) -> None:
    """The question stays on its link."""
    assert answers(near, ROUTER4)
    assert not answers(near, ROUTER4, "eth1", seconds=SHORT)


def test_what_was_known_before_is_no_answer(near: Namespace) -> None:
    """Who has gone since is found out although the entry still counts as reachable."""
    near.ip("neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 nud reachable dev eth0")
    assert not answers(near, NOBODY4, seconds=SHORT)


def test_a_router_whose_card_was_changed_answers(near: Namespace) -> None:
    """The old link-layer address leads nowhere; the kernel finds the new one by asking everybody."""
    near.ip("neigh add 192.0.2.1 lladdr 02:00:00:00:00:99 nud reachable dev eth0")
    assert answers(near, ROUTER4)


def test_an_entry_that_somebody_fixed_stays(near: Namespace) -> None:
    """It cannot be asked, and must not be lost by asking."""
    near.ip("neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 nud permanent dev eth0")
    assert answers(near, NOBODY4, seconds=SHORT)
    (entry,) = near.ip_json("neigh show 192.0.2.9 dev eth0")
    assert entry["state"] == ["PERMANENT"]


def test_on_a_link_without_arp_no_host_answers(near: Namespace) -> None:
    """The kernel makes an entry for any address there: the second question said yes."""
    near.ip("link set eth0 arp off")
    assert [answers(near, NOBODY4, seconds=SHORT) for _ in range(3)] == [False] * 3


def test_a_router_that_comes_later_is_seen(near: Namespace) -> None:
    """That the link was down when it was asked is not the end."""
    near.ip("link set eth0 down")

    async def come_back() -> bool:
        question = asyncio.create_task(Neighbours().answers(ROUTER4, "eth0", PATIENCE_SECONDS))
        await asyncio.sleep(0.2)
        assert not question.done()
        await asyncio.to_thread(near.ip, "link set eth0 up")
        return await question

    assert near.call(lambda: asyncio.run(come_back()))


@pytest.mark.parametrize("router", [ROUTER4, ROUTER_LOCAL], ids=str)
def test_a_router_that_tells_of_itself_is_asked_nevertheless(near: Namespace, router: IPAddress) -> None:
    """Its link-layer address is news, as after a router advertisement, but no answer: the kernel would wait on."""
    for family in ("ipv4", "ipv6"):
        near.sysctl(f"net/{family}/neigh/eth0/delay_first_probe_time", 60)
    near.ip("link set eth0 down")

    async def told_meanwhile() -> bool:
        question = asyncio.create_task(Neighbours().answers(router, "eth0", PATIENCE_SECONDS))
        await asyncio.sleep(0.1)
        told = f"neigh replace {router} lladdr {ROUTER_MAC} nud stale dev eth0"
        await asyncio.to_thread(near.ip, "link set eth0 up", told)
        return await question

    assert near.call(lambda: asyncio.run(told_meanwhile()))


def test_no_such_link(near: Namespace) -> None:
    """Is an error, not a silence."""
    with pytest.raises(Unavailable, match="neighbours on nosuch cannot be asked"):
        answers(near, ROUTER4, "nosuch")


def test_what_one_link_knows_another_can_learn(near: Namespace) -> None:
    """Packets leave at once: no question has to be answered first (R68). What an administrator set stays there."""
    near.ip(
        "neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 nud reachable dev eth0",
        "neigh add 2001:db8::1 lladdr 02:00:00:00:00:01 nud stale router dev eth0",
        "neigh add 192.0.2.7 lladdr 02:00:00:00:00:07 nud permanent dev eth0",
        "neigh add 192.0.2.8 nud failed dev eth0",
        "neigh add 192.0.2.1 nud incomplete dev eth1",
    )

    def move() -> None:
        neighbours = Neighbours()
        neighbours.learn("eth1", neighbours.known("eth0"))

    near.call(move)
    entries = {str(entry["dst"]): entry for entry in near.ip_json("neigh show dev eth1") if "lladdr" in entry}
    assert sorted(entries) == ["192.0.2.1", "2001:db8::1"]
    assert all(entry["lladdr"] == ROUTER_MAC for entry in entries.values())
    assert "router" in entries["2001:db8::1"]


def test_a_link_that_is_not_there_has_no_neighbours(near: Namespace) -> None:
    """It may come later: nothing is raised."""

    def nothing() -> bool:
        neighbours = Neighbours()
        neighbours.learn("eth9", neighbours.known("eth0"))
        return neighbours.known("eth9") == ()

    assert near.call(nothing)


def test_an_announcement_is_heard(sides: tuple[Namespace, Namespace]) -> None:
    """In both families: a host that had another link-layer address of the node has the right one at once."""
    near, far = sides
    assert answers(near, ROUTER4)
    assert answers(near, ROUTER6)
    mine = near.ip_json("link show eth0")[0]["address"]
    for address in ("192.0.2.5", "2001:db8::5"):
        far.ip(f"neigh replace {address} lladdr 02:00:00:00:00:99 nud stale dev far0")
    near.call(lambda: Neighbours().announce("eth0", [ip_address("192.0.2.5"), ip_address("2001:db8::5")]))
    for address in ("192.0.2.5", "2001:db8::5"):
        (entry,) = far.ip_json(f"neigh show {address} dev far0")
        assert entry["lladdr"] == mine


def test_nothing_is_announced_on_a_link_that_is_away(near: Namespace) -> None:
    with pytest.raises(Unavailable, match="on eth7: No such device"):
        near.call(lambda: Neighbours().announce("eth7", [ROUTER4]))
