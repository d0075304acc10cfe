"""Which OpenFlow port number does each link keep?"""

from __future__ import annotations

import pytest

from nodenet.core.network_manager.profiles import MADE_BY_NM
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort, handed_over, kept, parse, render

OWN = {MADE_BY_NM: "1"}


def bridge(**numbers: int | None) -> OvsBridge:
    links = [OvsPort(link, (OvsInterface(link, ofport=number),), OWN) for link, number in numbers.items()]
    inside = OvsPort("br-ex", (OvsInterface("br-ex", "internal", ofport=65_534),), OWN)
    patch = OvsPort("patch", (OvsInterface("patch", "patch", ofport=2),))
    tap = OvsPort("tap0", (OvsInterface("tap0", ofport=7),))
    return OvsBridge("br-ex", ports=(inside, *links, patch, tap))


def test_a_link_keeps_the_number_that_it_had_first() -> None:
    """Ports of others, patch ports and the bridge's own are not ours to number."""
    assert kept([bridge(eth0=1)], {}) == {"br-ex": {"eth0": 1}}
    assert kept([bridge(eth0=3)], {"br-ex": {"eth0": 1}}) == {"br-ex": {"eth0": 1}}


def test_a_link_in_the_place_of_another_one_gets_its_number() -> None:
    """After a swap of what is below the bridge; with the old link still there it gets one of its own."""
    assert kept([bridge(bond0=4)], {"br-ex": {"eth0": 1}}) == {"br-ex": {"bond0": 1}}
    assert kept([bridge(eth0=1, eth1=4)], {"br-ex": {"eth0": 1}}) == {"br-ex": {"eth0": 1, "eth1": 4}}


def test_a_leg_of_a_bond_that_is_the_only_link_then_has_the_first_number() -> None:
    """A bond with one leg in use keeps its numbers: the other one comes back."""
    known = {"br-ex": {"eth1": 1, "eth2": 3}}
    assert kept([bridge(eth2=3)], known) == {"br-ex": {"eth2": 1}}
    assert handed_over(bridge(eth2=3), known) == {"eth2": 1}
    leg = OvsPort("bond0", (OvsInterface("eth2", ofport=3, ofport_request=3),), OWN)
    assert kept([OvsBridge("br-ex", ports=(leg,))], known) == {"br-ex": {"eth2": 3}}
    assert handed_over(OvsBridge("br-ex", ports=(leg,)), known) == {}


def test_a_link_that_has_come_back_without_its_request_gets_its_number() -> None:
    """A rollback brings the profile of before; with both links there, the new one has no number of another one."""
    known = {"br-ex": {"eth0": 1}}
    assert handed_over(bridge(eth0=5), known) == {"eth0": 1}
    assert handed_over(bridge(eth0=5, eth1=6), known) == {"eth0": 1}


def test_a_bridge_that_is_away_keeps_its_numbers() -> None:
    """`nodenetctl bridge remove`, and NetworkManager's restart."""
    known = {"br-ex": {"eth0": 1}}
    assert kept([], known) == known
    assert kept([bridge()], known) == known


def test_a_link_without_a_number_gets_none() -> None:
    """Open vSwitch could not make the port."""
    assert kept([bridge(eth0=None)], {}) == {}


def test_the_numbers_are_stored() -> None:
    known = {"br-ex": {"eth0": 1}, "br-ex1": {"eth1": 65_279}}
    assert parse(render(known)) == known


@pytest.mark.parametrize(
    "torn",
    [
        b"",
        b"{}",
        b"[]",
        b'{"ofports": 7}',
        b'{"ofports": {"br-ex": {"eth0": "1"}}}',
        b'{"ofports": {"b": {"e": 65280}}}',
    ],
)
def test_torn_numbers_are_refused(torn: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (of JSON, or our own)
        parse(torn)
