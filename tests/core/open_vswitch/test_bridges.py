"""Which bridges and ports does Open vSwitch have, with which rows and port numbers?"""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.profiles import MADE_BY_NM
from nodenet.core.open_vswitch import PHYSICAL, OvsBridge, OvsInterface, OvsPort, bridges, results, text_map


def test_network_manager_marks_what_it_makes() -> None:
    assert OvsPort("eth0", external_ids={MADE_BY_NM: "a-uuid"}).by_network_manager
    assert not OvsPort("eth0").by_network_manager


def test_links_of_the_host_have_one_of_these_types() -> None:
    assert OvsInterface("eth0").kind in PHYSICAL
    assert {"internal", "patch"}.isdisjoint(PHYSICAL)


NOTHING: list[Any] = ["set", []]
NO_IDS: list[Any] = ["map", []]


def row(uuid: str, **columns: object) -> dict[str, Any]:
    return {"_uuid": ["uuid", uuid], "external_ids": NO_IDS, **columns}


def test_bridges_are_put_together_from_three_tables() -> None:
    answers: list[dict[str, Any]] = [
        {"rows": [row("b", name="br-ex", datapath_type="netdev", ports=["set", [["uuid", "p2"], ["uuid", "p1"]]])]},
        {
            "rows": [
                row("p1", name="br-ex", interfaces=["uuid", "i1"]),
                row("p2", name="eth0", interfaces=["uuid", "i2"]),
            ]
        },
        {
            "rows": [
                row("i1", name="br-ex", type="internal", error=NOTHING),
                row("i2", name="eth0", type="", error="could not open network device eth0"),
            ]
        },
    ]
    broken = OvsInterface("eth0", "", "could not open network device eth0")
    ports = (OvsPort("br-ex", (OvsInterface("br-ex", "internal"),)), OvsPort("eth0", (broken,)))
    assert bridges(answers) == (OvsBridge("br-ex", "netdev", ports),)


def test_a_reference_to_a_row_that_is_gone_is_left_out() -> None:
    answers: list[dict[str, Any]] = [
        {"rows": [row("b", name="br-ex", datapath_type="", ports=["uuid", "gone"])]},
        {"rows": []},
        {"rows": []},
    ]
    assert bridges(answers) == (OvsBridge("br-ex"),)


def test_a_map_is_text() -> None:
    assert text_map(["map", [["a", 1], ["b", "x"]]]) == {"a": "1", "b": "x"}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ({"error": "not allowed", "details": "x"}, "Open vSwitch's database is read-only (not allowed: x)"),
        ({"error": "I/O error", "io-error": "ENOSPC"}, "Open vSwitch's database refused a change (I/O error: ENOSPC)"),
    ],
)
def test_a_refusal_is_named_with_its_remedy(error: dict[str, str], cause: str) -> None:
    with pytest.raises(Unavailable) as caught:
        results([{"rows": []}, error, None])
    assert caught.value.cause == cause
    assert caught.value.remedy
