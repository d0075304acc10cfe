"""The nodes with their reports: what each may say, and what is not believed."""

from ipaddress import ip_address
from typing import Any

from nodenet.core.hosted_cluster.node_report import (
    ANNOTATION,
    MOST_BYTES,
    Member,
    NodeReport,
    Stack,
    members,
    render,
    slim_reporting_node,
)
from nodenet.core.hosted_services.model import ClusterNode, Mode, Purpose, Role
from nodenet.core.hosted_services.report import HostedHealth

VIP = ip_address("192.0.2.2")
REPORT = NodeReport(Mode.SELF_HOSTED, HostedHealth.OK, Stack.NODENET, vips=(VIP,), split=(VIP,))


def item(name: str, text: str | None = None, role: str = "worker") -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "resourceVersion": "1",
            "labels": {f"node-role.kubernetes.io/{role}": "", "other": "x"},
            "annotations": {"other": "x", **({ANNOTATION: text} if text is not None else {})},
        },
        "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}], "images": ["x"] * 50},
    }


def slim(*items: dict[str, Any]) -> list[Any]:
    return [slim_reporting_node(one) for one in items]


def test_of_a_node_its_report_is_kept_and_of_a_long_one_no_more_than_is_refused() -> None:
    assert slim_reporting_node(item("a", "r"))["metadata"] == {
        "name": "a",
        "labels": {"node-role.kubernetes.io/worker": ""},
        "annotations": {ANNOTATION: "r"},
    }
    assert len(slim_reporting_node(item("a", "x" * 10**6))["metadata"]["annotations"][ANNOTATION]) == MOST_BYTES + 1
    assert slim_reporting_node({"metadata": {"name": "a", "annotations": 5}})["metadata"]["annotations"] == {}


def test_members_have_a_report_a_problem_or_neither() -> None:
    found = members(slim(item("c"), item("b", "{"), item("a", render(REPORT))), lambda name: name != "a")
    assert [(one.node.name, one.report, one.alive, one.problem) for one in found] == [
        ("a", REPORT, False, ""),
        ("b", None, True, "it is not JSON"),
        ("c", None, True, ""),
    ]


def test_a_node_whose_addresses_cannot_be_used_is_no_member() -> None:
    bad = item("a") | {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}}
    assert members(slim(bad, item("b")), lambda _: True) == members(slim(item("b")), lambda _: True)


def test_a_worker_says_nothing_about_the_api_vip_and_a_silent_node_nothing_at_all() -> None:
    worker = Member(ClusterNode("w", (VIP,), Role.WORKER), REPORT)
    master = Member(ClusterNode("m", (VIP,), Role.CONTROL_PLANE), REPORT)
    silent = Member(ClusterNode("m", (VIP,), Role.CONTROL_PLANE), REPORT, alive=False)
    assert [one.holds(VIP, Purpose.API) for one in (worker, master, silent)] == [False, True, False]
    assert [one.sees_two(VIP, Purpose.API) for one in (worker, master, silent)] == [False, True, False]
    assert [one.holds(VIP, Purpose.INGRESS) for one in (worker, master, silent)] == [True, True, False]
