"""What kubelet and CRI-O run with is compared with what is published for them."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

import pytest

from nodenet.core.boot.in_use import not_in_use
from nodenet.core.messages import Message
from nodenet.core.node_ip.published_files import Publication, files

PUBLISHED = files(Publication((ip_address("10.88.106.53"), ip_address("fd88::53"))))
KUBELET = {"KUBELET_NODE_IP": "10.88.106.53", "KUBELET_NODE_IPS": "10.88.106.53,fd88::53", "PATH": "/usr/bin"}
CRIO = {"CONTAINER_STREAM_ADDRESS": "10.88.106.53"}


@pytest.mark.parametrize(
    ("kubelet", "crio", "cause", "remedy"),
    [
        (KUBELET, CRIO, "", ""),
        (None, None, "", ""),
        (
            KUBELET | {"KUBELET_NODE_IP": "10.88.106.167"},
            CRIO,
            "kubelet runs with KUBELET_NODE_IP=10.88.106.167; published is 10.88.106.53",
            "Drain the node; `systemctl restart kubelet`",
        ),
        (
            KUBELET | {"KUBELET_NODE_IPS": "10.88.106.53"},
            {"PATH": "/usr/bin"},
            "kubelet runs with KUBELET_NODE_IPS=10.88.106.53; published is 10.88.106.53,fd88::53; CRI-O runs without ",
            "Drain the node; `systemctl restart crio kubelet`",
        ),
        (None, CRIO | {"CONTAINER_STREAM_ADDRESS": "::1"}, "CRI-O runs with CONTAINER_STREAM_ADDRESS=::1", "crio`"),
    ],
)
def test_each_program_that_runs_with_something_else_is_named(
    kubelet: Mapping[str, str] | None, crio: Mapping[str, str] | None, cause: str, remedy: str
) -> None:
    problem = not_in_use(PUBLISHED, {"kubelet.service": kubelet, "crio.service": crio})
    if not cause:
        assert problem is None
        return
    assert problem is not None
    assert problem.message is Message.NODE_IP_NOT_IN_USE
    assert problem.cause.startswith(cause)
    assert problem.remedy.endswith(remedy)
