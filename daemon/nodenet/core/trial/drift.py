"""Has the network become another one than the node file asks for, and what is said of that?

nodenetd changes nothing back by itself: an administrator may have changed it on purpose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_file.content import Desired
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


def values(found: Iterable[Change], dark: Collection[str]) -> Iterator[str]:
    """Yield in words what differs, but on links without a carrier (*dark*): those have lost what they had."""
    for each in found:
        if each.place in dark or any(each.after.endswith(f" on {link}") for link in dark):
            continue
        what = f"{each.place} {each.key}"
        yield f"{what} is {each.before}, not {each.after}" if each.before else f"{what} is not {each.after}"


def sentence(name: str, found: Sequence[str]) -> str:
    """Return that the network differs from the node file *name* in the values *found*."""
    more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
    return f"The network is not as {name} asks any more: {'; '.join(found[:MOST])}{more}"
