"""Does the list of faults that have never struck somewhere have all of them, each with its reason?"""

from __future__ import annotations

from simulation.kinds import KINDS
from simulation.missing import missing

COVERED = {
    ("nodeip", "files.write", "power-cut"): 100,
    ("nodeip", "notify", "reload"): 99,
    ("nodeip", "notify", "power-cut"): 800,
    ("", "notify", "reload"): 1,
}


def test_a_triple_that_no_run_had_is_listed_with_what_chance_expects() -> None:
    found = {(each.stage, each.call, each.kind): each for each in missing(COVERED, ["notify", "files.write"])}
    assert found.keys() & COVERED.keys() == set()
    assert len(found) + len(COVERED) == 3 * len(KINDS)
    strange = found["nodeip", "files.write", "reload"]
    assert strange.reason == (
        "not by chance: 100 of 1000 strikes were there, and 10.0 of this kind are expected among them"
    )
    seldom = found["", "notify", "power-cut"]
    assert seldom.reason == "seldom: 1 of 1000 strikes were there, and 0.9 of this kind are expected among them"
    assert (strange.is_seldom, seldom.is_seldom) == (False, True)
    assert found["nodeip", "notify", "bus-down"].reason == "this fault has not struck anywhere"
    assert str(seldom) == f"no stage\tnotify\tpower-cut\t{seldom.reason}"


def test_a_call_at_which_nothing_has_struck_is_listed() -> None:
    *_, last = missing(COVERED, ["notify", "host.take"])
    assert str(last) == "any stage\thost.take\tany fault\tnodes make this call, and no fault has struck there"
