"""Which nodes does the cluster have, and what does each report about itself?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nodenet.core.hosted_cluster.node_report import ANNOTATION, MOST_BYTES, NodeReport, ReportInvalid, parse
from nodenet.core.hosted_services.model import ClusterNode, Mode, Purpose, Role
from nodenet.core.hosted_services.nodes import of_objects
from nodenet.core.hosted_services.watching import slim_node
from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen


@frozen
class Member:
    """A node, and its *report*: None without one, and with a *problem* where it cannot be read.

    *alive*: whether its Lease holds. The report of a node that is not alive says nothing about the present.
    """

    node: ClusterNode
    report: NodeReport | None = None
    alive: bool = True
    problem: str = ""

    @property
    def present(self) -> NodeReport | None:
        """Its report, None where it says nothing about the present."""
        return self.report if self.alive else None

    @property
    def names_no_address(self) -> bool:
        """Whether it is a control-plane node of an older nodenet, whose external load balancer is not known."""
        report = self.present if self.node.role is Role.CONTROL_PLANE else None
        return report is not None and report.mode is Mode.EXTERNAL and report.api_int is None

    def may_hold(self, purpose: Purpose) -> bool:
        """Whether a node of its role may hold the VIPs of *purpose*; what others say of them is not believed."""
        return purpose is Purpose.INGRESS or self.node.role is Role.CONTROL_PLANE

    def holds(self, vip: IPAddress, purpose: Purpose) -> bool:
        """Whether it reports that it holds a VIP."""
        return self.present is not None and self.may_hold(purpose) and vip in self.present.vips

    def sees_two(self, vip: IPAddress, purpose: Purpose) -> bool:
        """Whether it reports that two hosts hold a VIP."""
        return self.present is not None and self.may_hold(purpose) and vip in self.present.split


def slim_reporting_node(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the used parts of a Node, its report included; heartbeats change nothing in them."""
    kept = dict(slim_node(item))
    metadata = item.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    text = annotations.get(ANNOTATION) if isinstance(annotations, Mapping) else None
    # One character more than a report may have: it is refused where it is read, and the memory stays bounded.
    report = {ANNOTATION: text[: MOST_BYTES + 1]} if isinstance(text, str) else {}
    return {**kept, "metadata": {**kept["metadata"], "annotations": report}}


def members(items: Iterable[Mapping[str, Any]], alive: Callable[[str], bool]) -> tuple[Member, ...]:
    """Return the members of a list of slim Nodes, by name. Raises ValueError for too many."""
    listed = list(items)
    texts = {item["metadata"]["name"]: item["metadata"]["annotations"].get(ANNOTATION) for item in listed}
    return tuple(_member(node, texts[node.name], alive(node.name)) for node in of_objects(listed).nodes)


def _member(node: ClusterNode, text: str | None, alive: bool) -> Member:  # noqa: FBT001
    if text is None:
        return Member(node, alive=alive)
    try:
        return Member(node, parse(text), alive)
    except ReportInvalid as error:
        return Member(node, alive=alive, problem=str(error))
