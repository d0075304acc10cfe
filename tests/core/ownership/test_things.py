"""What others have on links, kept over a change."""

from __future__ import annotations

import pytest

from nodenet.core.ownership.things import Kind, Thing, missing, of_links, parse, render

ADDRESS = Thing(Kind.ADDRESS, "br-ex", ("169.254.0.2",), "02")
VIP = Thing(Kind.ADDRESS, "br-ex", ("192.0.2.100",), "02")
NEIGHBOUR = Thing(Kind.NEIGHBOUR, "br-ex", ("169.254.0.4",), "02")
NEAR = Thing(Kind.ROUTE, "br-ex", ("169.254.0.1/32", "", "254", "0"), "02")
FAR = Thing(Kind.ROUTE, "br-ex", ("172.30.0.0/16", "169.254.0.4", "254", "0"), "02")


def test_they_come_in_the_order_in_which_the_kernel_takes_them() -> None:
    """Addresses, neighbours, routes without a next hop, routes with one; VIPs move with their holder."""
    elsewhere = Thing(Kind.ADDRESS, "eth1", ("198.51.100.1",))
    things = (FAR, NEAR, VIP, NEIGHBOUR, elsewhere, ADDRESS)
    assert of_links(things, {"br-ex"}, {"192.0.2.100"}) == (ADDRESS, NEIGHBOUR, NEAR, FAR)


def test_a_thing_is_missing_unless_it_is_on_its_link() -> None:
    """Its message may differ: the number of a link that was made again is another."""
    again = Thing(Kind.ADDRESS, "br-ex", ("169.254.0.2",), "ff")
    moved = Thing(Kind.ROUTE, "eth0", NEAR.name, "02")
    assert missing((ADDRESS, NEAR), (again, moved)) == (NEAR,)


def test_they_are_stored_whole() -> None:
    assert parse(render((ADDRESS, FAR))) == (ADDRESS, FAR)


@pytest.mark.parametrize("torn", [b"", b"[{", b'{"a": 1}', b'["x"]', b'[{"kind": "address"}]', b"7"])
def test_a_torn_list_is_refused(torn: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (of JSON, or our own)
        parse(torn)
