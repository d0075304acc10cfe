"""Has the network become another one than the node file asks for, and what is said of that?

nodenetd changes nothing back by itself: an administrator may have changed it on purpose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.profiles import keyfile_values
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.values import present, text
from nodenet.core.node_file.yaml_text import Block, Scalar
from nodenet.core.resolver import MAX_SERVERS
from nodenet.core.trial.refusals import Change

MOST = 8
"""Values that are named."""


def of_links(snapshot: Snapshot, links: Collection[str]) -> frozenset[Any]:
    """Return what may differ from the node file of *links*, to be compared with itself at another time."""
    found = {(each.name, each.up, each.carrier, each.mtu, each.mac, each.master) for each in snapshot.links}
    addresses = {(each.link, each.address, each.prefix_length) for each in snapshot.addresses}
    routes = {
        (hop.link, route.destination, hop.gateway, route.metric, route.table)
        for route in snapshot.routes
        for hop in route.next_hops
    }
    return frozenset(each for each in (*found, *addresses, *routes) if each[0] in links)


def other_servers(wish: Desired, listed: Sequence[IPAddress], own: Collection[IPAddress]) -> str:
    """Return that none of the DNS servers of the node file is among those *listed* for the node, "" if not so.

    A lease may add servers, and a resolver asks three at most. A server on the loopback, or at one of the node's *own*
    addresses, is never listed.
    """
    wanted = tuple(_servers(wish.document))[:MAX_SERVERS]
    if any(each.is_loopback or each in own for each in wanted):
        return ""
    if not wanted or not listed or set(wanted) & set(listed):
        return ""
    return f"DNS servers {', '.join(map(str, listed))}, not {', '.join(map(str, wanted))}"


def _servers(document: Block | None) -> Iterator[IPAddress]:
    resolver = document.get("dns-resolver") if document else None
    config = resolver.get("config") if isinstance(resolver, Block) else None
    servers = config.get("server") if isinstance(config, Block) else None
    for each in servers.items if isinstance(servers, Block) else ():
        if isinstance(each, Scalar):
            try:
                yield ip_address(each.text)
            except ValueError:  # no address
                continue


def wanted_up(document: Block | None) -> frozenset[str]:
    """Return the links that a node file has up."""
    return frozenset(text(each, "name") for _, each in present(document)) if document else frozenset()


def values(found: Iterable[Change], links: Sequence[Link], wanted: Collection[str]) -> Iterator[str]:
    """Yield in words which links are set down and *wanted* up, and what differs on links with a carrier.

    A link without a carrier has lost what it had. libnmstate may name a link of which no value differs.
    """
    yield from (f"{each.name} is set down" for each in links if each.name in wanted and not each.up)
    dark = {each.name for each in links if not (each.carrier and each.up)}
    for each in found:
        if each.before == each.after or each.place in dark or any(each.after.endswith(f" on {link}") for link in dark):
            continue
        what = f"{each.place} {each.key}"
        yield f"{what} is {each.before}, not {each.after}" if each.before else f"{what} is not {each.after}"


Profiles = Mapping[str, Mapping[str, str]]
"""The profiles of a directory: UUID → ``section.key`` → value."""


def profile(content: bytes) -> dict[str, str]:
    """Return what a keyfile of NetworkManager says; values that may be secrets as a hash."""
    return {
        f"{section}.{key}": value if section in _PLAIN else hashlib.sha256(value.encode()).hexdigest()
        for section, key, value in keyfile_values(content)
        if (section, key) not in _BY_ITSELF
    }


_BY_ITSELF = frozenset({("connection", "timestamp")})
"""Written without an administrator."""
_PLAIN = frozenset(
    {"connection", "ethernet", "ipv4", "ipv6", "bond", "bond-port", "bridge", "bridge-port", "vlan", "vrf"}
)
"""Sections without secrets."""


def of_profiles(before: Profiles, now: Profiles, links: Collection[str]) -> Iterator[str]:
    """Yield in words what differs between the profiles of *links*, of those that were there *before*.

    Ports of Open vSwitch are left out: nodenetd changes their profiles itself.
    """
    for uuid, was in before.items():
        here = now.get(uuid)
        if was.get("connection.interface-name") not in links or _is_port(was) or _is_port(here or {}):
            continue
        name = f"the profile {was.get('connection.id', uuid)}"
        if here is None:
            yield f"{name} is deleted"
            continue
        for key in sorted(was.keys() | here.keys()):
            if was.get(key) == here.get(key):
                continue
            if key.partition(".")[0] in _PLAIN:
                yield f"{name} has {key} {here.get(key, 'no more')}, not {was.get(key, 'set')}"
            else:
                yield f"{name} has another {key}"


def _is_port(found: Mapping[str, str]) -> bool:
    port = found.get("connection.port-type") or found.get("connection.slave-type") or ""
    return "ovs-" in port + found.get("connection.type", "")


def sentence(name: str, found: Sequence[str]) -> str:
    """Return that the network differs from the node file *name* in the values *found*."""
    more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
    return f"The network is not as {name} asks any more: {'; '.join(found[:MOST])}{more}"
