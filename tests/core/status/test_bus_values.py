"""Values of properties and signals: of the types that the tables promise, and only where something changed."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.inhibit import Inhibitor
from nodenet.core.boot.outcome import Failed, Problem, Waiting
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import MANAGER, STAGE, changed_stages, of_manager, of_stage, signals
from nodenet.core.status.document import BootStatus

START = BootStatus(new_boot({}, degrade=True), boot_id="a")
BOTH = Selection((ip_address("2001:db8::5"), ip_address("192.0.2.5")), "eth0")
PROBLEM = Problem(Message.APPLY_FAILED, "mtu is 1500", "Compare it")


def test_there_is_a_value_for_every_property() -> None:
    assert set(of_manager(START, "1.0", 7)) == set(MANAGER.properties)
    assert set(of_stage(START, StageName.NODEIP)) == set(STAGE.properties)


def test_the_primary_address_is_the_first_one() -> None:
    values = of_manager(replace(START, facts=Facts(selection=BOTH)), "1.0", 7)
    assert (values["PrimaryIP"], values["IPv4"], values["IPv6"]) == ("2001:db8::5", "192.0.2.5", "2001:db8::5")


def test_times_are_microseconds_and_inhibitors_are_listed() -> None:
    boot = START.boot.begun(StageName.NODEIP, 1.5).after(StageName.NODEIP, Waiting("an address", seconds=5.0), 2.0)
    status = replace(START, boot=boot, inhibitors=(Inhibitor(StageName.NODEIP, "backup", "copies", 1),))
    values = of_stage(status, StageName.NODEIP)
    assert (values["Started"], values["Ended"], values["NextTry"]) == (1_500_000, 0, 7_000_000)
    assert values["Held"] == [["backup", "copies"]]
    assert of_stage(status, StageName.NMSTATE)["Held"] == []


def test_only_changed_stages_are_signalled() -> None:
    after = replace(START, boot=START.boot.begun(StageName.HOSTNAME, 1.0))
    assert [stage.name for stage in changed_stages(START, after)] == [StageName.HOSTNAME]
    assert changed_stages(after, after) == []


def test_each_signal_comes_with_its_change_and_not_again() -> None:
    boot = START.boot.begun(StageName.NMSTATE, 1.0).after(StageName.NMSTATE, Failed(PROBLEM, Facts()), 2.0)
    facts = Facts(node_file="a.yml", digest="new", applied_digest="old", selection=BOTH)
    after = replace(START, boot=boot, facts=facts, losses=(replace(PROBLEM, message=Message.NODE_IP_DRIFT),))
    assert signals(START, after) == {
        "NetworkApplied": ["a.yml", "old"],
        "RolledBack": ["new", "mtu is 1500"],
        "NodeIPChanged": [["2001:db8::5", "192.0.2.5"], "eth0"],
        "NodeIPDrift": ["mtu is 1500"],
    }
    assert signals(after, after) == {}
