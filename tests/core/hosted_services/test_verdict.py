"""The verdict on hosted services: what is waited for, what is a problem, and what the line says."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.boot.outcome import Problem
from nodenet.core.hosted_services.dns import UNWELL_SECONDS, verdict
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Options, Origin, Place, Role
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.units import Running
from nodenet.core.ip import Family
from nodenet.core.messages import Message

NODE_IP = ip_address("192.0.2.10")
OPTIONS = Options(
    "baremetal", "c.example.com", (ip_address("192.0.2.2"),), (ip_address("192.0.2.3"),), role=Role.WORKER
)
HERE = Here("w", {Family.IPV4: Place(NODE_IP, "br-ex", ip_network("192.0.2.0/24"))})
NODES = (ClusterNode("w", (NODE_IP,), Role.WORKER),)
WORKER = plan(Inputs(OPTIONS, HERE, nodes=NODES, nodes_origin=Origin.CACHE))
UP = Running("loaded", "active")


@pytest.mark.parametrize(
    ("companion", "awaited", "cause"),
    [
        (None, "systemd, to ask for nodenet-hosted.service", "systemd does not answer"),
        (
            Running("loaded", "activating"),
            "nodenet-hosted.service, which decides about VIPs (activating)",
            "nodenet-hosted.service does not run: activating",
        ),
        (
            Running("loaded", "failed", result="exit-code"),
            "",
            "nodenet-hosted.service does not run: failed, result exit-code",
        ),
        (
            Running("not-found", "inactive"),
            "",
            "nodenet-hosted.service does not run: systemd has no such unit (not-found)",
        ),
    ],
)
def test_a_companion_that_starts_is_waited_for_and_one_that_failed_is_not(
    companion: Running | None, awaited: str, cause: str
) -> None:
    found = verdict(WORKER, (), companion, silent=())
    assert found.awaited == awaited
    assert found.problem == Problem(Message.HOSTED_FAILED, cause, "See `journalctl -u nodenet-hosted.service`")
    assert found.seconds == UNWELL_SECONDS


def test_dns_is_waited_for_where_it_is_ours() -> None:
    found = verdict(WORKER, (), UP, silent=(NODE_IP,))
    assert found.awaited == "DNS on the node IP 192.0.2.10"
    assert found.problem == Problem(
        Message.NODE_DNS_FAILED,
        "No DNS server answers on the node IP 192.0.2.10",
        "See `nodenetctl status` and `journalctl -u nodenet-dnsmasq.service`",
    )
    other = verdict(WORKER, (), UP, silent=None)
    assert (other.awaited, other.problem) == ("", None)
    assert "DNS is not served by nodenet now" in other.detail


def test_contradictions_are_problems_and_hold_nothing_up() -> None:
    taken = replace(OPTIONS, ingress_vips=(NODE_IP,))
    made = plan(Inputs(taken, HERE, nodes=NODES, nodes_origin=Origin.CACHE))
    found = verdict(made, (), UP, silent=())
    assert found.problem == Problem(
        Message.HOSTED_PROBLEM,
        "The VIP 192.0.2.10 is the address of node w",
        "Give the VIP an address of its own",
    )
    assert found.awaited == ""
    cause = "The cached list of nodes is not used: its checksum is wrong: it was not written to its end, or was changed"
    torn = verdict(made, (cause,), UP, silent=())
    assert torn.problem == Problem(
        Message.HOSTED_PROBLEM,
        cause,
        "Correct /etc/nodenet/hostednetservices.yaml or the object in the API; "
        "a cache is written again when the API answers",
    )


def test_a_cluster_that_was_never_read_is_no_problem() -> None:
    """As in its installation: the API is not there yet."""
    fresh = plan(Inputs(replace(OPTIONS, role=None), HERE))
    assert fresh.pending == (
        "No list of nodes was ever read: this node answers DNS and holds no VIP until it has one",
        "The role of this node is not known yet: the list of nodes, or `[hosted] role`, names it",
    )
    assert verdict(fresh, (), UP, silent=()).problem is None
