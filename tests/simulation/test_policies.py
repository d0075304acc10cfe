"""P18: NMState policies in the simulated world: resolved once, compared in later boots, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from nodenet.core.node_file.policy import is_of
from simulation.calibration import Case, node, simulated
from simulation.engine import Violation
from simulation.result import journal_of
from simulation.run import Run
from simulation.scenario import Scenario
from simulation.search import scenario_of

MARKER = "/etc/nmstate/openshift/applied"
KINDS = {"dhcp": "policy", "bridge": "policy-bridge"}
"""A node file → the policy that leads to it."""
SEEDS, PART = 1200, 200


class Policies(Run):
    """A run in which the document in force of one policy stays the same."""

    def _prepare(self) -> None:
        super()._prepare()
        disk, known = self.world.disk, dict[str, bytes]()
        write = disk.write_synced

        def watched(path: str, content: bytes | None) -> None:
            if path == MARKER and content:
                heading = content.partition(b"\n")[0].decode()
                digest = heading.rpartition("(")[2].rstrip(")")
                if is_of(content.decode(), digest):
                    same = known.setdefault(digest, content) == content
                    self.world.rules.hold("P18", f"{heading} leads to another document than before", holds=same)
            write(path, content)

        disk.write_synced = watched  # type: ignore[method-assign]


def scenarios(first: int) -> Iterator[Scenario]:
    for seed in range(first, first + PART):
        found = scenario_of(seed)
        if found.node.file in KINDS and found.node.profile != "static" and not found.node.uplink:
            yield replace(found, node=replace(found.node, file=KINDS[found.node.file]))


def violation(scenario: Scenario) -> str:
    run = Policies(scenario)
    with journal_of(run):
        try:
            run.go()
        except Violation as found:
            return f"{scenario.seed}: {found}"
        finally:
            if run.process is not None and not run.process.loop.is_closed():
                run.process.life.alive = False
                run.process.loop.discard()
    return ""


@pytest.mark.parametrize("first", range(0, SEEDS, PART))
def test_no_seed_violates_a_property_with_a_policy(first: int) -> None:
    """The faults of the ordinary seeds, with a policy that leads to the same document."""
    assert [found for each in scenarios(first) if (found := violation(each))] == []


@pytest.mark.parametrize("file", KINDS.values())
@pytest.mark.parametrize("step", ["reboot", "reload"])
def test_a_second_look_finds_the_same_network(file: str, step: str) -> None:
    """With br-ex there the captures would find br-ex: nothing is resolved and nothing applied again."""
    result = simulated(Case(node(file=file), step))
    assert result["health"] == "ok"
    assert result["story"].count("NETWORK_APPLIED nmstate") == 1
    assert result["story"].count("NETWORK_UNCHANGED nmstate") == 1
