"""The parts of a live object that a node keeps although other parts are wrong."""

from typing import Any

import pytest

from nodenet.core.hosted_services.cluster import asked, is_usable, led_on, migration_in
from nodenet.core.hosted_services.resource import GROUP, KIND, VERSION

VERIFY = {"phase": "Verify", "from": ["192.0.2.2"], "to": ["192.0.2.9"]}
SWITCH = VERIFY | {"phase": "SwitchDNS"}


def made(spec: Any, record: Any = None) -> dict[str, Any]:
    status = {"nodes": []} | ({"migration": record} if record else {})
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": "cluster"},
        "spec": spec,
        "status": status,
    }


GOOD, WRONG = {"ingressHa": "Disabled"}, {"ingressHa": "perhaps"}


def test_the_record_goes_on_under_a_spec_that_is_not_valid() -> None:
    good = made(GOOD, VERIFY)
    assert led_on(None, good) is good
    assert led_on(good, made({}, SWITCH)) == made({}, SWITCH)
    assert led_on(good, made(WRONG, SWITCH)) == made(GOOD, SWITCH)
    assert led_on(None, made(WRONG, SWITCH)) is None
    assert led_on(good, made(WRONG, {"phase": "Fast"})) is good, "a record that cannot be read replaces none"


@pytest.mark.parametrize("document", [None, {}, {"status": None}, {"status": {"migration": "Verify"}}, "x"])
def test_an_object_of_another_shape_has_no_record(document: Any) -> None:
    assert migration_in(document) is None
    assert not is_usable(document)


def test_an_edit_and_a_phase_are_taken_at_once_and_nodes_are_not() -> None:
    assert asked(None) is None
    assert asked(made(GOOD, VERIFY)) != asked(made(GOOD, SWITCH))
    assert asked(made(GOOD)) != asked(made({}))
    assert asked(made(GOOD)) == asked(made(GOOD) | {"status": {"nodes": [{"name": "m0"}]}})
