"""Does a node's facts give the plan of its golden, in whatever order they are told, and does libnmstate take it?"""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import Any

import pytest

import libnmstate
from br_ex_cases import CASES, directories, documents, expected_of, facts_of, shuffled, told
from nodenet.core.br_ex import facts_json as bridge_facts_json
from nodenet.core.br_ex.condition import Owner, condition_of
from nodenet.core.br_ex.plan import plan, unplanned
from nodenet.core.br_ex.removal import removal
from nodenet.core.errors import UplinkRefused
from nodenet.core.ownership.things import remaining
from nodenet.core.settings.model import Datapath

PLANNED = [path for path in directories() if "refused" not in expected_of(path)]
REFUSED = [path for path in directories() if "refused" in expected_of(path)]


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("case", directories(), ids=name_of)
def test_what_comes_of_a_node(case: Path) -> None:
    """`python tests/br_ex_cases.py` writes the goldens anew."""
    assert told(facts_of(case)) == expected_of(case)


@pytest.mark.parametrize("case", directories(), ids=name_of)
def test_the_order_of_the_facts_is_chance(case: Path) -> None:
    document = json.loads((case / "facts.json").read_text())
    expected = expected_of(case)
    for seed in range(3):
        facts = bridge_facts_json.from_document(shuffled(document, Random(seed)))  # noqa: S311  (no secret)
        assert told(facts) == expected


@pytest.mark.parametrize("case", PLANNED, ids=name_of)
def test_libnmstate_takes_every_document(case: Path) -> None:
    """No key that its schema does not have, none that it would refuse on this node."""
    facts = facts_of(case)
    removed = removal(facts)
    for document in [*documents(plan(facts)), *([removed] if removed["interfaces"] else [])]:
        libnmstate.validate(document)
        assert libnmstate.generate_differences(document, dict(facts.state)) is not None


@pytest.mark.parametrize("case", PLANNED, ids=name_of)
def test_nothing_is_said_of_a_link_that_is_not_meant(case: Path) -> None:
    """Only the uplinks and the bridges are named; what is not named stays as it is."""
    facts = facts_of(case)
    made = plan(facts)
    meant = {name for uplink in made.uplinks for name in (uplink.link, uplink.bridge)}
    for document in documents(made):
        assert {item["name"] for item in document["interfaces"]} <= meant
        assert {route["next-hop-interface"] for route in document.get("routes", {}).get("config", ())} <= meant
    assert set(made.nm_properties) | set(made.sysctls) <= meant


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_a_refusal_names_the_remedy(case: Path) -> None:
    with pytest.raises(UplinkRefused) as caught:
        plan(facts_of(case))
    assert caught.value.cause
    assert caught.value.remedy
    assert not caught.value.permanent


@pytest.mark.parametrize(
    "case", ["standing-ours", "standing-ours-static", "standing-ours-with-ovn", "standing-old-script"]
)
def test_a_bridge_that_stands_leaves_nothing_to_do(case: str) -> None:
    """A second run in the same boot: the plan is what is there, and no lease is on its way."""
    facts = facts_of(CASES / case)
    made = plan(facts, Datapath.NETDEV)
    difference = remaining(libnmstate.generate_differences(made.document, dict(facts.state)), facts.state)
    marked_only = [{"name": "br-ex", "type": "ovs-bridge", "state": "up"}] if case == "standing-old-script" else []
    assert [without_mark(item) for item in difference.get("interfaces", ())] == marked_only
    assert not difference.get("routes")
    assert made.document_with_lease is None


def without_mark(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in {"ovs-db", "bridge"}}


def test_the_plan_of_the_first_run_is_that_of_the_second() -> None:
    """Moving the configuration changes nothing of it: DHCP, identity and metric come out the same."""
    first, second = facts_of(CASES / "dual-stack-dhcp-and-ra"), facts_of(CASES / "standing-ours")
    before, after = plan(first).document["interfaces"], plan(second).document["interfaces"]
    for item in before:
        item.get("ipv6", {}).pop("token", None)  # the two were two boots
    for item in after:
        item.get("ipv6", {}).pop("token", None)
    assert before == after


@pytest.mark.parametrize(("link", "late"), [("eth0", True), ("br-ex", True), ("eth1", False), (None, False)])
def test_a_node_ip_that_came_after_the_facts_is_known(link: str | None, late: bool) -> None:  # noqa: FBT001
    """One that is on another link, or gone, is not the plan's."""
    facts = facts_of(CASES / "dhcp4")
    address = ip_address("10.88.0.250")
    places = dict.fromkeys(facts.node_ips, "eth0") | ({address: link} if link else {})
    made = plan(facts)
    assert unplanned(made, facts, places) is None
    facts = replace(facts, node_ips=(*facts.node_ips, address))
    assert unplanned(made, facts, places) == (address if late else None)


def test_what_is_ours_is_known_by_its_mark_alone() -> None:
    """Neither the names of the profiles nor the row in the database is needed."""
    facts = bridge_facts_json.document(facts_of(CASES / "standing-ours"))
    for profile in facts["profiles"]:
        profile["name"] = "renamed by an administrator"
    facts["ovs"] = []
    assert condition_of(bridge_facts_json.from_document(facts), wanted="eth0").owner is Owner.OURS


def test_the_node_gets_its_own_metrics_back() -> None:
    """Removal with the profile that the uplink had: what it said of metrics holds again."""
    before, after = (
        facts_of(CASES / "static-dual-stack-policy-routes-rules-dns-onlink"),
        facts_of(CASES / "standing-ours-static"),
    )
    original = next(profile for profile in before.profiles if profile.link == "eth0")
    routes = {
        (route["destination"], route.get("metric")): route["next-hop-interface"]
        for route in removal(after, (original,))["routes"]["config"]
    }
    assert routes[("198.51.100.0/24", 200)] == "eth0"
    assert routes[("0.0.0.0/0", None)] == "eth0"
    assert ("0.0.0.0/0", 48) not in routes
