"""The nodes with their reports: what each may say, and what is not believed."""

from ipaddress import ip_address
from typing import Any

from nodenet.core.hosted_cluster.node_report import (
    ANNOTATION,
    NodeReport,
    Stack,
    members,
    render,
    slim_reporting_node,
)
from nodenet.core.hosted_services.model import Mode
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
