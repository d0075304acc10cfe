"""Which DNS servers does this node's dnsmasq ask for names that it does not know from disk?

The servers that NetworkManager knows, and for the cluster's domain a CoreDNS of this node while it answers: pods and
services may have names there. Queries for the names of the API never leave this node. Any user, and root of a container
in the host's network, may listen on the ports of CoreDNS: a server is asked only if all sockets that receive the query
are those of services of systemd, or of root where the settings say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.sock_diag import Listening
from nodenet.core.settings.model import ClusterDnsTrust

CLUSTER_PORTS = (5354, 5353)
"""Where a CoreDNS of this node listens: 53 is dnsmasq's, and 5353 may be the port of multicast DNS (RFC 6762)."""
ALIVE_SECONDS = 5.0
"""How often a CoreDNS is asked for a sign of life while dnsmasq asks it: its death costs answers until it is seen."""
SEARCH_SECONDS = 15.0
"""How often one is looked for."""
MOST = 8
"""Servers that dnsmasq is given; a lookup that all of them leave unanswered has long failed."""

Servers = tuple[tuple[str, ...], ...]
Place = tuple[IPAddress, int]
"""An address and a port."""
ROOT = 0
LOOP = "nodenet-loop"
"""A name of the cluster's domain that only dnsmasq knows: a CoreDNS that answers it has asked dnsmasq."""
NO_SERVER = "0.0.0.0"  # noqa: S104  (no socket: dnsmasq's word for it)
"""Names with it are answered from this node alone (``server=/NAME/``)."""


def servers(known: Iterable[IPAddress], cluster: Place | None, domain: str, local: tuple[str, ...] = ()) -> Servers:
    """Return the servers in the form of dnsmasq's ``SetServersEx``: each an address, then the domains it serves.

    *local*: names that no server is asked for; what dnsmasq does not know about them does not exist.
    """
    site: Servers = tuple((str(address),) for address in dict.fromkeys(known))[:MOST]
    site += tuple((NO_SERVER, name) for name in local)
    if cluster is None or not domain:
        return site
    address, port = cluster
    return ((f"{address}#{port}", domain), *site)


def receivers(place: Place, sockets: Iterable[Listening]) -> tuple[Listening, ...]:
    """Return the sockets that receive a query to *place*; several may share one port (SO_REUSEADDR)."""
    address, port = place
    return tuple(one for one in sockets if one.port == port and one.hears(address))


def is_believed(one: Listening, services: Collection[int], trust: ClusterDnsTrust) -> bool:
    """Return whether a socket may answer names of the cluster; *services* are the control groups of systemd's."""
    return one.group in services or (trust is ClusterDnsTrust.ROOT and one.uid == ROOT)
