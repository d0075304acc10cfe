"""The properties and signals of org.nodenet1.Hosted, and the reviewed contract."""

import re
from dataclasses import replace
from pathlib import Path

from core.hosted_services.test_report import GOOD, MAC, PLAN
from nodenet.core.hosted_services import units
from nodenet.core.hosted_services.report import document
from nodenet.core.hosted_services.vips import Sighting
from nodenet.core.status.bus_interfaces import introspection

CONTRACT = Path(__file__).parents[3] / "units" / "dbus" / "org.nodenet1.Hosted.xml"


def plain(xml: str) -> str:
    """Return *xml* without comments, names of arguments and spaces between elements."""
    text = re.sub(r"<!--.*?-->|<!DOCTYPE.*?>|<\?xml.*?\?>", "", xml, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", re.sub(r'<arg name="\w+" ', "<arg ", text)).strip()


def test_the_reviewed_contract_is_what_is_offered() -> None:
    assert plain(CONTRACT.read_text()) == introspection(units.PATH, units.OBJECTS)


def test_every_property_has_a_value() -> None:
    assert set(units.values(document(GOOD))) == set(units.HOSTED.properties)


def test_a_vip_that_moved_is_a_signal() -> None:
    vip = PLAN.vips[0].address
    moved = replace(GOOD, sightings={**GOOD.sightings, vip: Sighting(vip, here=True)})
    assert units.signals(document(GOOD), document(moved)) == [[str(vip), True, ["master-0"]]]
    assert units.signals(document(GOOD), document(GOOD)) == []
    split = replace(GOOD, sightings={**GOOD.sightings, vip: Sighting(vip, here=True, others=frozenset({MAC}))})
    assert units.signals(document(moved), document(split)) == [[str(vip), True, ["master-0", "master-1"]]]
