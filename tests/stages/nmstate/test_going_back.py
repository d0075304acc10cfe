"""A node comes back to its last known good network."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from fakes import BOOT_ID
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Done, Outcome, Waiting
from nodenet.core.boot.stage_state import Request
from nodenet.core.change.way_back import Network
from nodenet.core.errors import Unavailable
from nodenet.core.history import entry
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_ip.published_files import KUBELET, PRIMARY, RUN
from nodenet.stages.apply.history import History, path_of
from nodenet.stages.apply.records import CHANGE
from stages.nmstate.test_stage import OLD, TEXT, Rig, quarantined

BAD = hashlib.sha256(TEXT).hexdigest()
NOW = Profile("u", "eth0", "802-3-ethernet", "eth0", settings={"connection": {}, "ipv4": {"method": "auto"}})
ADDED = Profile("b", "br-test", "bridge", "br-test")
THEN = KeptProfile("u", "eth0", "", in_memory=False, settings={"connection": {}, "ipv4": {"method": "manual"}})


def given_up() -> Rig:
    """Return a node on the network of a file that it gives up in this boot; that file has added a bridge."""
    rig = quarantined()
    good = History(rig.files).good("worker-0").entry
    assert good is not None
    network = Network(("br-test", "eth0"), (THEN,), {"eth0": "u"})
    rig.files.content[str(path_of(1))] = entry.render(replace(good, network=network), 1 << 20)
    rig.profiles.found = Inventory(
        (Device("eth0", "ethernet", profile=NOW), Device("br-test", "bridge", profile=ADDED)),
        (NOW, ADDED),
        settled=frozenset({"eth0"}),
    )
    rig.remember(Intent(BAD, Phase.GOOD, "boot2", 1.0, BAD))
    return rig


async def settled(rig: Rig) -> Outcome:
    """Return the outcome once the network is the good one: the loop undoes to it before the next attempt."""
    assert isinstance(await rig.attempt(), Waiting)
    return await rig.attempt()


async def test_what_the_bad_file_has_added_goes_and_what_it_changed_is_as_it_was() -> None:
    """Before the good file is compared with the network; a second pass does nothing more."""
    rig = given_up()
    outcome = await settled(rig)
    assert isinstance(outcome, Done)
    assert outcome.problem is not None
    assert outcome.problem.message is Message.NODE_FILE_QUARANTINED
    assert rig.profiles.done == [("delete", "b"), ("give_back", THEN), ("activate", "u", "eth0")]
    assert rig.record.in_force == hashlib.sha256(OLD).hexdigest()
    assert str(CHANGE) not in rig.files.content
    rig.profiles.done.clear()
    await rig.attempt()
    assert rig.profiles.done == []


async def test_a_way_back_that_was_interrupted_is_gone_again() -> None:
    """NetworkManager goes away in the middle; what is kept is put back by this process, or by the next one."""
    rig = given_up()
    rig.profiles.broken = Unavailable("gone")
    assert isinstance(await rig.attempt(), Waiting)
    assert rig.record.in_force == BAD, "nothing had begun"
    rig.profiles.broken = None
    rig.manager.status = ManagerState.ABSENT
    assert isinstance(await rig.attempt(), Waiting)
    assert rig.profiles.done == []
    rig.manager.status = ManagerState.READY
    assert isinstance(await rig.attempt(), Waiting)
    again = replace(rig, files=rig.files)
    await again.attempt()
    assert ("delete", "b") in rig.profiles.done


@pytest.mark.parametrize("in_force", ["the good one", "no record"])
async def test_a_network_that_no_bad_file_has_made_is_left_alone(in_force: str) -> None:
    """An apply of the bad file was undone: the network is that of the good one."""
    rig = given_up()
    good = hashlib.sha256(OLD).hexdigest()
    if in_force == "no record":
        del rig.files.content["/var/lib/nodenet/intent.json"]
    else:
        rig.remember(Intent(BAD, Phase.REFUSED, BOOT_ID, 1.0, good))
    await rig.attempt()
    assert rig.profiles.done == []


async def test_without_the_profiles_of_the_good_network_its_file_is_applied_as_it_is() -> None:
    rig = given_up()
    good = History(rig.files).good("worker-0").entry
    assert good is not None
    rig.files.content[str(path_of(1))] = entry.render(replace(good, network=None), 1 << 20)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert rig.profiles.done == []


@pytest.mark.parametrize("runs", [True, False], ids=["kubelet runs", "kubelet waits"])
async def test_a_new_process_under_kubelet_does_not_go_back(runs: bool) -> None:  # noqa: FBT001
    """The bad file was given up and undone, and the good one failed: nothing is in force, and pods run on the node."""
    rig = given_up()
    good = hashlib.sha256(OLD).hexdigest()
    rig.remember(Intent(good, Phase.REFUSED, BOOT_ID, 1.0, None, cause="failed"))
    rig.files.content[str(RUN / PRIMARY.name)] = b"192.0.2.5"
    if runs:
        rig.systemd.running.add(KUBELET)
    for _ in range(2):
        await rig.attempt()
    assert bool(rig.profiles.done or rig.nmstate.applied) is not runs
    if runs:
        assert isinstance(await rig.attempt(request=Request(2, retry_refused=True)), Done)
        assert rig.nmstate.applied == [TEXT.decode()]
