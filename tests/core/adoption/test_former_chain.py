"""Which side of the marker starts what: both at no time, none at no time."""

from __future__ import annotations

import re

from nodenet.core.adoption.former_chain import (
    EVERY_UNIT,
    GATE,
    MARKER,
    NETWORK_UNITS,
    NODENETD,
    all_drop_ins,
    drop_ins,
    held,
    units_of,
)

ONE, OTHER = "nodeip-configuration.service", "ovs-configuration.service"


def conditions(files: object) -> dict[str, str]:
    """Return the condition of each unit."""
    found = {}
    for path, text in dict(files).items():  # type: ignore[call-overload]
        (found[path.parent.name.removesuffix(".d")],) = re.findall(r"(?m)^ConditionPathExists=(.*)$", text.decode())
    return found


def test_the_marker_decides_for_both_sides() -> None:
    assert conditions(drop_ins([ONE, OTHER])) == {
        ONE: f"!{MARKER}",
        OTHER: f"!{MARKER}",
        NODENETD: str(MARKER),
        GATE: str(MARKER),
    }


def test_a_held_unit_starts_at_no_time_of_this_boot_and_again_in_the_next_one() -> None:
    files = held(NETWORK_UNITS)
    assert set(conditions(files).values()) == {"!/run"}
    assert {path.parts[1] for path in files} == {"run"}


def test_every_drop_in_is_found_again() -> None:
    assert set(all_drop_ins()) == set(drop_ins(EVERY_UNIT))


def test_a_unit_that_still_does_a_stage_is_left_alone() -> None:
    assert OTHER not in units_of({"configure-ovs": f"unit:{OTHER}"})
    assert ONE not in units_of({"nodeip": "skip"})
    assert set(units_of({})) == set(EVERY_UNIT)
