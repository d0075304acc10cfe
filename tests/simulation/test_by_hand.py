"""What an administrator changes by hand after READY: each kind is said and stays, and a quiet day has no such line."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address

import pytest

from nodenet.core.messages import Message
from simulation.by_hand import HAND, WHAT
from simulation.faults import Fault
from simulation.nodes import ORDINARY
from simulation.result import journal_of, run
from simulation.run import Run
from simulation.scenario import Scenario

DAY = 24 * 3600.0
VIP = IPv4Address("192.0.2.100")
LATER = Fault("", "", 1, 100.0, 1.0, 0.5)


class Day(Run):
    """A run in which nothing is done for a day; a VIP and links of pods come and go on the links of the file."""

    calm_seconds = DAY

    def go(self) -> None:
        """Run to the end. Raises Violation."""
        for hour in range(1, 24):
            self.world.after(hour * 3600.0, self._busy)
        super().go()

    def _busy(self) -> None:
        kernel, link = self.world.kernel, "br-ex" if "br-ex" in self.world.kernel.links else self.world.uplink
        kernel.add("veth7", "02:00:00:00:00:07", "veth")
        kernel.give(link, VIP, 32, leased=False, who="keepalived")
        self.world.after(900.0, partial(kernel.take, link, VIP))
        self.world.after(900.0, partial(kernel.remove, "veth7"))


@pytest.mark.parametrize("name", ["file", "file-br-ex", "file-dhcp", "short-lease"])
def test_nothing_is_said_of_a_network_that_nobody_changes_for_a_day(name: str) -> None:
    """Beside OVN-Kubernetes on br-ex, and with leases of two minutes that are renewed all day."""
    node = replace(ORDINARY[name], file=ORDINARY[name].file or "dhcp")
    going = Day(Scenario(0, node, (), 0.0))
    with journal_of(going):
        going.go()
    assert going.world.now > DAY
    assert going.world.rules.checked["P16"] == 0, "a line says that the network differs"
    assert going.process is not None
    assert going.process.reconciler is not None
    assert going.process.reconciler.status.facts.changed == ()


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("then", ["", "daemon-killed", "daemon-stopped", "events-flood"])
def test_each_change_is_said_and_stays(what: str, then: str) -> None:
    """Also if nodenetd ends and starts again meanwhile: a new process is no order."""
    changed = Fault(HAND, "", 1, 60.0, 1.0, (WHAT.index(what) + 0.5) / len(WHAT))
    faults = (changed, replace(LATER, kind=then)) if then else (changed,)
    result = run(Scenario(0, ORDINARY["file"], faults, 200.0))
    assert (result.text, result.struck[HAND]) == ("", 1)
    said = [line for line in result.lines if line.fields.get("message") is Message.NETWORK_CHANGED]
    assert len(said) >= 1
    assert result.checked["P16"] > 1


def test_an_order_makes_the_network_of_the_file_again() -> None:
    """The reload undoes what was changed by hand, and the status says that nothing differs."""
    changed, reload = Fault(HAND, "", 1, 60.0, 1.0, 0.1), replace(LATER, kind="reload", at=130.0)
    result = run(Scenario(0, ORDINARY["file"], (changed, reload), 200.0))
    assert result.text == ""
    assert any("Applied worker-0.yml" in line.text for line in result.lines if line.now > 130.0)
