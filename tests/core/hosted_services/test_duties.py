"""Every service and every VIP has a duty with a reason, on every node of every case."""

from pathlib import Path

import pytest

from hosted_services_cases import directories, read_inputs
from nodenet.core.hosted_services.api_int import api_int
from nodenet.core.hosted_services.duties import duties, role_of, vip_duties, why_disabled
from nodenet.core.hosted_services.model import Role, Service


@pytest.mark.parametrize("directory", directories(), ids=lambda path: path.name)
def test_each_service_and_vip_has_one_duty_with_a_reason(directory: Path) -> None:
    inputs = read_inputs(directory)
    vips = vip_duties(inputs)
    made = duties(inputs, api_int(inputs), vips)
    assert [duty.service for duty in made] == list(Service)
    assert [duty.address for duty in vips] == [*inputs.options.api_vips, *inputs.options.ingress_vips]
    assert all(duty.reason for duty in made)
    assert all(duty.reason for duty in vips)


@pytest.mark.parametrize("directory", directories(), ids=lambda path: path.name)
def test_a_node_that_nobody_lists_holds_no_vip(directory: Path) -> None:
    """And neither does one that is switched off, remote, or whose role is unknown."""
    inputs = read_inputs(directory)
    if any(duty.wanted for duty in vip_duties(inputs)):
        assert inputs.here.name in {node.name for node in inputs.nodes}
        assert not inputs.here.remote_worker
        assert role_of(inputs) in tuple(Role)
        assert why_disabled(inputs.options) is None
