"""What makes a node plain again?"""

from __future__ import annotations

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.removal import removal


def kinds(case: str) -> list[tuple[str, str]]:
    return [(item["name"], item["state"]) for item in removal(facts_of(CASES / case))["interfaces"]]


def test_the_bridge_goes_and_its_uplink_gets_the_addresses() -> None:
    assert kinds("standing-ours") == [("br-ex", "absent"), ("br-ex", "absent"), ("eth0", "up")]
    uplink = removal(facts_of(CASES / "standing-ours-static"))["interfaces"][-1]
    assert uplink["ipv4"]["address"]


def test_a_bridge_without_an_uplink_goes_all_the_same() -> None:
    assert kinds("stale-bridge-without-uplink") == [("br-ex", "absent"), ("br-ex", "absent")]


def test_nothing_is_there_or_it_is_another_program_s() -> None:
    assert kinds("dhcp4") == []
    assert kinds("stale-foreign-bridge") == []
