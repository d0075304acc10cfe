"""Is a family of generic netlink found, and a missing one known to be missing? (R12)"""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.edge.open_vswitch import has_family, has_kernel_datapath


@pytest.mark.parametrize(("name", "there"), [("nlctrl", True), ("nodenet_no_such", False)])
def test_a_family_is_there_or_not(name: str, *, there: bool) -> None:
    """The controller itself is always there."""
    assert has_family(name) is there


def test_the_datapath_is_known_where_its_module_is_loaded() -> None:
    """After the question: it loads the module where it is installed."""
    found = has_kernel_datapath()
    assert found or not Path("/sys/module/openvswitch").exists()
