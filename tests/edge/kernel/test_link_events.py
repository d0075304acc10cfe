"""Links of a real kernel: their state, and the events of those that are watched and of no others."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator

import pytest

from edge.namespace import Namespace
from nodenet.edge.kernel.link_events import LinkEvents

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)


@pytest.fixture
def here() -> Iterator[Namespace]:
    """A namespace with two cables, eth0 and eth1, whose other ends are far0 and far1."""
    space = Namespace()
    try:
        for number in (0, 1):
            space.ip(
                f"link add eth{number} type veth peer name far{number}",
                f"link set eth{number} up",
                f"link set far{number} up",
            )
        yield space
    finally:
        space.close()


def calls_during(
    space: Namespace,
    names: list[str],
    change: Callable[[], None],
    *,
    again: list[str] | None = None,
    unrouted: bool = False,
) -> int:
    """Return how often a listener to *names*, or (*unrouted*) to default routes, was called while *change* happened."""

    async def listen() -> int:
        links, calls = LinkEvents(), 0

        def called() -> None:
            nonlocal calls
            calls += 1

        def nothing() -> None:
            return None

        heard = (nothing, called) if unrouted else (called, nothing)
        links.listen(["eth1"] if again is not None else names, *heard)
        if again is not None:
            links.listen(again, *heard)
        await asyncio.sleep(0.05)
        await asyncio.to_thread(change)
        await asyncio.sleep(0.2)
        links.close()
        return calls

    return space.call(lambda: asyncio.run(_as_coroutine(listen())))


async def _as_coroutine(work: Awaitable[int]) -> int:
    return await work


def test_the_carrier_of_a_link_is_that_of_its_cable(here: Namespace) -> None:
    """Up or down it has one only while the other end is up."""
    links = LinkEvents()
    link = here.call(lambda: links.link("eth0"))
    assert link
    assert (link.name, link.up, link.carrier) == ("eth0", True, True)
    here.ip("link set far0 down")
    link = here.call(lambda: links.link("eth0"))
    assert link
    assert (link.up, link.carrier) == (True, False)
    assert here.call(lambda: links.link("eth9")) is None


def test_a_pulled_cable_is_told_and_other_links_are_not(here: Namespace) -> None:
    """A node's pods come and go: the kernel filters before it wakes anybody (R27)."""
    assert calls_during(here, ["eth0"], lambda: here.ip("link set far0 down")) > 0
    others = ["link add pod0 type veth peer name pod1", "link set pod0 up", "link set far1 down", "link del pod0"]
    assert calls_during(here, ["eth0"], lambda: here.ip(*others)) == 0
    assert calls_during(here, ["eth0", "eth1"], lambda: here.ip("link set far1 up")) > 0


def test_a_link_that_is_gone_is_reported(here: Namespace) -> None:
    """Its driver was taken away."""
    assert calls_during(here, ["eth0"], lambda: here.ip("link del eth0")) > 0


def test_a_listener_may_move_to_other_links(here: Namespace) -> None:
    """The uplink is another one after `nodenetctl bridge remove`."""
    assert calls_during(here, [], lambda: here.ip("link set far0 down"), again=["eth0"]) > 0
    assert calls_during(here, [], lambda: here.ip("link set far1 down"), again=["eth0"]) == 0


@pytest.mark.parametrize(("family", "gateway"), [("-4", "192.0.2.1"), ("-6", "2001:db8::1")])
def test_the_end_of_a_default_route_is_told_and_of_no_other_route(here: Namespace, family: str, gateway: str) -> None:
    """Pods have routes of their own, and their links do too."""
    here.ip("address add 192.0.2.5/24 dev eth0", "-6 address add 2001:db8::5/64 dev eth0 nodad")
    here.ip(f"{family} route add default via {gateway}", f"{family} route add default via {gateway} table 100")
    other = "198.51.100.0/24" if family == "-4" else "2001:db8:1::/64"
    others = [f"{family} route add {other} via {gateway}", f"{family} route del {other}"]
    others += [f"{family} route del default table 100", "link set far1 down"]
    assert calls_during(here, ["eth0"], lambda: here.ip(*others), unrouted=True) == 0
    assert calls_during(here, ["eth0"], lambda: here.ip(f"{family} route del default")) == 0
    here.ip(f"{family} route add default via {gateway}")
    assert calls_during(here, ["eth0"], lambda: here.ip(f"{family} route del default"), unrouted=True) == 1
