"""The error rate of `nodenetctl what-if`: the section is up to date, and each miss is explained."""

from __future__ import annotations

import json
from dataclasses import replace

from error_rate import PAGE, WHY, differences, made, measured, records


def test_the_section_is_up_to_date_and_each_miss_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert made(page) == page, "run: python tools/error_rate.py"
    names, wrong = measured()
    assert len(names) >= 300
    assert set(wrong) == set(json.loads(WHY.read_text(encoding="utf-8")))


def test_another_outcome_is_a_difference() -> None:
    """A record whose node after is the node before: the change of the file is missed."""
    record = next(each for each in records() if differences(each) == [] and each.after.digest != each.before.digest)
    assert differences(replace(record, after=replace(record.before, digest="x", applied="x"))) != []
    text = next(iter(record.files))
    assert differences(replace(record, files={text: "interfaces: ["})) != []
