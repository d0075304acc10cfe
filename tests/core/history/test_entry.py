"""What is kept of a change of the network that is over?"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from nodenet.core.change.way_back import Network
from nodenet.core.history.entry import (
    MOST_BYTES,
    MOST_ENTRIES,
    Entry,
    Kind,
    Result,
    network_of,
    numbers,
    parse,
    render,
    says_the_same,
    surplus,
)
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.node_file.find import read

TEXT = "interfaces: []\n"
DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()
NETWORK = Network(("eth0",), (KeptProfile("u", "eth0", "/p", in_memory=False, settings={}),))
GOOD = Entry(
    Kind.NODE_FILE,
    Result.COMMITTED,
    "worker-0.yml",
    TEXT,
    DIGEST,
    "worker-0",
    "boot",
    1.5,
    number=3,
    who="root",
    good=True,
    network=NETWORK,
)
LARGE = 1 << 20


def test_an_entry_is_what_it_was_and_reads_as_the_file() -> None:
    assert parse(render(GOOD, LARGE), 3) == GOOD
    assert replace(GOOD.file, name="worker-0.yml") == read("worker-0.yml", TEXT.encode())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "Expecting"),
        (b"[]", "it does not have version 1"),
        (b'{"version": 1}', "not a complete entry"),
        (b'{"version": 2}', "of a later release"),
        (b"", "it is empty"),
        (
            render(replace(GOOD, text="interfaces: [1]\n"), LARGE),
            "its text is not the one that its SHA-256 was made of",
        ),
        (render(GOOD, LARGE).replace(b'"interfaces: []\\n"', b"3"), "not a complete entry"),
        (render(GOOD, LARGE).replace(b'"root"', b"3"), "a value has another type"),
        (render(GOOD, LARGE).replace(b'"good": true', b'"good": 1'), "a value has another type"),
        (render(GOOD, LARGE).replace(b'"committed"', b'"lost"'), "is not a valid Result"),
        (render(GOOD, LARGE).replace(b'"uuid"', b'"id"'), "not a complete entry"),
        (render(GOOD, LARGE)[:60], "Unterminated string"),
    ],
)
def test_a_damaged_entry_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(content, 3)


@pytest.mark.parametrize(
    ("name", "of", "host", "why"),
    [
        ("worker-0.yml", "worker-0", "worker-0", None),
        ("worker-0.yml", "worker-9", "worker-0", "it belongs to the host worker-9, and this one is worker-0"),
        ("worker-0.yml", "worker-0", None, "it belongs to the host worker-0, and this one has no name yet"),
        ("Cluster.yaml", "worker-0", None, None),
        ("cluster.yml", None, "worker-0", None),
        ("cluster.yml", "worker-0", "worker-9", "it belongs to the host worker-0, and this one is worker-9"),
    ],
)
def test_an_entry_is_for_its_host(name: str, of: str | None, host: str | None, why: str | None) -> None:
    """The file of the cluster is the same for every host: it is used while the node has no name."""
    assert replace(GOOD, name=name, hostname=of).refused_for(host) == why


def test_the_same_again_says_nothing() -> None:
    assert not says_the_same(GOOD, None)
    assert says_the_same(replace(GOOD, time=9.0, boot_id="other"), GOOD)
    for other in (replace(GOOD, cause="x"), replace(GOOD, kind=Kind.TRIAL), replace(GOOD, digest="d")):
        assert not says_the_same(other, GOOD)


def test_names_that_are_no_entries_are_left_out() -> None:
    assert numbers(["2.json", "10.json", "1.json.old", ".json", "x.json", "²3.json", "-4.json"]) == [10, 2, 1][:2]


def test_the_oldest_go_first_and_never_the_newest_or_the_good_one() -> None:
    assert surplus([]) == []
    sizes = [(number, 10) for number in range(60, 0, -1)]
    assert surplus(sizes) == list(range(60 - MOST_ENTRIES, 0, -1))
    assert surplus(sizes, [5]) == [number for number in range(11, 0, -1) if number != 5]
    large = [(3, MOST_BYTES), (2, MOST_BYTES), (1, MOST_BYTES)]
    assert (surplus(large), surplus(large, [1])) == ([2, 1], [2])


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
