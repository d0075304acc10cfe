"""Another NIC comes below br-ex: whatever ends nodenetd at any of its calls, the old path or the new one is whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from simulation.faults import Fault
from simulation.nodes import PLAIN
from simulation.result import journal_of, run
from simulation.run import Run
from simulation.scenario import Node, Scenario

AT, LASTS, HEALED = 60.0, 5.0, 100.0
SWAP = Fault("uplink-swapped", "", 1, AT, 0.0, 0.5)
NODES = {
    "static": replace(PLAIN, profile="static", second_nic="spare"),
    "dhcp": replace(PLAIN, profile="dhcp", second_nic="spare"),
}


@cache
def calls(node: Node) -> tuple[tuple[str, int], ...]:
    """Return the calls that nodenetd makes for the swap: the name, and the how-manieth it is of that name."""
    going, before, after = Run(Scenario(0, node, (SWAP,), HEALED)), Counter[str](), Counter[str]()
    going.world.after(AT - 0.001, lambda: before.update(going.world.points))
    going.world.after(AT + LASTS, lambda: after.update(going.world.points))
    with journal_of(going):
        going.go()
    return tuple((name, nth) for name in sorted(after) for nth in range(before[name] + 1, after[name] + 1))


def struck(node: Node, kind: str) -> Iterator[Scenario]:
    for name, nth in calls(node):
        yield Scenario(0, node, (SWAP, Fault(kind, name, nth, 0.0, LASTS, 0.5)), HEALED)


@pytest.mark.parametrize("name", NODES)
def test_the_new_link_has_all_of_the_old_one(name: str) -> None:
    result = run(Scenario(0, NODES[name], (SWAP,), HEALED))
    assert (result.text, result.struck["uplink-swapped"]) == ("", 1)
    assert result.checked["P17"] >= 3
    assert any("br-ex over eth1" in line and "made in" in line for line in result.journal)
    assert len(calls(NODES[name])) > 100


@pytest.mark.parametrize(
    ("name", "kind", "step"),
    [
        ("static", "daemon-killed", 1),
        ("static", "power-cut", 1),
        ("static", "manager-crashes", 2),
        ("static", "daemon-stopped", 4),
        ("dhcp", "daemon-killed", 4),
        ("dhcp", "power-cut", 4),
        ("dhcp", "manager-crashes", 4),
    ],
)
def test_whatever_ends_it_at_any_call_one_of_the_two_paths_is_whole(name: str, kind: str, step: int) -> None:
    """Node IP, port number, and all that is of OVN-Kubernetes; each, or each *step*th, of the calls."""
    found = [(one.faults[1], run(one)) for one in [*struck(NODES[name], kind)][::step]]
    assert [(fault.point, fault.nth, result.text) for fault, result in found if result.failed] == []
    assert all(result.checked["P17"] for _, result in found)
