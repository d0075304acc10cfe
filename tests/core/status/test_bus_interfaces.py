"""The tables of the bus: introspection is made from them; units/dbus holds the reviewed contract."""

from dataclasses import replace
from ipaddress import ip_address
from xml.etree import ElementTree as ET

import pytest

from nodenet.core.boot.outcome import Facts, Failed, Problem, Waiting
from nodenet.core.boot.stage_state import Inhibitor
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import (
    MANAGER,
    OBJECTS,
    PATH,
    STAGE,
    changed_stages,
    complete_types,
    introspection,
    of_manager,
    of_stage,
    signals,
    stage_path,
)
from nodenet.core.status.document import BootStatus


def test_every_stage_has_an_object() -> None:
    assert [OBJECTS[stage_path(name)] for name in StageName] == [(STAGE, name) for name in StageName]
    assert stage_path(StageName.CONFIGURE_OVS) == "/org/nodenet1/stage/configure_ovs"


@pytest.mark.parametrize("path", ["/", "/org", *OBJECTS])
def test_introspection_is_xml_and_leads_to_every_object(path: str) -> None:
    text = introspection(path)
    assert text is not None
    node = ET.fromstring(text)  # noqa: S314 - our own text
    below = [name for name in OBJECTS if name.startswith(path.rstrip("/") + "/")]
    assert bool(node.findall("node")) is bool(below)


def test_the_managers_interface_is_described_whole() -> None:
    described = ET.fromstring(introspection(PATH) or "").find("interface")  # noqa: S314 - our own text
    assert described is not None
    assert {each.get("name") for each in described.findall("property")} == set(MANAGER.properties)
    assert {each.get("name") for each in described.findall("method")} == set(MANAGER.methods)
    assert {each.get("name") for each in described.findall("signal")} == set(MANAGER.signals)


def test_there_is_nothing_at_other_paths() -> None:
    assert introspection("/org/other") is None


def test_every_method_that_changes_something_is_for_root_only() -> None:
    assert set(MANAGER.methods) - MANAGER.mutators == {"GetStatus", "Explain"}
    assert STAGE.mutators == {"Run"}


def test_signatures_are_split_into_complete_types() -> None:
    assert complete_types("ssstt") == ["s", "s", "s", "t", "t"]
    assert complete_types("ass") == ["as", "s"]
    assert complete_types("") == []


# Values of properties and signals: of the types that the tables promise, and only where something changed.


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
