"""Which VIPs must be removed from this node's links, because no keepalived of this node announces them any more?

A keepalived that is killed leaves its addresses on the links. The peers then elect another holder, and two hosts answer
for one address until something removes it here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.plan import Plan
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address


def has_died(before: Mapping[int, str], ended: Collection[int], program: str) -> bool:
    """Return whether a process of *program* is among those that *ended*; *before* has the names (proc_pid_comm(5))."""
    return any(before.get(pid) == program for pid in ended)


def speaks(processes: Mapping[int, str], program: str) -> bool:
    """Return whether *program* runs."""
    return program in processes.values()


def stale(addresses: Iterable[Address], vips: Collection[IPAddress]) -> tuple[Address, ...]:
    """Return the addresses of this node's links that are *vips*."""
    return tuple(address for address in addresses if address.address in vips)


def removable(plan: Plan, node_ips: Iterable[IPAddress], *, alone: bool) -> frozenset[IPAddress]:
    """Return the VIPs that only this node's own keepalived may put on a link.

    None while another stack may serve them (not *alone*), or where hosted services do not run; never a node IP, which
    a wrong setting may name as a VIP.
    """
    ours = any(duty.service is Service.KEEPALIVED and duty.wanted for duty in plan.duties)
    vips = {duty.address for duty in plan.vips} if alone and ours else set()
    return frozenset(vips - set(node_ips))
