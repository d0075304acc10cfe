"""What is known of a node before an adoption, and which steps does that need?"""

from __future__ import annotations

import pytest

from nodenet.core.adoption import steps as adoption_steps
from nodenet.core.adoption.steps import (
    Ended,
    Event,
    Kind,
    Step,
    UnitState,
    bridge_in_memory,
    bridge_saved,
    drop_ins_removed,
    in_charge,
    open_trial,
    unit_states,
    walk,
)
from nodenet.core.errors import StageFailed
from nodenet.core.trial.trial import RUNNING, TrialState

STEPS = (
    Step(Kind.DROP_INS, forward=True, text="write", back_text="remove"),
    Step(Kind.OLD_RECORD, forward=True, text="forget"),
    Step(Kind.MARKER, forward=True, text="mark", back_text="unmark"),
)


def run(failing: dict[str, StageFailed]) -> tuple[list[tuple[Event, int, str]], Ended]:
    """Walk; a step whose text is in *failing* fails."""
    seen: list[tuple[Event, int, str]] = []
    walking = walk(STEPS)
    answer = None
    while True:
        try:
            event, number, step = walking.send(answer)
        except StopIteration as end:
            return seen, end.value
        seen.append((event, number, step.text))
        answer = failing.get(step.text)


def test_all_are_done_in_their_order() -> None:
    seen, ended = run({})
    assert seen == [(Event.DO, number, step.text) for number, step in enumerate(STEPS)]
    assert ended == Ended()


@pytest.mark.parametrize(
    ("text", "undone"), [("write", ["remove"]), ("forget", ["remove"]), ("mark", ["unmark", "remove"])]
)
def test_the_step_that_failed_is_undone_too(text: str, undone: list[str]) -> None:
    error = StageFailed("no")
    seen, ended = run({text: error})
    assert [word for event, _, word in seen if event is Event.UNDO] == undone
    assert (ended.error, ended.step and ended.step.text, ended.left) == (error, text, ())


def test_undoing_goes_on_behind_a_step_that_cannot_be_undone() -> None:
    first, second = StageFailed("one"), StageFailed("two")
    seen, ended = run({"mark": first, "unmark": second})
    assert seen[-1] == (Event.UNDO, 0, "remove")
    assert [(back.text, error) for back, error in ended.left] == [("unmark", second)]


def test_a_step_undoes_what_undoes_it() -> None:
    back = STEPS[0].undone
    assert back is not None
    assert (str(STEPS[0]), str(back)) == ("drop-ins+", "drop-ins-")
    assert back.undone == STEPS[0]
    assert STEPS[1].undone is None


# The sentences that an administrator reads before each step.


def test_what_undoes_a_step_is_the_step_the_other_way() -> None:
    steps = [step for step in vars(adoption_steps).values() if isinstance(step, Step)]
    steps += [bridge_saved(("br-ex",)), bridge_in_memory(("br-ex",)), drop_ins_removed(("a",))]
    for step in steps:
        back = step.undone
        assert back is None or (back.kind, back.names, back.forward) == (step.kind, step.names, not step.forward)
    assert all(text[0].isupper() and not text.endswith(".") for step in steps for text in (step.text,))


SHOWN = """Id=nodeip-configuration.service
LoadState=loaded
ActiveState=inactive
UnitFileState=enabled
Job=1234
RequiredBy=kubelet-dependencies.target
WantedBy=
TriggeredBy=a.path b.timer
DropInPaths=/etc/systemd/system/a.conf /run/b.conf
ExecStart={ path=/usr/bin/podman ; argv[]=/usr/bin/podman run --platform BareMetal 192.0.2.2 ; }

Id=nodenet-compat-ovs-configuration.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled

Id=nodenetd.service
LoadState=masked
ActiveState=inactive
UnitFileState=masked
"""


def test_units_are_known_by_their_own_names() -> None:
    """An alias of nodenet is no unit of the former chain."""
    found = unit_states(SHOWN)
    assert set(found) == {
        "nodeip-configuration.service",
        "nodenet-compat-ovs-configuration.service",
        "nodenetd.service",
    }
    assert found["nodeip-configuration.service"].command.endswith("192.0.2.2 ; }")
    assert found["nodeip-configuration.service"].job
    assert found["nodeip-configuration.service"].starters == ("kubelet-dependencies.target", "a.path", "b.timer")
    assert found["nodeip-configuration.service"].drop_ins == ("/etc/systemd/system/a.conf", "/run/b.conf")
    assert found["nodenetd.service"] == UnitState("masked", "inactive", "masked", "")
    assert unit_states("") == {}


@pytest.mark.parametrize("nodeip", [UnitState(), UnitState("loaded", file="disabled"), UnitState("masked")])
@pytest.mark.parametrize("ovs", [UnitState(), UnitState("loaded", file="enabled"), UnitState("masked")])
def test_a_part_of_the_former_chain_that_publishes_no_node_ips_is_not_in_charge(
    nodeip: UnitState, ovs: UnitState
) -> None:
    """Else kubelet would start without them. Where the chain has none to publish, its unit is absent or disabled."""
    names = ("nodeip-configuration.service", "ovs-configuration.service", "on-prem-resolv-prepender.path")
    units = dict(zip(names, (nodeip, ovs, UnitState("loaded", file="enabled")), strict=True))
    whole = ovs.load == "loaded" and nodeip.load != "masked"
    assert in_charge(units, {}) == (tuple(reversed(names[1:])) if whole else ())
    upi = {"nodeip-configuration-vsphere-upi.service": UnitState("loaded", file="enabled")}
    assert "nodeip-configuration-vsphere-upi.service" in in_charge(units | upi, {})


@pytest.mark.parametrize("state", TrialState)
def test_a_trial_holds_the_network_until_it_has_ended(state: TrialState) -> None:
    trial = {"state": state.value, "node_file": "worker-0.yml", "who": "root (process 7)"}
    held = "a trial of worker-0.yml holds the network; root (process 7) started it"
    assert open_trial({"trial": trial}) == (held if state in RUNNING else "")
