"""When a default route that is gone, or a gateway that is silent, is reported."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, NextHop, Route, Snapshot
from nodenet.core.messages import Message
from nodenet.core.uplink_health.health import WayOut
from nodenet.core.uplink_health.watched import Gateway, Place

V4, V6, GATEWAY = ip_address("192.0.2.5"), ip_address("2001:db8::5"), ip_address("192.0.2.1")
ROUTES = (
    Route(ip_network("0.0.0.0/0"), (NextHop("eth0", GATEWAY),)),
    Route(ip_network("::/0"), (NextHop("eth0", ip_address("fe80::1")),)),
)
ADDRESSES = (Address(V4, 24, "eth0"), Address(V6, 64, "eth0"))
BOTH = Snapshot(addresses=ADDRESSES, routes=ROUTES)
PLACE = Place("eth0", families=frozenset(Family), node_ips=(V4, V6))
SILENT = (Gateway(GATEWAY, "eth0"),)


def seen(*looks: tuple[float, Snapshot, bool]) -> list[str]:
    """Return the cause after each look: when it was, what there is, and whether the gateway is silent."""
    known, causes = WayOut(), []
    for now, snapshot, silent in looks:
        known = known.seen(now, PLACE, snapshot, SILENT if silent else ())
        problem = known.problem("eth0", lambda seconds: f"{seconds:g}")
        causes.append(problem.cause if problem else "")
    return causes


def without(family: Family, *, address: bool = False) -> Snapshot:
    """Return the network without the default route of *family*; *address*: without its node IP too."""
    addresses = tuple(each for each in ADDRESSES if not address or each.address.version != int(str(family)[-1]))
    return Snapshot(addresses=addresses, routes=tuple(each for each in ROUTES if each.family is not family))


def test_a_default_route_that_is_gone_is_reported_after_five_seconds_and_back_at_once() -> None:
    """NetworkManager removes a route for a moment where it activates a profile again."""
    gone = without(Family.IPV4)
    assert seen((0, BOTH, False), (1, gone, False), (5, gone, False), (6, gone, False), (7, BOTH, False)) == [
        *("", "", ""),
        "No default route for IPv4 any more since 1",
        "",
    ]
    assert seen((0, BOTH, False), (1, gone, False), (5, BOTH, False), (6, gone, False), (8, gone, False))[-1] == ""


def test_each_family_of_the_node_ips_needs_its_own() -> None:
    cause = "No default route for IPv4 and IPv6 any more since 1"
    bare = replace(BOTH, routes=())
    assert seen((0, BOTH, False), (1, bare, False), (6, bare, False))[-1] == cause
    cause = "No default route for IPv6 any more since 1"
    assert seen((0, BOTH, False), *((now, without(Family.IPV6), False) for now in (1, 6)))[-1] == cause


def test_a_node_that_never_had_one_needs_none() -> None:
    """Nor does a family whose node IP is gone: that is reported by itself."""
    bare = replace(BOTH, routes=())
    assert seen((0, bare, False), (100, bare, False)) == ["", ""]
    gone = without(Family.IPV6, address=True)
    assert seen((0, BOTH, False), (1, gone, False), (100, gone, False)) == ["", "", ""]


def test_the_route_that_goes_with_the_node_ips_is_not_back() -> None:
    bare = replace(BOTH, routes=())
    causes = seen((0, BOTH, False), (1, bare, False), (6, bare, False), (7, Snapshot(), False))
    assert causes[-1] == causes[-2] != ""


def test_a_silent_gateway_whose_route_goes_has_not_answered() -> None:
    """It stays the problem until the route is, and is again as soon as the route is back."""
    gone = without(Family.IPV4)
    silent = "No answer from the gateway 192.0.2.1 on eth0 since "
    assert seen(
        *((now, BOTH, True) for now in (0, 2)),
        *((now, gone, False) for now in (3, 5, 8)),
        *((now, BOTH, True) for now in (9, 10)),
        (11, BOTH, False),
    ) == ["", *[f"{silent}0"] * 3, "No default route for IPv4 any more since 3", *[f"{silent}9"] * 2, ""]


def test_the_problem_names_what_helps() -> None:
    known = WayOut().seen(0, PLACE, BOTH, ())
    for now in (1, 6):
        known = known.seen(now, PLACE, without(Family.IPV4), ())
    problem = known.problem("br-ex", str)
    assert problem
    assert (problem.message, problem.remedy) == (
        Message.ROUTE_LOST,
        (
            "Look at `ip route`, `ip -6 route` and `journalctl -u NetworkManager`; `nmcli device reapply br-ex` "
            "restores the routes of its profile"
        ),
    )
