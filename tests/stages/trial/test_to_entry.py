"""Going back to an earlier entry of the history."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from nodenet.core.apply.intent import Phase, parse
from nodenet.core.change.way_back import Network
from nodenet.core.errors import UsageInvalid
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.trial.trial import Decision, TrialEnded, TrialOrder
from nodenet.stages.apply.history import History, path_of
from nodenet.stages.apply.records import CHANGE, INTENT, NEW_FILE
from stages.trial.test_run import BEFORE, DIGEST, OWN, TEXT, Rig

NOW = Profile("u", "eth0", "802-3-ethernet", "eth0", settings={"connection": {}, "ipv4": {"method": "auto"}})
ADDED = Profile("b", "br-test", "bridge", "br-test")


def profile(uuid: str, link: str, kind: str = "802-3-ethernet") -> KeptProfile:
    values = {"interface-name": ["variant", "s", ["plain", link]], "type": ["variant", "s", ["plain", kind]]}
    return KeptProfile(uuid, link, "", in_memory=False, settings={"connection": values})


THEN = profile("u", "eth0")
NETWORK = Network(("br-test", "eth0"), (THEN,), {"eth0": "u"})
ENTRY = Entry(Kind.NODE_FILE, Result.COMMITTED, "worker-0.yml", TEXT.decode(), DIGEST, "worker-0", "b", 1.0, good=True)


def rig(decisions: list[Decision | None] | None = None, *, entry_: Entry | None = None, **order: Any) -> Rig:
    """Return a node whose first entry is *entry_*; a later file has added a bridge."""
    given = {"seconds": 0.0, "entry": 1, **order}
    found = Rig(decisions or [], order=TrialOrder("worker-0.yml", DIGEST, who="root", **given))
    one = entry_ or replace(ENTRY, network=NETWORK)
    found.files.content[str(path_of(1))] = entry.render(one, 1 << 20)
    found.profiles.found = Inventory(
        (Device("eth0", "ethernet", profile=NOW), Device("br-test", "bridge", profile=ADDED)),
        (NOW, ADDED),
        settled=frozenset({"eth0"}),
    )
    return found


async def test_the_network_comes_back_and_its_file_is_the_one_of_the_node() -> None:
    """Nothing is left of what later files have added, and no confirmation is asked for."""
    node = rig()
    assert await node.hold() == OWN
    assert node.profiles.done == [("delete", "b"), ("give_back", THEN), ("activate", "u", "eth0")]
    assert (node.nmstate.applied, node.nmstate.committed) == ([TEXT.decode()], ["/checkpoint/1"])
    assert node.files.content[OWN] == TEXT
    assert parse(node.files.content[str(INTENT)]).phase is Phase.GOOD
    assert str(CHANGE) not in node.files.content
    newest = History(node.files).newest()
    assert newest is not None
    assert (newest.number, newest.kind, newest.good, newest.who) == (2, Kind.ROLLBACK, True, "rollback by root")


async def test_what_was_not_good_is_not_good_by_that_and_its_boots_count() -> None:
    node = rig(entry_=replace(ENTRY, network=NETWORK, good=False))
    await node.hold()
    newest = History(node.files).newest()
    assert newest is not None
    assert (newest.good, str(NEW_FILE) in node.files.content) == (False, False)


async def test_it_is_on_trial_for_a_time_and_undone_without_a_confirmation() -> None:
    """The network from before the trial comes back, whatever the way back has changed."""
    node = rig(seconds=60.0)
    with pytest.raises(TrialEnded, match="its time is over"):
        await node.hold()
    assert node.manager.rolled_back == ["/checkpoint/1"]
    assert node.files.content[str(INTENT)] == BEFORE
    assert node.files.content[OWN] != TEXT
    assert History(node.files).numbers() == [1]
    confirmed = rig([Decision.CONFIRM], seconds=60.0, entry_=replace(ENTRY, network=NETWORK, good=False))
    await confirmed.hold()
    newest = History(confirmed.files).newest()
    assert newest is not None
    assert newest.good, "an administrator has confirmed it"


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (replace(ENTRY, network=None, result=Result.REFUSED, cause="no"), "its change was refused"),
        (replace(ENTRY, network=None), "it was kept without its network"),
        (replace(ENTRY, network=NETWORK, hostname="worker-9"), "it belongs to the host worker-9"),
    ],
)
async def test_what_has_no_network_is_refused(one: Entry, said: str) -> None:
    node = rig(entry_=one)
    with pytest.raises(UsageInvalid, match=said):
        await node.hold()
    assert (node.nmstate.applied, node.profiles.done) == ([], [])


@pytest.mark.parametrize(("number", "content"), [(7, b""), (1, b"{")])
async def test_there_is_no_such_entry(number: int, content: bytes) -> None:
    node = rig(entry=number)
    if content:
        node.files.content[str(path_of(1))] = content
    with pytest.raises(UsageInvalid, match=r"has no entry 7|is damaged"):
        await node.hold()


async def test_a_nic_that_is_gone_is_named_and_the_others_come_back_by_force() -> None:
    """A bridge or a VLAN that is gone is made again."""
    profiles = (THEN, profile("v", "eth7"), profile("w", "br-old", "bridge"))
    network = replace(NETWORK, profiles=profiles, active={"eth0": "u", "eth7": "v", "br-old": "w"})
    one = replace(ENTRY, network=replace(network, links=("br-old", "br-test", "eth0", "eth7")))
    node = rig(entry_=one)
    with pytest.raises(UsageInvalid, match=r"entry 1 of the history has eth7, and this host has no such link"):
        await node.hold()
    assert (node.nmstate.applied, node.profiles.done) == ([], [])
    forced = rig(entry_=one, force=True)
    await forced.hold()
    assert ("activate", "u", "eth0") in forced.profiles.done


async def test_the_present_network_is_nothing_to_go_back_to() -> None:
    """The same file, where the network is another one, is."""
    node = rig()
    node.nmstate.left = {}
    own = hashlib.sha256(TEXT).hexdigest()
    node.files.content[OWN] = TEXT
    assert await node.hold(digest=own) == OWN
    again = rig()
    again.nmstate.left = {}
    profiles = Profile("u", "eth0", "802-3-ethernet", "eth0", settings=THEN.settings)
    again.profiles.found = Inventory((Device("eth0", "ethernet", profile=profiles),), (profiles,))
    with pytest.raises(UsageInvalid, match="there is nothing to try"):
        await again.hold()
