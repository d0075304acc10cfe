"""Does the world tell the same story as a booted node? Cases for both, and the story of the simulated one.

A story is what nodenetd logs, message by message, and the state of its stages at the end. Waits are left out: how
long something takes is no law of the world.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodenet.core.messages import Message
from nodenet.core.status.document import document
from simulation.result import journal_of
from simulation.run import Finished, Run
from simulation.scenario import Node, Scenario

STORIES = Path(__file__).parents[2] / "fixtures" / "simulation"
"""The stories of booted nodes, written by `tools/calibrate.py`."""
LEFT_OUT = frozenset(
    {
        *(Message.STAGE_WAITING, Message.STARTED, Message.STOPPED, Message.BUS_LOST, Message.RECOVERED),
        *(Message.NOTE, Message.NODE_FILE_GOOD),  # the latter comes a minute after READY
    }
)


@dataclass(frozen=True, slots=True)
class Case:
    """A node, and what is done with it once it is ready (*step*)."""

    node: Node
    step: str = ""


def node(**given: Any) -> Node:
    usual: dict[str, Any] = {
        "profile": "automatic",
        "second_nic": "",
        "file": "",
        "of_host": True,
        "ovn": False,
        "vips": False,
        "on_failure": "degrade",
        "families": "auto",
        "short_lease": False,
        "kernel_datapath": True,
        "named_after": 0.0,
        "nonlocal_bind": False,
    }
    return Node(**(usual | given))


CASES = {
    "dhcp": Case(node()),
    "dhcp-br-ex": Case(node(ovn=True)),
    "dhcp-br-ex-daemon-killed": Case(node(ovn=True), "kill"),
    "dhcp-br-ex-reboot": Case(node(ovn=True), "reboot"),
    "dhcp-br-ex-reload": Case(node(ovn=True), "reload"),
    "dhcp-br-ex-removed": Case(node(ovn=True), "bridge-remove"),
    "dhcp-br-ex-manager-killed": Case(node(ovn=True), "manager-crashes"),
    "dhcp-br-ex-no-datapath": Case(node(ovn=True, kernel_datapath=False)),
    "static-br-ex": Case(node(profile="static", ovn=True)),
    "static-br-ex-reboot": Case(node(profile="static", ovn=True), "reboot"),
    "dual-stack-br-ex": Case(node(ovn=True, ipv6="router")),
    "dual-stack-br-ex-reboot": Case(node(ovn=True, ipv6="router"), "reboot"),
    "dhcpv6-br-ex": Case(node(ovn=True, ipv6="dhcp")),
    "dhcpv6-br-ex-reboot": Case(node(ovn=True, ipv6="dhcp"), "reboot"),
    "file-dhcp": Case(node(file="dhcp")),
    "file-static-br-ex": Case(node(file="static", ovn=True)),
    "file-static-br-ex-reboot": Case(node(file="static", ovn=True), "reboot"),
    "file-of-the-cluster": Case(node(file="static", of_host=False)),
    "file-br-ex": Case(node(file="bridge", ovn=True)),
    "file-br-ex-reboot": Case(node(file="bridge", ovn=True), "reboot"),
    "file-missing-nic": Case(node(file="missing-nic", ovn=True)),
    "file-invalid": Case(node(file="invalid")),
    "file-invalid-wait": Case(node(file="invalid", on_failure="wait")),
    "file-empty": Case(node(file="empty")),
}


class Told(Run):
    """A run without faults that takes one step once it is ready."""

    def __init__(self, case: Case) -> None:
        super().__init__(Scenario(0, case.node, (), 0.0))
        self._step = case.step

    def _calm(self) -> None:
        step, self._step = self._step, ""
        self.ready_since = None
        match step:
            case "kill":
                self.world.kill()
            case "reboot":
                self.world.disk.sync()
                self.world.ovs.sync()
                self.world.cut_power()
            case "reload":
                self.order("reload")
            case "bridge-remove":
                self.order("remove_bridge")
            case "manager-crashes":
                self.world.manager.crash()
            case _:
                raise Finished


def story(entries: Iterable[tuple[Message, str]]) -> list[str]:
    """Return the messages of a journal, each with its stage."""
    return [f"{message.name} {stage}".strip() for message, stage in entries if message not in LEFT_OUT]


def simulated(case: Case) -> dict[str, Any]:
    """Return the story of *case* in the simulated world."""
    run = Told(case)
    with journal_of(run):
        run.go()
    assert run.process is not None
    assert run.process.reconciler is not None
    lines = [line.fields for line in run.world.rules.journal if isinstance(line.fields.get("message"), Message)]
    entries = [(fields["message"], str(fields.get("stage") or "")) for fields in lines]
    return ending(document(run.process.reconciler.status)) | {"story": story(entries)}


def ending(status: dict[str, Any]) -> dict[str, Any]:
    """Return what a status document says at the end of a story."""
    return {
        "health": status["health"],
        "ready": status["ready"],
        "link": status["link"],
        "bridge": status["bridge"],
        "stages": {stage["name"]: stage["status"] for stage in status["stages"]},
    }
