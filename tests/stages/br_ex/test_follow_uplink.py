"""Has the node its plain network back before the node file waits for NetworkManager?"""

from __future__ import annotations

from br_ex_rig import MAC, Rig
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Outcome, Skipped, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.stages.apply.records import BRIDGE

RETRIED = Request(retry_refused=True)


class NodeFile:
    """The stage that applies the node file, with the requests that it got."""

    def __init__(self) -> None:
        self.got: list[Request] = []

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        self.got.append(request)
        return Skipped("the state matches it", facts)


def of_renamed() -> tuple[Rig, NodeFile]:
    rig, stage = Rig(), NodeFile()
    rig.place("br-ex")
    rig.rename_uplink()
    rig.follow._stage = stage
    return rig, stage


async def test_the_uplink_is_followed_before_the_node_file_is_applied() -> None:
    """The stage waits for the end of NetworkManager's start, which does not come without the uplink (R26)."""
    rig, stage = of_renamed()
    outcome = await rig.follow.attempt(Facts(), RETRIED)
    assert outcome == Skipped("the state matches it", Facts())
    assert rig.profiles.done[-1] == ("activate", "u-eth0", "ens7")
    assert (rig.record.uplinks, rig.record.macs) == ({"br-ex": "ens7"}, {"ens7": MAC})
    assert stage.got == [RETRIED]


async def test_networkmanager_is_waited_for_before_the_node_file() -> None:
    """It is not on the bus: the stage would only say so in other words."""
    rig, stage = of_renamed()
    rig.profiles.broken = Unavailable("NetworkManager is not on the bus")
    waiting = await rig.follow.attempt(Facts())
    assert isinstance(waiting, Waiting)
    assert waiting.reason == "restoring the network from before br-ex: NetworkManager is not on the bus"
    assert stage.got == []


async def test_a_node_without_a_bridge_goes_straight_on() -> None:
    """Nothing is asked."""
    rig, stage = Rig(), NodeFile()
    rig.follow._stage = stage
    rig.profiles.broken = Unavailable("NetworkManager is not on the bus")
    assert isinstance(await rig.follow.attempt(Facts()), Skipped)
    assert len(stage.got) == 1


async def test_a_record_that_cannot_be_read_does_not_keep_the_node_file_from_being_applied() -> None:
    """The stages that need the record report it."""
    rig, stage = of_renamed()
    rig.files.bad[str(BRIDGE)] = PublishFailed(f"{BRIDGE} cannot be read: Is a directory", remedy="Remove it")
    assert isinstance(await rig.follow.attempt(Facts()), Skipped)
    assert len(stage.got) == 1
