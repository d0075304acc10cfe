"""The one table of stages: names that administrators know, in their order, each with the module that makes it."""

from importlib import import_module

import pytest

from nodenet.core.stage_name import StageName


def test_the_names_and_their_order_are_part_of_the_contract() -> None:
    known = ["hostname", "nmstate", "resolv-prepender", "nodeip", "configure-ovs", "hosted-services"]
    assert [str(name) for name in StageName if name in known] == known


@pytest.mark.parametrize("name", [name for name in StageName if name.module])
def test_the_module_of_a_stage_can_build_it(name: StageName) -> None:
    assert callable(import_module(f"nodenet.stages.{name.module}").build)


def test_a_stage_is_found_by_its_name() -> None:
    assert StageName("nodeip") is StageName.NODEIP
    with pytest.raises(ValueError, match="'nodip' is not a valid StageName"):
        StageName("nodip")
