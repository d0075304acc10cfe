"""What a node does in each phase, and what a record may look like."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.cluster import Cluster, known
from nodenet.core.hosted_services.migration import (
    AT_REST,
    Migration,
    Outcome,
    Phase,
    is_own,
    parse,
    render,
)
from nodenet.core.hosted_services.model import Inputs, Mode, Origin, Service
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.resource import GROUP, KIND, VERSION

VIP, LB = ip_address("192.0.2.2"), ip_address("192.0.2.200")
OLD = (ip_address("192.0.2.250"),)
"""The API VIPs of an operator whose settings are older than those of the nodes."""
OUT, IN = ((VIP,), (LB,)), ((LB,), (VIP,))


def planned(phase: Phase, origin: Any, target: Any, **changes: Any) -> tuple[str, Mode, bool, bool]:
    """Return the address of api-int, the mode, and whether haproxy and the redirect are wanted."""
    inputs: Inputs = read_inputs(CASES / "control-plane")
    spec = replace(inputs.spec, api_int_addresses=target, migration=Migration(phase, origin, target, 1))
    made = plan(replace(inputs, spec=spec, **changes))
    (address,) = made.api_int.addresses
    return str(address), made.mode, Service.HAPROXY in made.texts, Service.REDIRECT in made.texts


@pytest.mark.parametrize(
    ("phase", "way", "wanted"),
    [
        (Phase.SELF_HOSTED, ((VIP,), (VIP,)), (VIP, Mode.SELF_HOSTED, True, True)),
        (Phase.VERIFY, OUT, (VIP, Mode.SELF_HOSTED, True, True)),
        (Phase.SWITCH_DNS, OUT, (LB, Mode.EXTERNAL, True, True)),
        (Phase.REDIRECT_OFF, OUT, (LB, Mode.EXTERNAL, True, False)),
        (Phase.DRAIN_HAPROXY, OUT, (LB, Mode.EXTERNAL, True, False)),
        (Phase.EXTERNAL, OUT, (LB, Mode.EXTERNAL, False, False)),
        (Phase.START_HAPROXY, IN, (LB, Mode.EXTERNAL, True, True)),
        (Phase.VERIFY_VIP, IN, (LB, Mode.EXTERNAL, True, True)),
        (Phase.SWITCH_DNS, IN, (VIP, Mode.SELF_HOSTED, True, True)),
        (Phase.DRAIN_EXTERNAL, IN, (VIP, Mode.SELF_HOSTED, True, True)),
        (Phase.SELF_HOSTED, IN, (VIP, Mode.SELF_HOSTED, True, True)),
        (Phase.SELF_HOSTED, ((), ()), (VIP, Mode.SELF_HOSTED, True, True)),
    ],
)
def test_each_phase_on_a_control_plane_node(phase: Phase, way: Any, wanted: Any) -> None:
    address, *rest = wanted
    assert planned(phase, *way) == (str(address), *rest)


@pytest.mark.parametrize("phase", [Phase.SWITCH_DNS, Phase.REDIRECT_OFF, Phase.DRAIN_HAPROXY, Phase.EXTERNAL])
def test_a_load_balancer_that_has_lost_the_name_gives_everything_back(phase: Phase) -> None:
    assert planned(phase, *OUT, dead=frozenset({LB})) == (str(VIP), Mode.SELF_HOSTED, True, True)


def test_between_two_external_ones_haproxy_is_off() -> None:
    other = (ip_address("192.0.2.201"),)
    assert planned(Phase.VERIFY, (LB,), other) == (str(LB), Mode.EXTERNAL, False, False)
    assert planned(Phase.DRAIN_EXTERNAL, (LB,), other) == ("192.0.2.201", Mode.EXTERNAL, False, False)


def test_an_edit_moves_nothing_while_the_record_says_otherwise() -> None:
    inputs = read_inputs(CASES / "control-plane")
    asked = replace(inputs.spec, api_int_addresses=(LB,), migration=Migration(Phase.SELF_HOSTED, (VIP,), (VIP,)))
    assert plan(replace(inputs, spec=asked)).api_int.addresses == (VIP,)
    assert plan(replace(inputs, spec=replace(asked, migration=None))).api_int.addresses == (LB,)


@pytest.mark.parametrize("way", [(OLD, (LB,)), ((LB,), OLD)], ids=["out", "in"])
@pytest.mark.parametrize("phase", [phase for phase in Phase if phase not in AT_REST])
def test_an_operator_with_older_vips_than_the_nodes_stops_no_haproxy(phase: Phase, way: Any) -> None:
    """Its VIPs were an external load balancer to the nodes: api-int led there, and haproxy stopped."""
    inputs: Inputs = read_inputs(CASES / "control-plane")
    (vip,) = inputs.options.api_vips
    origin, target = way
    made = Migration(phase, origin, target, 1, vips=OLD)
    right = Migration(phase, (vip,) if origin == OLD else origin, (vip,) if target == OLD else target, 1)
    document = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": "cluster"},
        "spec": {},
        "status": {"migration": render(made)},
    }
    found = known(Cluster({Origin.LIVE: document}), inputs.options, inputs.here)
    assert found.inputs.spec.migration == replace(right, vips=OLD)
    here = plan(replace(inputs, spec=found.inputs.spec))
    assert here == plan(replace(inputs, spec=replace(inputs.spec, migration=right)))
    assert Service.HAPROXY in here.texts
    assert set(OLD).isdisjoint(here.api_int.addresses)
    (problem,) = found.problems
    assert problem == (
        f"The settings of nodenet-operator have the API VIP {OLD[0]}, and those of this node have {vip}: make "
        "`api_vips` the same in both"
    )


def test_a_record_is_read_as_it_was_written() -> None:
    made = Migration(Phase.SWITCH_DNS, (VIP,), (LB,), 3, 2, Outcome.ROLLED_BACK, "2026-01-01T00:00:00Z", "text", (VIP,))
    assert parse({"status": {"migration": render(made)}}) == made
    assert parse({"status": {"migration": {"phase": "External", "from": [], "to": []}}}) == Migration(Phase.EXTERNAL)
    assert parse({"status": {}}) is None
    assert parse({}) is None
    assert parse(None) is None


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "Fast"},
        {"phase": None},
        {"from": None},
        {"from": "192.0.2.2"},
        {"to": ["192.0.2.2", "192.0.2.3", "192.0.2.4"]},
        {"to": [7]},
        {"to": ["lb.example.com"]},
        {"attempt": "1"},
        {"attempt": -1},
        {"attempt": True},
        {"failedGeneration": 1.5},
        {"outcome": "Great"},
        {"apiVips": "192.0.2.2"},
        {"apiVips": ["lb.example.com"]},
    ],
)
def test_a_record_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    found = render(Migration(Phase.SWITCH_DNS, (VIP,), (LB,))) | change
    with pytest.raises(ValueError, match=r"^status\.migration cannot be used: "):
        parse({"status": {"migration": found}})


@pytest.mark.parametrize("found", [[], "x", 7])
def test_a_record_that_is_no_object_is_refused(found: object) -> None:
    with pytest.raises(ValueError, match="cannot be used"):
        parse({"status": {"migration": found}})


def test_a_long_message_is_cut() -> None:
    assert len(render(Migration(Phase.EXTERNAL, message="x" * 5000))["message"]) == 2048


def test_whose_addresses() -> None:
    assert is_own((), (VIP,))
    assert is_own((VIP,), (VIP,))
    assert not is_own((LB,), (VIP,))
    assert not is_own((VIP,), ())
    assert {phase for phase in Phase if Migration(phase).at_rest} == AT_REST
