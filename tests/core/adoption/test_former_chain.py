"""Which side of the marker starts what: both at no time, none at no time."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from nodenet.core.adoption.former_chain import (
    EVERY_UNIT,
    GATE,
    MARKER,
    NETWORK_UNITS,
    NODENETD,
    adopted_units,
    all_drop_ins,
    drop_ins,
    drops_conditions,
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


def test_a_held_unit_stays_held_whatever_its_other_drop_in_says() -> None:
    """Of two drop-ins with one name, systemd reads that in /etc only."""
    names = {path.name for path in drop_ins([ONE])} & {path.name for path in held([ONE])}
    assert names == set()


@pytest.mark.parametrize(
    ("name", "text", "void"),
    [
        ("99-mine.conf", "[Unit]\nConditionPathExists=\n", True),
        ("99-mine.conf", "[Unit]\n  ConditionVirtualization =  \n", True),
        ("99-mine.conf", "[Unit]\nConditionPathExists=/a\n", False),
        ("99-mine.conf", "[Unit]\nConditionPathExists=|/a\n# ConditionPathExists=\n", False),
        ("99-mine.conf", "[Service]\nEnvironment=\n", False),
        ("10-mine.conf", "[Unit]\nConditionPathExists=\n", False),
        ("90-nodenet-adopt.conf", "[Unit]\nConditionPathExists=!/etc/nodenet/adopted\n", False),
    ],
)
def test_an_empty_condition_that_is_read_later_voids_ours(name: str, text: str, void: bool) -> None:  # noqa: FBT001
    assert drops_conditions(PurePosixPath("/usr/lib/systemd/system/x.service.d", name), text) is void


def test_the_units_of_drop_ins() -> None:
    assert adopted_units(map(str, drop_ins([OTHER, ONE]))) == (ONE, OTHER)


def test_every_drop_in_is_found_again() -> None:
    assert set(all_drop_ins()) == set(drop_ins(EVERY_UNIT))


def test_a_unit_that_still_does_a_stage_is_left_alone() -> None:
    assert OTHER not in units_of({"configure-ovs": f"unit:{OTHER}"})
    assert ONE not in units_of({"nodeip": "skip"})
    assert set(units_of({})) == set(EVERY_UNIT)
