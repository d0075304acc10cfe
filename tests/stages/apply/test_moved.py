"""Profiles are prepared for an apply that moves an address, and are what they were where it fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from core.apply.test_moved import ETH0, FOUND, IPV4
from fakes import FakeProfiles, stage_edges
from nodenet.core.change.way_back import Network
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.messages import Message
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read
from nodenet.stages.apply.changes import Changes
from nodenet.stages.apply.moved import prepared
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file

MOVES = {"interfaces": [{"name": "eth0", "ipv4": {"enabled": False}}]}
FILE = read("w.yml", b"interfaces:\n- name: eth0\n  type: ethernet\n")


async def kept() -> tuple[tuple[Changes, Network, str], FakeProfiles]:
    """Return the network as it is kept for an apply."""
    profiles = FakeProfiles(FOUND)
    edges = stage_edges(profiles=profiles)
    network = await network_of_file(ProfileKeeper(edges.profiles, edges.files), parse(FILE))
    return (Changes(edges), network, FILE.name), profiles


async def test_an_apply_that_succeeds_leaves_the_prepared_profile() -> None:
    before, profiles = await kept()
    async with prepared(*before, MOVES):
        assert profiles.done == [("set", "a", IPV4)]
    assert profiles.done == [("set", "a", IPV4)]


async def test_an_apply_that_fails_gives_profile_and_link_back() -> None:
    """Also where NetworkManager has rolled it back, and the link did not come up by that."""
    before, profiles = await kept()
    bare = replace(ETH0, settings={"ipv4": {"method": "manual"}})
    without = replace(FOUND.devices[0], profile=None)

    async def apply() -> None:
        async with prepared(*before, MOVES):
            profiles.found = replace(FOUND, devices=(without, FOUND.devices[1]), profiles=(bare, FOUND.profiles[1]))
            profiles.on_give_back = lambda _: setattr(profiles, "found", replace(FOUND, settled=frozenset({"eth0"})))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await apply()
    assert [order[0] for order in profiles.done] == ["set", "give_back", "activate"]
    assert profiles.done[1][1].settings["ipv4"] == ETH0.settings["ipv4"]


async def test_what_cannot_be_put_back_is_said_and_the_cause_is_that_of_the_apply() -> None:
    before, profiles = await kept()

    async def apply() -> None:
        async with prepared(*before, MOVES):
            profiles.broken = Unavailable("gone")
            raise NodenetError("the apply")

    with capture_logs() as logs, pytest.raises(NodenetError, match="the apply"):
        await apply()
    assert [line["message"] for line in logs] == [Message.ROLLBACK_FAILED]


async def test_what_ends_no_family_asks_networkmanager_nothing() -> None:
    before, profiles = await kept()
    profiles.broken = Unavailable("gone")
    async with prepared(*before, {"interfaces": [{"name": "eth0", "mtu": 1400}]}):
        pass
    with pytest.raises(Unavailable):
        async with prepared(*before, MOVES):
            pytest.fail("the apply has begun")
