"""Why a stage is skipped."""

from __future__ import annotations

import pytest

from nodenet.core.boot.outcome import Facts
from nodenet.core.boot.stages import new_boot, reason_to_skip
from nodenet.core.stage_name import StageName

FACTS = Facts()


@pytest.mark.parametrize(
    ("facts", "network_type", "reason"),
    [
        (Facts(node_file="w.yml", brings_bridge=True), "OVNKubernetes", "w.yml defines br-ex itself"),
        (FACTS, "Calico", "the network type is Calico"),
        (FACTS, "", 'network_type is not set: br-ex is made where it is "OVNKubernetes"'),
        (FACTS, "OVNKubernetes", None),
    ],
)
def test_configure_ovs_is_skipped_for_the_first_reason_that_holds(
    facts: Facts, network_type: str, reason: str | None
) -> None:
    """An administrator reads why."""
    stage = new_boot({}, degrade=True)[StageName.CONFIGURE_OVS]
    assert reason_to_skip(stage, facts, network_type) == reason


def test_a_unit_that_was_named_for_configure_ovs_is_asked_without_a_network_type() -> None:
    """Only the built-in stage is skipped for a key that is not set (R67)."""
    stage = new_boot({"configure-ovs": "unit:ovs-configuration.service"}, degrade=True)[StageName.CONFIGURE_OVS]
    assert reason_to_skip(stage, FACTS, "") is None
    assert reason_to_skip(stage, FACTS, "Calico") == "the network type is Calico"


def test_a_stage_that_is_switched_off_says_so() -> None:
    """Provider `skip`."""
    stage = new_boot({"nmstate": "skip"}, degrade=True)[StageName.NMSTATE]
    assert reason_to_skip(stage, FACTS, "OVNKubernetes") == "switched off in the settings"
