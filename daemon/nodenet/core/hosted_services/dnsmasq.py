"""What does dnsmasq's configuration say, and which names does it answer from disk? (dnsmasq(8))

The addresses that may change (``api-int``, ``api``, nodes) are in a hosts file, which dnsmasq reads again without a
restart. Upstream servers are set over D-Bus and are in no file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from nodenet.core.hosted_services.api_int import ApiInt
from nodenet.core.hosted_services.duties import Duty
from nodenet.core.hosted_services.model import ClusterNode, Inputs, Service
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.sock_diag import Listening
from nodenet.core.settings.model import ClusterDnsTrust

# Which DNS servers does this node's dnsmasq ask for names that it does not know from disk?
#
# The servers that NetworkManager knows, and for the cluster's domain a CoreDNS of this node while it answers: pods
# and services may have names there. Queries for the names of the API never leave this node. Any user, and root of a
# container in the host's network, may listen on the ports of CoreDNS: a server is asked only if all sockets that
# receive the query are those of services of systemd, or of root where the settings say so.

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


def servers(known: Iterable[IPAddress], cluster: Place | None, inputs: Inputs) -> Servers:
    """Return the servers in the form of dnsmasq's ``SetServersEx``: each an address, then the domains it serves.

    No server is asked for the names that this node answers: what dnsmasq does not know about them does not exist.
    """
    domain = inputs.options.cluster_domain
    site: Servers = tuple((str(address),) for address in dict.fromkeys(known))[:MOST]
    site += tuple(
        (str(address), name)
        for name, address in inputs.options.upstreams
        if not is_of_the_api(name, domain) and address not in inputs.here.addresses
    )
    site += tuple((NO_SERVER, name) for name in _local_names(inputs))
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


# What does the configuration say, and what the hosts file?

RUN = "/run/nodenet/hosted"
HOSTS = f"{RUN}/hosts"
BUS_NAME = "org.nodenet1.Dnsmasq"
MOST_QUERIES = 5000
"""Queries under way: 150, as usual, are those of one pod that asks a server which is away."""
RESERVED = frozenset({"api", "api-int", "apps", "localhost", LOOP})
"""Last labels that no node may take over by its name: those of the cluster's domain, and this host (RFC 6761, 6.3)."""


def configuration(inputs: Inputs, duties: tuple[Duty, ...]) -> str | None:
    """Return the text of dnsmasq.conf, None when no hosted service runs here."""
    if not any(duty.wanted for duty in duties if duty.service is Service.DNSMASQ):
        return None
    return "# Made by nodenetd; changes are overwritten.\n" + "\n".join(_lines(inputs)) + "\n"


def hosts(inputs: Inputs, api: ApiInt) -> str:
    """Return the text of the file ``HOSTS``: the names of the API, then those of the nodes."""
    domain = inputs.options.cluster_domain
    lines = [f"{address} {inputs.options.api_int_name}" for address in api.addresses] if inputs.spec.api_int else []
    lines += [f"{vip} api.{domain}" for vip in inputs.options.api_vips]
    lines += [f"127.0.0.1 {LOOP}.{domain}"]
    lines += sorted(f"{address} {_host(node.name, domain)}" for node in _named(inputs) for address in node.addresses)
    lines += sorted(f"{address} {name}" for name, address in _records(inputs))
    return "".join(f"{line}\n" for line in lines)


def is_of_the_api(name: str, domain: str) -> bool:
    """Return whether the cluster itself has the full *name*: no setting may answer it, or send it elsewhere."""
    return (name == domain or name.endswith(f".{domain}")) and _label(name, domain) in RESERVED


def _local_names(inputs: Inputs) -> tuple[str, ...]:
    """Return the full names that dnsmasq answers from disk, those of the API excepted."""
    domain = inputs.options.cluster_domain
    nodes = (_host(node.name, domain).split()[0] for node in _named(inputs))
    return tuple(sorted({*nodes, *(name for name, _ in _records(inputs))}))


def _records(inputs: Inputs) -> Iterator[tuple[str, IPAddress]]:
    domain = inputs.options.cluster_domain
    return ((name, address) for name, address in inputs.options.records if not is_of_the_api(name, domain))


def _named(inputs: Inputs) -> Iterator[ClusterNode]:
    """Yield the nodes that dnsmasq names."""
    domain = inputs.options.cluster_domain
    for node in inputs.nodes if inputs.spec.nodes_resolution else ():
        if _label(node.name, domain) not in RESERVED:
            yield node


def _lines(inputs: Inputs) -> Iterator[str]:
    domain = inputs.options.cluster_domain
    yield from ("port=53", "bind-dynamic", "listen-address=127.0.0.1")
    # In one order, whichever family is the primary one: dnsmasq is restarted where the text differs.
    addresses = sorted(inputs.here.addresses, key=lambda address: address.version)
    yield from (f"listen-address={address}" for address in addresses)
    yield from ("no-resolv", "no-poll", "no-hosts", f"addn-hosts={HOSTS}", f"enable-dbus={BUS_NAME}")
    yield from ("domain-needed", "dns-loop-detect", "cache-size=10000", "edns-packet-max=1232")
    # The first server may know names that the others deny. All pods of the node share the queries under way.
    yield from ("strict-order", f"dns-forward-max={MOST_QUERIES}")
    if inputs.spec.api_int:
        yield f"local=/{inputs.options.api_int_name}/"
    yield f"local=/api.{domain}/"
    if inputs.spec.apps_resolution:
        yield from (_wildcard(domain, vip) for vip in inputs.options.ingress_vips)
        yield f"local=/apps.{domain}/"


def _wildcard(domain: str, vip: IPAddress) -> str:
    return f"address=/apps.{domain}/{vip}"


def _label(name: str, domain: str) -> str:
    """Return the last label of a name below the cluster's domain: ``apps`` for ``x.apps.cluster.example.com``."""
    return name.removesuffix(f".{domain}").rpartition(".")[2]


def _host(name: str, domain: str) -> str:
    """Return the full name of a node and, if that is in the cluster's domain, its short one."""
    if name.endswith(f".{domain}"):
        return f"{name} {name.removesuffix(f'.{domain}')}"
    return name if "." in name else f"{name}.{domain} {name}"
