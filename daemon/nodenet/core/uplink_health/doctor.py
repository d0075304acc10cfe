"""What is right and what is wrong with this node's network at this moment, in ten lines?

Nothing here comes from nodenetd: it may be dead. What could not be asked is neither right nor wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from nodenet.core.boot.outcome import Problem
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address, AddressFlag, Snapshot
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.uplink_health.health import FIND_HOST, claimed, has_carrier, no_carrier
from nodenet.core.uplink_health.watched import Gateway, Place, gateways
from nodenet.core.value import frozen

LATE = 8
"""A client asks its own DHCP server at half of the time of a lease, and every server at 7/8 (RFC 2131, 4.4.5)."""
_WAITS = "`nodenetctl status` names what nodenetd waits for"


class State(StrEnum):
    """What a line says; the values are the words that are printed."""

    GOOD = "ok"
    BAD = "fault"
    UNKNOWN = "unknown"


@frozen
class Line:
    """One line: what it is about, how that is, and what to do."""

    name: str
    state: State
    text: str
    remedy: str = ""


class Ping(StrEnum):
    """Which pings are answered: also those as large as the MTU of the link, only small ones, or none."""

    ALL = "all"
    SMALL = "small"
    NONE = "none"


@frozen
class Kubelet:
    """The *units* of kubelets that run, the *node_ip* that one shows to run with, and what is wrong with that.

    *readable*: whether their variables can be read.
    """

    units: tuple[str, ...] = ()
    node_ip: str = ""
    problem: Problem | None = None
    readable: bool = True


@frozen
class Seen:
    """What was found; None for what could not be asked, in time or by this user.

    *node_ips* are the published ones, and *this_boot* whether the present boot has published them. *uplinks* are the
    links that must have a carrier. *release* is when nodenet was installed, *now* the time of the wall clock,
    also *in_words*.
    """

    snapshot: Snapshot
    place: Place | None
    node_ips: tuple[IPAddress, ...]
    this_boot: bool
    uplinks: tuple[str, ...]
    gateways: Mapping[Gateway, bool | None]
    pings: Mapping[Gateway, Ping | None]
    servers: Mapping[IPAddress, bool]
    claims: Mapping[IPAddress, Collection[str]] | None
    kubelet: Kubelet
    manager: ManagerState | None
    lease_seconds: int | None
    now: float
    in_words: str
    release: float
    synchronised: bool | None


def place(snapshot: Snapshot, node_ips: Sequence[IPAddress], link: str | None, uplink: str | None) -> Place | None:
    """Return where the node IPs are; if no link has one, the link that had them, or the one of a default route.

    *link* and *uplink* are those that nodenetd has reported in this boot.
    """
    links = [each.link for ip in node_ips for each in snapshot.addresses if each.address == ip]
    links += [link] if link else []
    links += [each.link for each in gateways(snapshot, Family)]
    if not links:
        return None
    below = uplink if links[0] == link else None
    return Place(links[0], below, frozenset(map(family_of, node_ips)), tuple(node_ips))


def lines(seen: Seen) -> tuple[Line, ...]:
    """Return the lines, a cause before what follows from it."""
    return (
        _cable(seen),
        _manager(seen.manager),
        _address(seen),
        _duplicate(seen),
        _lease(seen),
        _gateway(seen.gateways),
        _large(seen),
        _dns(seen.servers),
        _kubelet(seen.kubelet),
        _clock(seen),
    )


def _cable(seen: Seen) -> Line:
    by_name = {each.name: each for each in seen.snapshot.links}
    links = [by_name.get(name) for name in seen.uplinks]
    if not links:
        return Line("cable", State.BAD, "This node has no NIC", "Look for the driver or the device in `dmesg`")
    if not has_carrier(links):
        text, remedy = no_carrier(seen.place or Place("this node"), seen.uplinks, links)
        return Line("cable", State.BAD, text, remedy)
    lit = [each.name for each in links if each is not None and has_carrier([each])]
    return Line("cable", State.GOOD, f"{' and '.join(lit)} {'has' if len(lit) == 1 else 'have'} a carrier")


def _has_carrier(seen: Seen) -> bool:
    return has_carrier([each for each in seen.snapshot.links if each.name in seen.uplinks])


def _manager(state: ManagerState | None) -> Line:
    name = "NetworkManager"
    if state is ManagerState.READY:
        return Line(name, State.GOOD, str(state))
    if state is None:
        return Line(name, State.BAD, "NetworkManager does not answer in time", "Look at `systemctl status dbus`")
    if state is ManagerState.STARTING:
        return Line(name, State.BAD, str(state), "`nmcli device` shows the links that it waits for")
    remedy = "Look at `systemctl status NetworkManager dbus`; then run `systemctl start NetworkManager`"
    return Line(name, State.BAD, str(state), remedy)


def _address(seen: Seen) -> Line:
    name, shown = "address", ", ".join(map(str, seen.node_ips))
    if not seen.node_ips:
        return Line(name, State.BAD, f"No node IP is published; this node has {_addresses(seen.snapshot)}", _WAITS)
    if not seen.this_boot:
        text = f"No node IP is published in this boot; {shown} is of an earlier one"
        return Line(name, State.BAD, text, _WAITS)
    found = {ip: [each for each in seen.snapshot.addresses if each.address == ip] for ip in seen.node_ips}
    if lacking := [str(ip) for ip, places in found.items() if not places]:
        text = f"The node IP {' and '.join(lacking)} is on no link; this node has {_addresses(seen.snapshot)}"
        return Line(name, State.BAD, text, "Bring the address back: `nmcli device`, `nodenetctl explain node-ip`")
    if bad := [str(ip) for ip, places in found.items() if all(map(_is_in_doubt, places))]:
        text = f"IPv6 does not use {' and '.join(bad)}: duplicate address detection has failed or is not over"
        return Line(name, State.BAD, text, "Find the other host with this address; `ip -6 address` shows the state")
    return Line(name, State.GOOD, ", ".join(f"{ip} on {places[0].link}" for ip, places in found.items()))


def _is_in_doubt(address: Address) -> bool:
    """Return whether the kernel does not use it: another host may have it, or has it."""
    return address.is_tentative or AddressFlag.DAD_FAILED in address.flags


def _addresses(snapshot: Snapshot) -> str:
    ours = [each for each in snapshot.addresses if not each.address.is_loopback and not each.address.is_link_local]
    return ", ".join(f"{each.address} on {each.link}" for each in ours[:3]) or "no address that others reach"


def _duplicate(seen: Seen) -> Line:
    name, here = "duplicate", {each.address for each in seen.snapshot.addresses}.intersection(seen.node_ips)
    if not here or seen.place is None:
        return Line(name, State.UNKNOWN, "No node IP is on this node, so that no host was asked for one")
    if seen.claims is None or not _has_carrier(seen):
        return Line(
            name,
            State.UNKNOWN,
            f"The hosts on {seen.place.link} cannot be asked: only root can, over a link with a carrier",
        )
    if seen.claims:
        return Line(name, State.BAD, claimed(seen.claims), FIND_HOST)
    return Line(name, State.GOOD, f"No other host on {seen.place.link} has a node IP of this node")


def _lease(seen: Seen) -> Line:
    name = "lease"
    where = seen.place.link if seen.place else ""
    held = [each for each in seen.snapshot.addresses if each.link == where and not each.address.is_link_local]
    held = [each for each in held if each.address in seen.node_ips] or held
    ending = [each for each in held if each.valid_lifetime is not None]
    if not ending:
        text = f"No address of {where} ends" if held else "There is no address that could end"
        return Line(name, State.GOOD if held else State.UNKNOWN, text)
    text = "; ".join(f"{each.address} on {each.link} ends in {_span(each.valid_lifetime or 0)}" for each in ending)
    if seen.manager not in (ManagerState.READY, ManagerState.STARTING):
        return Line(name, State.BAD, f"{text}, and NetworkManager does not renew it", "Start NetworkManager")
    if any(_is_late(each, seen.lease_seconds) for each in ending):
        return Line(
            name, State.BAD, f"{text}, and no DHCP server has renewed it", "Look at the DHCP server and its log"
        )
    return Line(name, State.GOOD, text)


def _is_late(address: Address, lease_seconds: int | None) -> bool:
    if lease_seconds is None or address.family is Family.IPV6 or address.valid_lifetime is None:
        return False
    return address.valid_lifetime * LATE < lease_seconds


def _span(seconds: int) -> str:
    """Return a length of time in its largest whole unit."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _gateway(asked: Mapping[Gateway, bool | None]) -> Line:
    name = "gateway"
    if not asked:
        remedy = "Add a default route to the node file, or look at the DHCP server and the router"
        return Line(name, State.BAD, "There is no default route with a gateway", remedy)
    for each, answer in asked.items():
        if answer is False:
            outside = "" if each.on_subnet else f"; it is in no subnet of {each.link}"
            text = f"No answer from {each.address} on {each.link}{outside}"
            return Line(name, State.BAD, text, "Check the gateway, the VLAN and the way to it; look at `ip neigh`")
    if silent := [each for each, answer in asked.items() if answer is None]:
        return Line(name, State.UNKNOWN, f"{silent[0].address} cannot be asked (only root can)")
    return Line(name, State.GOOD, f"{_named(asked)} {_verb(asked)}")


def _large(seen: Seen) -> Line:
    name = "full-size ping"
    small = [each for each, ping in seen.pings.items() if ping is Ping.SMALL]
    if small:
        text = f"{small[0].address} answers small pings only: packets as large as the MTU of {small[0].link} are lost"
        remedy = f"Compare `mtu` of {small[0].link} in the node file with the switch and the router"
        return Line(name, State.BAD, text, remedy)
    if whole := [each for each, ping in seen.pings.items() if ping is Ping.ALL]:
        return Line(name, State.GOOD, f"{_named(whole)} {_verb(whole)} packets as large as the MTU")
    if not seen.pings:
        return Line(name, State.UNKNOWN, "There is no gateway to ask")
    return Line(name, State.UNKNOWN, f"{_named(seen.pings)} answers no ping, so that the path MTU is not known")


def _named(found: Collection[Gateway]) -> str:
    return " and ".join(dict.fromkeys(f"{each.address} on {each.link}" for each in found))


def _verb(found: Collection[Gateway]) -> str:
    return "answers" if len(found) == 1 else "answer"


def _dns(servers: Mapping[IPAddress, bool]) -> Line:
    name = "DNS"
    if not servers:
        remedy = "List a DNS server in the node file, or let the DHCP server offer one"
        return Line(name, State.BAD, "No DNS server is listed", remedy)
    said: dict[bool, list[str]] = {True: [], False: []}
    for server, answers in servers.items():
        said[answers].append(str(server))
    silent = f"no answer from {' and '.join(said[False])}"
    if not said[True]:
        remedy = f"Check the server and the way to it: `dig @{said[False][0]} . NS`"
        return Line(name, State.BAD, silent[0].upper() + silent[1:], remedy)
    verb = "answers" if len(said[True]) == 1 else "answer"
    return Line(name, State.GOOD, "; ".join([f"{' and '.join(said[True])} {verb}", *([silent] if said[False] else [])]))


def _kubelet(kubelet: Kubelet) -> Line:
    name = "kubelet"
    if not kubelet.units:
        remedy = "Look at `systemctl status kubelet`; it waits for nodenetd, and for CRI-O or containerd"
        return Line(name, State.BAD, "No kubelet runs", remedy)
    units = " and ".join(kubelet.units)
    if kubelet.problem:
        return Line(name, State.BAD, kubelet.problem.cause, kubelet.problem.remedy)
    if kubelet.node_ip:
        return Line(name, State.GOOD, f"{units} runs with {kubelet.node_ip}, as published")
    if not kubelet.readable:
        text = f"{units} runs; its variables cannot be read (only root can, five seconds after its start)"
        return Line(name, State.UNKNOWN, text)
    return Line(name, State.UNKNOWN, f"{units} runs, and nothing is published that it could be compared with")


def _clock(seen: Seen) -> Line:
    name, shown = "clock", seen.in_words
    if seen.now < seen.release:
        text = f"It is set to {shown}, which is before nodenet was installed"
        return Line(name, State.BAD, text, "Set the clock, and let chrony or systemd-timesyncd keep it: `timedatectl`")
    if seen.synchronised:
        return Line(name, State.GOOD, f"{shown}, kept by NTP or the like")
    return Line(name, State.UNKNOWN, f"{shown}; no program keeps it, so that it may be wrong (`timedatectl`)")


def printed(found: Sequence[Line]) -> Iterator[str]:
    """Yield the lines as people read them, with a remedy below each fault."""
    for each in found:
        yield f"{each.state:<8} {each.name:<15} {each.text}"
        if each.remedy:
            yield f"{'':<8} {'to do':<15} {each.remedy}"


def document(found: Sequence[Line]) -> dict[str, object]:
    """Return the lines as JSON-ready values."""
    rows = [{"name": each.name, "state": str(each.state), "text": each.text, "remedy": each.remedy} for each in found]
    return {"schema_version": 1, "lines": rows}


def exit_code(found: Sequence[Line]) -> int:
    """Return 1 if a line is a fault, 2 if none is but something could not be asked, else 0."""
    states = {each.state for each in found}
    return 1 if State.BAD in states else 2 if State.UNKNOWN in states else 0
