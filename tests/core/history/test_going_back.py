"""Which profiles are those of the last known good network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.history.test_entry import GOOD
from nodenet.core.change.way_back import Network
from nodenet.core.history.entry import network_of
from nodenet.core.network_manager.objects import KeptProfile


def profile(uuid: str, link: str = "", name: str = "") -> KeptProfile:
    values: dict[str, Any] = {"interface-name": ["variant", "s", ["plain", link]]} if link else {}
    return KeptProfile(uuid, name or uuid, "/p", in_memory=False, settings={"connection": ["dict", values]})


ETH0, ETH1, STORAGE, BY_MAC = profile("a", "eth0"), profile("b", "eth1"), profile("c", "sto0"), profile("d", name="mac")
THEN = Network(
    ("eth0",),
    (ETH0, ETH1, STORAGE, BY_MAC),
    {"eth0": "a", "eth1": "b", "sto0": "c"},
    due={"x": "y"},
)
GOOD_ONE = replace(GOOD, network=THEN)
BAD = Network(("br-test", "eth0"), active={"eth0": "a"}, names=("mac",))


def test_the_links_of_all_files_since_come_back_and_no_other_one() -> None:
    """An administrator has changed the profile of sto0, which no file names."""
    between = replace(GOOD, network=Network(("eth1",)))
    found = network_of(GOOD_ONE, [between, replace(GOOD, network=None)], BAD)
    assert found is not None
    assert (found.links, found.names) == (("br-test", "eth0", "eth1"), ("mac",))
    assert found.profiles == (ETH0, ETH1, BY_MAC)
    assert found.active == {"eth0": "a", "eth1": "b"}
    assert found.due == {}
    only = network_of(GOOD_ONE, [], replace(BAD, names=()))
    assert only is not None
    assert only.profiles == (ETH0,)


def test_there_is_no_way_back_without_the_profiles() -> None:
    assert network_of(replace(GOOD, network=None), [], BAD) is None


def test_a_bridge_of_nodenetd_and_its_uplink_are_left_alone() -> None:
    """They may have been made since; their profiles have what the present lease is."""
    port = profile("p", "eth0")
    port.settings["connection"][1]["port-type"] = ["variant", "s", ["plain", "ovs-port"]]
    links = ("br-test", "eth0", "eth1")
    bridged = Network(links, (port,), {"br-ex": "x", "eth0": "p", "eth1": "b"})
    found = network_of(GOOD_ONE, [], bridged, ("br-ex", "br-ex1"))
    assert found is not None
    assert (found.links, found.active) == (("br-test", "eth1"), {"eth1": "b"})
    assert found.profiles == (ETH1,)
    of_file = network_of(GOOD_ONE, [], replace(bridged, links=("br-ex", *links)), ("br-ex", "br-ex1"))
    assert of_file is not None
    assert of_file.links == ("br-ex", *links), "a bridge of a file goes with it"
