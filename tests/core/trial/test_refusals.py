"""Which trials are refused before anything is touched, and where a confirmed file goes."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.errors import Busy, NodeFileInvalid, UplinkRefused, UsageInvalid
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import Links
from nodenet.core.trial import refusals

WISH = Desired(empty=False, links=Links(frozenset({"eth0", "eth1"})))
BELOW = {"eth0": "br-ex"}


def test_a_file_that_leaves_the_uplink_alone_may_be_tried() -> None:
    assert refusals.below_bridge("new.yml", WISH, {"eth1"}, BELOW) is None
    assert refusals.below_bridge("new.yml", WISH, {"eth0"}, {}) is None


def test_a_link_below_br_ex_is_refused_with_the_way_to_do_it() -> None:
    error = refusals.below_bridge("new.yml", WISH, {"eth0"}, BELOW)
    assert isinstance(error, UplinkRefused)
    assert str(error) == (
        "new.yml changes eth0, which is below br-ex. Run `nodenetctl bridge remove` first, on a drained node; "
        "`nodenetctl bridge make` makes the bridge again"
    )


@pytest.mark.parametrize(("bridges", "touched"), [({"br-ex"}, ()), ((), ("br-ex",))], ids=str)
def test_a_bridge_that_nodenetd_made_is_refused(bridges: set[str], touched: tuple[str, ...]) -> None:
    wish = Desired(empty=False, bridges=frozenset(bridges))
    error = refusals.below_bridge("new.yml", wish, touched, BELOW)
    assert error is not None
    assert error.cause == "new.yml changes br-ex, which nodenetd made over eth0"


def test_the_links_that_a_difference_changes() -> None:
    assert refusals.touched_links({"interfaces": [{"name": "eth0"}], "routes": {}}) == {"eth0"}
    assert refusals.touched_links({}) == frozenset()


@pytest.mark.parametrize(
    ("difference", "changed"),
    [
        ({"hostname": {"config": "worker-9"}}, "hostname"),
        ({"hostname": {"running": "worker-9"}, "ovs-db": {"external_ids": {"a": "b"}}}, "hostname and ovs-db"),
        ({"ovn": {"bridge-mappings": [{"localnet": "net", "bridge": "br1"}]}}, "ovn"),
    ],
)
def test_what_network_manager_does_not_roll_back_is_refused(difference: dict[str, Any], changed: str) -> None:
    error = refusals.not_undone("new.yml", difference, {"hostname": {"running": "worker-0", "config": "worker-0"}})
    assert error is not None
    assert error.cause == f"new.yml changes {changed}, which NetworkManager does not roll back"


def test_a_file_with_the_nodes_own_name_may_be_tried() -> None:
    """The difference of libnmstate has the name where the file has one of the two names only."""
    state = {"hostname": {"running": "worker-0", "config": "worker-0"}}
    assert refusals.not_undone("new.yml", {"hostname": {"config": "worker-0"}, "interfaces": []}, state) is None
    assert refusals.not_undone("new.yml", {}, {}) is None


@pytest.mark.parametrize(
    ("found", "hostname", "name"),
    [
        ("worker-0.example.com.yaml", "worker-0.example.com", "worker-0.example.com.yaml"),
        ("worker-0.yml", "worker-0.example.com", "worker-0.yml"),
        ("cluster.yml", "worker-0.example.com", "worker-0.yml"),
        ("Cluster.yaml", "worker-0", "worker-0.yml"),
        (None, "worker-0", "worker-0.yml"),
    ],
)
def test_a_confirmed_file_is_installed_over_the_nodes_own(found: str | None, hostname: str, name: str) -> None:
    """That of the whole cluster stays as it is."""
    assert refusals.install_name(found, hostname) == name


def test_a_node_without_a_name_has_no_place_for_it() -> None:
    with pytest.raises(UsageInvalid, match="no host name yet"):
        refusals.install_name(None, None)


def test_the_other_refusals_name_cause_and_remedy() -> None:
    for error, kind in (
        (refusals.not_over("waiting"), Busy),
        (refusals.not_ours("unit:x.service"), UsageInvalid),
        (refusals.nothing_to_try("new.yml"), UsageInvalid),
        (refusals.asks_for_nothing("new.yml"), NodeFileInvalid),
        (refusals.own_file_changed("worker-0.yml"), UsageInvalid),
    ):
        assert isinstance(error, kind)
        assert error.cause
        assert error.remedy
