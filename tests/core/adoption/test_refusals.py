"""A node in a state that is not known is left alone, with the reason and what helps."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from core.adoption.nodes import BEFORE, OLD, adopted, with_units
from nodenet.core.adoption.facts import AdoptionFacts, UnitState
from nodenet.core.adoption.plan import AdoptionRefused, refuse_adoption, refuse_hand_back, vips_of
from nodenet.core.br_ex.condition import Owner

NODE_IP_UNIT = UnitState(
    "loaded",
    "inactive",
    "enabled",
    "{ argv[]=podman run --platform BareMetal 192.0.2.2 192.0.2.3 192.0.2.2 fe::1:2 ; 7 }",
)
NO_VIPS = "the settings name no VIPs (nodeip-configuration.service names 192.0.2.2, 192.0.2.3, fe::1:2)"
RUNNING = UnitState("loaded", "active", "static")
REFUSED: list[tuple[AdoptionFacts, str]] = [
    (with_units(BEFORE, nodenetd__service=UnitState()), "systemd has no nodenetd.service"),
    (with_units(BEFORE, nodenetd__service=UnitState("masked")), "nodenetd.service is masked"),
    (
        replace(BEFORE, units={"nodenetd.service": UnitState("loaded")}),
        "it has no unit of the former chain that does a stage of nodenetd",
    ),
    (
        with_units(BEFORE, ovs_configuration__service=UnitState("loaded", "failed", "enabled")),
        "ovs-configuration.service has failed",
    ),
    (
        with_units(BEFORE, ovs_configuration__service=UnitState("loaded", "activating", "enabled")),
        "ovs-configuration.service has not ended (activating)",
    ),
    (
        with_units(BEFORE, ovs_configuration__service=UnitState("loaded", "inactive", "enabled", job=True)),
        "ovs-configuration.service is about to be started or stopped",
    ),
    (
        replace(BEFORE, resets=("/etc/systemd/system/nodenetd.service.d/99.conf",)),
        "/etc/systemd/system/nodenetd.service.d/99.conf has an empty condition, which voids that of an adoption",
    ),
    (
        with_units(BEFORE, mtu_migration__service=UnitState("loaded", "inactive", "enabled")),
        "mtu-migration.service is enabled: the MTU of the cluster is being changed",
    ),
    (replace(BEFORE, published=()), "no node IP is published in this boot (/run/nodeip-configuration/primary-ip)"),
    (replace(BEFORE, addresses=frozenset()), "the published node IP 192.0.2.9 is not on this node"),
    (
        replace(BEFORE, bridges=(replace(OLD, owner=Owner.FOREIGN),)),
        "br-ex was not made by the former chain, by a node file or by nodenet",
    ),
    (
        replace(BEFORE, network_type=""),
        "it has br-ex, and nodenetd would not make it again: `network_type` is ''",
    ),
    (
        with_units(replace(BEFORE, vips=False), nodeip_configuration__service=NODE_IP_UNIT),
        f"on-prem-resolv-prepender.path writes resolv.conf for the VIPs of the cluster, and {NO_VIPS}",
    ),
    (
        replace(BEFORE, node_file="worker-0.yml"),
        "the node file worker-0.yml is not what the former chain applied, and nodenetd would apply it",
    ),
]


@pytest.mark.parametrize(("facts", "cause"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_state_that_is_not_known_is_refused(facts: AdoptionFacts, cause: str) -> None:
    with pytest.raises(AdoptionRefused) as refused:
        refuse_adoption(facts)
    assert refused.value.cause == f"this node cannot be adopted: {cause}"
    assert refused.value.remedy
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    "facts",
    [
        BEFORE,
        replace(BEFORE, bridges=(), network_type=""),
        replace(BEFORE, stages={"nodeip": "skip"}, published=()),
        replace(BEFORE, stages={"configure-ovs": "unit:ovs-configuration.service"}, network_type=""),
        replace(BEFORE, stages={"resolv-prepender": "skip"}, vips=False),
        replace(BEFORE, stages={"nmstate": "skip"}, node_file="worker-0.yml"),
        replace(BEFORE, bridges=(replace(OLD, owner=Owner.NMSTATE),), network_type=""),
    ],
)
def test_a_stage_that_nodenetd_does_not_do_refuses_nothing(facts: AdoptionFacts) -> None:
    refuse_adoption(facts)


def test_without_a_unit_that_names_them_no_vips_are_proposed() -> None:
    assert vips_of(BEFORE) == ()
    assert vips_of(with_units(BEFORE, nodeip_configuration__service=NODE_IP_UNIT)) == (
        *("192.0.2.2", "192.0.2.3"),
        str(ip_address("fe::1:2")),
    )


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (
            adopted(units={"nodenetd.service": RUNNING}),
            "the units of the former chain are gone, and without them it has no node IP in the next boot",
        ),
        (
            with_units(adopted(), nodenet_keepalived__service=RUNNING),
            "nodenet-keepalived.service runs here for the cluster, and the former chain has no such unit",
        ),
        (adopted(unfinished="nodenetd is changing br-ex"), "nodenetd is changing br-ex"),
        (adopted(trial="a trial of a.yml holds the network"), "a trial of a.yml holds the network"),
        (
            with_units(adopted(), nodeip_configuration__service=UnitState("loaded", "inactive", "disabled")),
            "nodeip-configuration.service is not enabled, and without it the node has no node IP in the next boot",
        ),
        (
            with_units(adopted(), nodeip_configuration__service=UnitState("masked", "inactive", "masked")),
            "nodeip-configuration.service is masked, and without it the node has no node IP in the next boot",
        ),
        (
            with_units(adopted(), ovs_configuration__service=UnitState()),
            "ovs-configuration.service is not-found, and without it the node has no br-ex in the next boot",
        ),
    ],
)
def test_a_node_that_would_be_left_without_is_not_handed_back(facts: AdoptionFacts, cause: str) -> None:
    with pytest.raises(AdoptionRefused) as refused:
        refuse_hand_back(facts)
    assert refused.value.cause == f"this node cannot be handed back: {cause}"
    assert refused.value.remedy


@pytest.mark.parametrize(
    "facts",
    [
        adopted(),
        with_units(adopted(bridges=()), ovs_configuration__service=UnitState()),
        with_units(adopted(bridges=(replace(OLD, owner=Owner.NMSTATE),)), ovs_configuration__service=UnitState()),
        with_units(adopted(present=()), nodeip_configuration__service=UnitState("masked")),
        with_units(adopted(stages={"nodeip": "skip"}), nodeip_configuration__service=UnitState("masked")),
    ],
)
def test_an_adopted_node_may_be_handed_back(facts: AdoptionFacts) -> None:
    """A unit that the node did not have when it was adopted, or does not need, is not asked for."""
    refuse_hand_back(facts)
