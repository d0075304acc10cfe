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
    Phase,
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
