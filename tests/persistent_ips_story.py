"""Verbs in a world of one or two nodes, run to their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.effects import Effect
from nodenet.core.persistent_ips.model import PodName
from persistent_ips_world import Node, Run, World


def vm(world: World, name: str = "vm", number: int = 1, **changes: Any) -> PodName:
    """Return a pod of a virtual machine with its claim."""
    if ("vms", name) not in world.api.claims:
        world.api.put_claim(name, **changes)
    return world.api.put_pod(f"{name}-{number}", name, machine=name)


def added(world: World, node: Node, pod: PodName | None, container: str = "", ifname: str = "net1") -> tuple[str, ...]:
    """Return the addresses of an ADD. Raises its CniError."""
    run = world.add(node, pod, container, ifname)
    world.finish(node)
    if isinstance(run.outcome, CniError):
        raise run.outcome
    assert not isinstance(run.outcome, Exception), run.outcome
    return tuple(map(str, run.outcome))


def step_until(node: Node, run: Run, number: int) -> Effect | None:
    """Carry out *number* effects of *run*; return the next one, None when it has ended."""
    for _ in range(number):
        if run not in node.runs:
            return None
        node.step(run)
    return run.effect if run in node.runs else None


def length(make: Callable[[], tuple[World, Node, Run]]) -> int:
    """Return how many effects a verb has."""
    _, node, run = make()
    count = 0
    while run in node.runs:
        node.step(run)
        count += 1
    return count
