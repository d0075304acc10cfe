"""A link below a bridge keeps its OpenFlow port number."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes import FakeFiles, FakeOvsdb, FakeProfiles
from nodenet.core.boot.outcome import Done, Facts, Outcome, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import KEYFILES, MADE_BY_NM, Device, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.edge.files.store import Store
from nodenet.stages.apply.records import OFPORTS
from nodenet.stages.br_ex.ofports import KeepOfports

PROFILE = Profile("u-1", "eth0", "802-3-ethernet", "eth0")
PORT = Device("eth0", "ovs-port", profile=Profile("u-0", "eth0-port", "ovs-port", "eth0"))
LINK = Device("eth0", "ethernet", profile=PROFILE)
OWN = {MADE_BY_NM: "1"}
WITH_BRIDGE = Facts(bridge="br-ex")


def bridge(number: int, request: int | None = None) -> OvsBridge:
    item = OvsInterface("eth0", ofport=number, ofport_request=request)
    return OvsBridge("br-ex", ports=(OvsPort("eth0", (item,), OWN),))


@dataclass
class Inner:
    """A stage that ends with *outcome*."""

    outcome: Outcome

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
        return self.outcome


@dataclass
class Rig:
    """A br-ex over eth0, port 1."""

    ovsdb: FakeOvsdb = field(default_factory=lambda: FakeOvsdb(held=(bridge(1),)))
    profiles: FakeProfiles = field(default_factory=lambda: FakeProfiles(Inventory((PORT, LINK), (PROFILE,))))
    files: FakeFiles = field(default_factory=FakeFiles)

    async def attempt(self, outcome: Outcome) -> Outcome:
        stage = KeepOfports(Inner(outcome), self.ovsdb, self.profiles, self.files, Store(self.files, KEYFILES))
        return await stage.attempt(Facts())


async def test_the_number_is_asked_for_in_the_profile_and_in_the_database() -> None:
    """A second pass, which finds it there, writes nothing."""
    rig = Rig()
    done = Done("made", WITH_BRIDGE, Message.BRIDGE_MADE)
    assert await rig.attempt(done) is done
    assert rig.profiles.done == [("set", "u-1", {"ovs-interface": {"ofport-request": 1}})]
    assert rig.ovsdb.requested == {"eth0": 1}
    written = dict(rig.files.content)
    rig.ovsdb.held = (bridge(1, 1),)
    await rig.attempt(done)
    assert len(rig.profiles.done) == 1
    assert rig.files.content == written


async def test_a_bridge_that_was_made_again_gets_its_number_again() -> None:
    rig = Rig()
    await rig.attempt(Done("made", WITH_BRIDGE, Message.BRIDGE_MADE))
    rig.ovsdb.held = (bridge(3),)
    rig.ovsdb.requested.clear()
    await rig.attempt(Done("made", WITH_BRIDGE, Message.BRIDGE_MADE))
    assert rig.ovsdb.requested == {"eth0": 1}


async def test_a_node_without_a_bridge_is_asked_nothing() -> None:
    """Nor is one whose stage has not ended."""
    for outcome in (Done("no bridge", Facts(), Message.BRIDGE_MADE), Waiting("for something")):
        rig = Rig()
        await rig.attempt(outcome)
        assert (rig.profiles.done, rig.ovsdb.requested, rig.files.content) == ([], {}, {})


async def test_a_database_that_is_away_is_asked_later() -> None:
    """The stage has done its work all the same."""
    rig = Rig(profiles=FakeProfiles(broken=Unavailable("NetworkManager does not answer")))
    done = Done("made", WITH_BRIDGE, Message.BRIDGE_MADE)
    assert await rig.attempt(done) is done
    assert rig.ovsdb.requested == {}
    rig.ovsdb.up = False
    assert await rig.attempt(done) is done


async def test_torn_numbers_are_set_aside() -> None:
    """The present ones are kept then."""
    rig = Rig(files=FakeFiles({str(OFPORTS): b"[{"}))
    await rig.attempt(Done("made", WITH_BRIDGE, Message.BRIDGE_MADE))
    assert rig.ovsdb.requested == {"eth0": 1}
