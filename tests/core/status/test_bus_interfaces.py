"""The tables of the bus: introspection is made from them; units/dbus holds the reviewed contract."""

from xml.etree import ElementTree as ET

import pytest

from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import MANAGER, OBJECTS, PATH, STAGE, complete_types, introspection, stage_path


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
