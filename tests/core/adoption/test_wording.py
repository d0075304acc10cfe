"""The sentences that an administrator reads before each step."""

from __future__ import annotations

from nodenet.core.adoption import steps as adoption_steps
from nodenet.core.adoption.former_chain import MARKER
from nodenet.core.adoption.steps import Step, bridge_in_memory, bridge_saved, drop_ins_removed, drop_ins_written, listed


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed(names) for names in (("a",), ("a", "b"), ("a", "b", "c"))] == ["a", "a and b", "a, b and c"]


def test_the_drop_ins_are_explained() -> None:
    units = ("nodeip-configuration.service", "ovs-configuration.service")
    text = (
        f"Write drop-ins that let nodeip-configuration.service and ovs-configuration.service start only while {MARKER} "
        "does not exist, and nodenetd.service and nodenet-ready.service only while it does, and a copy of "
        "nodenet-ready.service for the case that nodenet gets lost"
    )
    assert drop_ins_written(units, adopted=False).text == f"{text}; they have no effect yet"
    again = drop_ins_written(units, adopted=True)
    assert again.text == f"{text}; some of them are missing, or from another version"
    assert again.undone is None


def test_the_drop_ins_are_explained_where_the_units_of_the_former_chain_are_gone() -> None:
    assert drop_ins_written((), adopted=True).text == (
        f"Write drop-ins that let nodenetd.service and nodenet-ready.service start only while {MARKER} exists, and a "
        "copy of nodenet-ready.service for the case that nodenet gets lost; some of them are missing, or from another "
        "version"
    )


def test_what_undoes_a_step_is_the_step_the_other_way() -> None:
    steps = [step for step in vars(adoption_steps).values() if isinstance(step, Step)]
    steps += [bridge_saved(("br-ex",)), bridge_in_memory(("br-ex",)), drop_ins_removed(("a",))]
    for step in steps:
        back = step.undone
        assert back is None or (back.kind, back.names, back.forward) == (step.kind, step.names, not step.forward)
    assert all(text[0].isupper() and not text.endswith(".") for step in steps for text in (step.text,))
