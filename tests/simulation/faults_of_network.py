"""What happens to NetworkManager, Open vSwitch, libnmstate and on the wire."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Interface, IPv6Network
from typing import TYPE_CHECKING

from simulation.faults import Fault, kind
from simulation.nmstate import Trouble

if TYPE_CHECKING:
    from simulation.run import Run

PREFIX_OF_OTHER = IPv6Network("2001:db8:bad::/64")
"""What a host announces that should not be a router."""
TROUBLES = tuple(
    (where, how)
    for where, hows in (
        ("before", ("hang", "die", "unavailable", "dependency")),
        ("made", ("hang", "die", "unavailable", "plugin", "internal")),
        ("after", ("hang", "die", "unavailable", "plugin", "internal", "verification")),
    )
    for how in hows
)
"""Where in an apply libnmstate fails, and how."""


@kind
def manager_crashes(run: Run, fault: Fault) -> None:
    run.world.manager.crash(min(fault.lasts, 60.0))


@kind
def manager_hangs(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.manager.hung = True

    def end() -> None:
        run.world.manager.hung = False
        run.world.manager.touch()

    return end


@kind
def rollback_fails(run: Run, fault: Fault) -> Callable[[], None]:
    """A rollback is refused, or brings the profiles back and activates none; then its checkpoint is gone."""
    run.world.manager.rollback_fails = True
    run.world.manager.rolls_back_partly = fault.pick < 0.5
    return lambda: setattr(run.world.manager, "rollback_fails", False)


@kind
def ovs_database_down(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.ovs.come_or_go(database=False)
    return lambda: run.world.ovs.come_or_go(database=True)


@kind
def ovs_switch_hangs(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.ovs.come_or_go(switch=False)
    return lambda: run.world.ovs.come_or_go(switch=True)


@kind
def apply_goes_wrong(run: Run, fault: Fault) -> Callable[[], None]:
    where, how = TROUBLES[int(fault.pick * len(TROUBLES))]
    trouble = Trouble(where, how, 1 if fault.lasts < 50 else 99)
    run.world.troubles.append(trouble)
    return lambda: run.world.troubles.remove(trouble)


@kind
def cable_out(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    name = next(iter(run.world.nics.values()))

    def set_to(*, present: bool) -> None:
        run.world.kernel.set_carrier(name, present=present)
        run.world.manager.ip.carrier(name, present=present)

    set_to(present=False)
    return lambda: set_to(present=True)


@kind
def link_set_down(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """Another program, or a driver, sets the NIC down; it or an administrator sets it up again at last."""
    name = next(iter(run.world.nics.values()))
    run.world.set_link(name, up=False)
    return lambda: run.world.set_link(name, up=True)


@kind
def dhcp_silent(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    segment = run.world.uplink_segment
    segment.silent = True
    return lambda: setattr(segment, "silent", False)


@kind
def dhcp_slow(run: Run, fault: Fault) -> Callable[[], None]:
    segment = run.world.uplink_segment
    segment.delay = 0.2 + fault.pick * 30
    return lambda: setattr(segment, "delay", 0.05)


@kind
def dhcp_other_address(run: Run, fault: Fault) -> Callable[[], None]:
    """The server gives another address; for half of the nodes it is just time to renew their lease."""
    segment, manager = run.world.uplink_segment, run.world.manager
    segment.other = IPv4Interface("192.0.2.77/24")
    if fault.pick < 0.5 and manager.running:
        for device in [one for one in manager.memory.devices.values() if one.lease and one.profile]:
            manager.ip.ask(device)
    return lambda: setattr(segment, "other", None)


@kind
def gateway_dead(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    segment = run.world.uplink_segment
    segment.gateway_up = False
    return lambda: setattr(segment, "gateway_up", True)


@kind
def router_appears(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """Another host of the LAN announces itself as a router, on a LAN that has none for IPv6."""
    segment = run.world.uplink_segment
    if segment.prefix6 is None:
        segment.prefix6 = PREFIX_OF_OTHER
    return lambda: setattr(segment, "prefix6", None if segment.prefix6 is PREFIX_OF_OTHER else segment.prefix6)


@kind
def second_router(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """Another host of the LAN announces itself as a router with its own prefix; kubelet mostly runs by then.

    Once it has gone, its prefix has no lifetime any more.
    """
    segment, addressing = run.world.uplink_segment, run.world.manager.ip
    if segment.stray6 is not None or run.world.systemd.kubelet_runs is False:
        return lambda: None  # in a first boot only an administrator knows which router is the right one
    segment.stray6 = PREFIX_OF_OTHER
    addressing.stray_comes()

    def end() -> None:
        segment.stray6 = None
        addressing.stray_is_gone()

    return end


@kind
def router_silent(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """The router does not answer solicitations."""
    segment = run.world.uplink_segment
    segment.router_silent = True
    return lambda: setattr(segment, "router_silent", False)
