"""What a node that is ready has lost: NetworkManager, a node IP, or a program that runs with it."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from fakes import FakeClock, FakeKernel, FakeManager, FakeProcesses, stage_edges
from nodenet.core.boot.outcome import Facts, Problem
from nodenet.core.kernel.snapshot import Address, Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.stages.losses import NodeLosses

NODE_IP = ip_address("192.0.2.5")
FACTS = Facts(selection=Selection((NODE_IP,), "eth0"))
LOST = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.5 is missing", "Bring it back")


def no_drift(facts: Facts) -> Problem | None:  # noqa: ARG001
    return None


def test_networkmanager_that_is_away_is_named_with_the_end_of_the_lease() -> None:
    """A static address has none; the text stays the same while it is away (rule 17)."""
    manager, clock = FakeManager(), FakeClock()
    lease = Snapshot(addresses=(Address(NODE_IP, 24, "eth0", valid_lifetime=120),))
    losses = NodeLosses(stage_edges(manager=manager, clock=clock, kernel=FakeKernel(lease)))
    assert losses.seen(no_drift, FACTS, publishes=True) == ()
    manager.crash()
    (away,) = losses.seen(no_drift, FACTS, publishes=True)
    assert away.message is Message.MANAGER_AWAY
    assert away.cause == (
        "NetworkManager has not run since 2023-11-14 22:15:00 UTC; "
        "the lease of 192.0.2.5 on eth0 ends at 2023-11-14 22:17:00 UTC"
    )
    assert "systemctl start NetworkManager" in away.remedy
    clock.now += 60
    assert losses.seen(lambda _: LOST, FACTS, publishes=True) == (away, LOST), "the cause comes first"
    manager.crashed = False
    assert losses.seen(no_drift, FACTS, publishes=True) == ()
    static = FakeKernel(Snapshot(addresses=(Address(NODE_IP, 24, "eth0"),)))
    (away,) = NodeLosses(stage_edges(manager=FakeManager(crashed=True), kernel=static)).seen(
        no_drift, FACTS, publishes=True
    )
    assert "lease" not in away.cause


def test_kubelet_that_runs_with_another_node_ip_is_a_loss() -> None:
    """Not where a unit publishes: its files are its own."""
    environment = {"KUBELET_NODE_IP": "192.0.2.9", "KUBELET_NODE_IPS": "192.0.2.9"}
    edges = stage_edges(processes=FakeProcesses({"kubelet.service": environment}))
    (found,) = NodeLosses(edges).seen(no_drift, FACTS, publishes=True)
    assert found.cause == "kubelet runs with KUBELET_NODE_IP=192.0.2.9; published is 192.0.2.5"
    assert NodeLosses(edges).seen(no_drift, FACTS, publishes=False) == ()
    assert NodeLosses(edges).seen(no_drift, Facts(), publishes=True) == ()


PUBLISHED = {"KUBELET_NODE_IP": "192.0.2.5", "KUBELET_NODE_IPS": "192.0.2.5"}


@pytest.mark.parametrize(
    ("unit", "arguments", "cause", "remedy"),
    [
        ("kubelet.service", ("kubelet", "--node-ip=192.0.2.5"), "", ""),
        ("kubelet.service", None, "", ""),
        (
            "kubelet.service",
            ("/usr/bin/kubelet", "--config=/k"),
            "kubelet runs without --node-ip, so that it chooses its node IP itself; published is 192.0.2.5",
            "Add `--node-ip=${KUBELET_NODE_IPS}` to ExecStart=",
        ),
        (
            "rke2-agent.service",
            ("kubelet", "--node-ip=192.0.2.9"),
            "rke2-agent runs with --node-ip=192.0.2.9; published is 192.0.2.5",
            "Take --node-ip out of the arguments",
        ),
        (
            "snap.microk8s.daemon-kubelite.service",
            ("--config=/k",),
            "MicroK8s runs without --node-ip, ",
            "Write `--node-ip=192.0.2.5` into `/var/snap/microk8s/current/args/kubelet`",
        ),
    ],
)
def test_the_arguments_of_a_running_kubelet_count(
    unit: str, arguments: tuple[str, ...] | None, cause: str, remedy: str
) -> None:
    """Its unit may get the variables and pass none of them, as kubeadm's does without nodenet's arguments."""
    known = {unit: arguments} if arguments else {}
    found = NodeLosses(stage_edges(processes=FakeProcesses({unit: PUBLISHED}, known))).seen(
        no_drift, FACTS, publishes=True
    )
    assert [(each.cause[: len(cause)], each.remedy[: len(remedy)]) for each in found] == (
        [(cause, remedy)] if cause else []
    )


def test_two_kubelets_are_named() -> None:
    edges = stage_edges(processes=FakeProcesses({"kubelet.service": PUBLISHED, "k3s.service": PUBLISHED}))
    (found,) = NodeLosses(edges).seen(no_drift, FACTS, publishes=True)
    assert found.cause == "2 kubelets run on this node: kubelet.service, k3s.service"
