"""What is right and what is wrong with the network of this node now? Asked without nodenetd, which may be dead."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import Awaitable, Collection, Iterable, Mapping
from pathlib import Path, PurePath
from typing import TypeVar

from nodenet.cli import status
from nodenet.cli.ask import system_bus
from nodenet.cli.outputs import folded, has_colours, in_colour, printable
from nodenet.core.boot.in_use import PEOPLE, other_than_published
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_ip import published_files
from nodenet.core.node_ip.published_files import Publication
from nodenet.core.probes.questions import Answer
from nodenet.core.resolver import RESOLV_CONF, nameservers, servers_of_others
from nodenet.core.settings.model import ProbeTarget
from nodenet.core.uplink_health import doctor
from nodenet.core.uplink_health.doctor import Kubelet, Line, Ping, Seen, State
from nodenet.core.uplink_health.watched import OVS_KINDS, Gateway, Place, gateways, of_other_hosts, uplinks
from nodenet.edge import clock
from nodenet.edge.files import disk
from nodenet.edge.hosted_services.other_stacks import Rivals
from nodenet.edge.kernel import netlink
from nodenet.edge.kernel.neighbours import Neighbours
from nodenet.edge.open_vswitch import Ovsdb
from nodenet.edge.probes.targets import Targets
from nodenet.edge.systemd import cgroups

DESCRIPTION = """Look at the network of this node now, and print ten lines, each `ok`, `fault` or `unknown`.

The lines: whether the uplink has a carrier, whether NetworkManager is ready, whether the published node IPs are on the
node, whether another host has one of them, when a lease ends, whether the gateways answer, whether packets as large as
the MTU reach them, whether the DNS servers answer, whether kubelet runs with the published node IPs, and the clock.
Below each fault is what to do.

Nothing of this comes from nodenetd: `doctor` works while nodenetd is dead, and changes nothing. It ends within ten
seconds. Without root, some lines are `unknown`."""
EPILOG = "exit codes: 0 no fault, 1 at least one fault, 2 no fault, but something could not be asked."
RELEASE = Path(__file__)
"""A file of this release: the clock cannot be right if it is set to a time before it was installed."""
ANSWER_SECONDS = 2.0
MANAGER_SECONDS = 6.0
COLOURS = {State.GOOD: "32", State.BAD: "31", State.UNKNOWN: "33"}
"""SGR parameters (ECMA-48)."""
INDENT = 25
PINGS = {Answer.YES: Ping.ALL, Answer.SMALL: Ping.SMALL, Answer.NO: Ping.NONE}
_Found = TypeVar("_Found")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of lines")


def run(arguments: argparse.Namespace) -> int:
    """Print the lines; return the exit code."""
    found = doctor.lines(asyncio.run(_seen()))
    print(json.dumps(doctor.document(found), indent=1) if arguments.json else _text(found))
    return doctor.exit_code(found)


def _text(found: Iterable[Line]) -> str:
    shown = []
    for line in found:
        first, *rest = folded(map(printable, doctor.printed((line,))), INDENT)
        word = in_colour(line.state, COLOURS[line.state] if has_colours() else "")
        shown += [first.replace(line.state, word, 1), *rest]
    return "\n".join(shown)


async def _seen() -> Seen:
    """Ask everything at once; each question has its own limit of time."""
    snapshot, release = netlink.snapshot(complete=True), RELEASE.stat().st_mtime  # noqa: ASYNC240
    publication, this_boot = _publication()
    reported = status.read() or {}
    place = doctor.place(snapshot, publication.node_ips, reported.get("link"), reported.get("uplink"))
    ways = gateways(snapshot, Family)
    pinged = [each for each in ways if not each.address.is_link_local]
    names, servers, claims, answers, pings, manager = await asyncio.gather(
        _uplinks(snapshot, place),
        _servers(snapshot),
        _claims(place),
        asyncio.gather(*map(_answers, ways)),
        asyncio.gather(*map(_ping, pinged)),
        _manager(place),
    )
    return Seen(
        snapshot=snapshot,
        place=place,
        node_ips=publication.node_ips,
        this_boot=this_boot,
        uplinks=names,
        gateways=dict(zip(ways, answers, strict=True)),
        pings=dict(zip(pinged, pings, strict=True)),
        servers=servers,
        claims=_of_hosts(claims, place, ways, snapshot.links),
        kubelet=_kubelet(publication),
        manager=manager[0],
        lease_seconds=manager[1],
        now=time.time(),
        in_words=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        release=release,
        synchronised=clock.is_synchronised(),
    )


async def _in_time(asked: Awaitable[_Found], seconds: float) -> _Found | None:
    """Return the answer; None if there is none in *seconds*, or if this user may not ask."""
    try:
        async with asyncio.timeout(seconds):
            return await asked
    except (NodenetError, TimeoutError):
        return None


def _publication() -> tuple[Publication, bool]:
    """Return what is published, and whether in this boot."""
    contents = {path: _read(path) for path in published_files.NAMES_NODE_IPS}
    node_ips, this_boot = published_files.node_ips(contents)
    return Publication(node_ips, _read(published_files.REMOTE_WORKER) is not None), this_boot


def _read(path: PurePath) -> bytes | None:
    try:
        return disk.read(path)
    except NodenetError:  # this user may not
        return None


async def _uplinks(snapshot: Snapshot, place: Place | None) -> tuple[str, ...]:
    """Return the links that must have a carrier; every NIC if it is not known where the node IPs are."""
    if place is None:
        return tuple(each.name for each in snapshot.links if each.is_nic)
    is_bridge = any(each.name == place.link and each.kind in OVS_KINDS for each in snapshot.links)
    found = await _in_time(Ovsdb().bridges(), ANSWER_SECONDS) if is_bridge and not place.uplink else ()
    return uplinks(place, found or ())


async def _answers(gateway: Gateway) -> bool | None:
    asked = Neighbours().answers(gateway.address, gateway.link, ANSWER_SECONDS)
    return await _in_time(asked, 2 * ANSWER_SECONDS)


async def _ping(gateway: Gateway) -> Ping | None:
    return PINGS.get(await Targets().answers(ProbeTarget(gateway.address), ANSWER_SECONDS))


async def _servers(snapshot: Snapshot) -> Mapping[IPAddress, bool]:
    """Return whether each DNS server answers; those on this node if no other one is listed."""
    from nodenet.edge.resolver import NameServers  # noqa: PLC0415 - help needs no library

    asked, own = NameServers(), {each.address for each in snapshot.addresses}
    texts = asked.files()
    listed = servers_of_others(texts, own) or nameservers(texts.get(RESOLV_CONF))[:3]
    asked.ask(listed)
    await asyncio.sleep(ANSWER_SECONDS)
    answered = asked.answered()
    return {server: server in answered for server in listed}


async def _claims(place: Place | None) -> Mapping[IPAddress, frozenset[str]] | None:
    """Return which other hosts say that they have node IPs; None if they cannot be asked."""
    if place is None or not place.node_ips or os.geteuid() != 0:
        return None
    rivals = Rivals()
    rivals.ask(place.node_ips, place.link)
    await asyncio.sleep(ANSWER_SECONDS)
    return rivals.heard()


def _of_hosts(
    claims: Mapping[IPAddress, Collection[str]] | None,
    place: Place | None,
    ways: Iterable[Gateway],
    links: Iterable[Link],
) -> Mapping[IPAddress, Collection[str]] | None:
    """Return *claims* without those of gateways and of this node's own links."""
    if not claims or place is None:
        return claims
    try:
        return of_other_hosts(claims, Neighbours().known(place.link), ways, links)
    except Unavailable:
        return claims


async def _manager(place: Place | None) -> tuple[ManagerState | None, int | None]:
    """Return NetworkManager's state, and for how long the link of the node IPs has its lease."""
    from nodenet.edge.network_manager.state import NetworkManager  # noqa: PLC0415 - help needs no library

    try:
        async with asyncio.timeout(MANAGER_SECONDS), system_bus() as bus:
            manager = NetworkManager(bus, lambda: None)
            state = await manager.state()
            lease = manager.lease_seconds(place.link) if place and state is ManagerState.READY else None
            return state, await _in_time(lease, ANSWER_SECONDS) if lease else None
    except Unavailable:
        return ManagerState.NO_BUS, None
    except TimeoutError:
        return None, None


def _kubelet(publication: Publication) -> Kubelet:
    """Return which kubelets run, and whether they run with the *publication*."""
    units = [unit for unit in published_files.UNITS if cgroups.has_processes(unit)]
    environments = {unit: cgroups.environment(unit) for unit in PEOPLE}
    arguments = {unit: cgroups.kubelet_arguments(unit) for unit in units}
    readable = all(environments[unit] is not None for unit in units)
    given = [value for words in arguments.values() if words and (value := published_files.given(words))]
    given += [value for unit in units if (value := (environments[unit] or {}).get("KUBELET_NODE_IP"))]
    if not publication.node_ips:
        return Kubelet(tuple(PEOPLE[unit] for unit in units), readable=readable)
    problem = other_than_published(publication, environments, arguments)
    return Kubelet(tuple(PEOPLE[unit] for unit in units), next(iter(given), ""), problem, readable)
