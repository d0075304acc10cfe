"""Which values describe a cluster's hosted services: the spec, the nodes, this node, and the duties of each?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from ipaddress import ip_address, ip_network
from pathlib import PurePosixPath

from nodenet.core.hosted_services.migration import Migration
from nodenet.core.ip import Family, IPAddress, IPNetwork, family_of
from nodenet.core.kernel.snapshot import Address, Snapshot
from nodenet.core.settings.model import Enabled, RoleSetting, Settings
from nodenet.core.value import frozen

ON_PREMISES = frozenset({"baremetal", "openstack", "vsphere", "nutanix", "ovirt"})
"""Platforms on which a cluster brings its own DNS and VIPs (``platform`` in the settings)."""


class Role(StrEnum):
    """What a node is in its cluster."""

    CONTROL_PLANE = "control-plane"
    WORKER = "worker"


class Mode(StrEnum):
    """Where the API's clients on the nodes are sent."""

    SELF_HOSTED = "self-hosted"
    EXTERNAL = "external"
    DISABLED = "disabled"


class Origin(StrEnum):
    """Where a spec or a list of nodes was read, in the order of precedence."""

    LIVE = "cr"
    CACHE = "cache"
    FILE = "file"
    DEFAULT = "default"


class Service(StrEnum):
    """A program, or a rule of the kernel, that nodenet runs for the cluster on this node."""

    DNSMASQ = "dnsmasq"
    KEEPALIVED = "keepalived"
    HAPROXY = "haproxy"
    REDIRECT = "redirect"


class Purpose(StrEnum):
    """What a VIP is for."""

    API = "api"
    INGRESS = "ingress"


@frozen
class Spec:
    """What the resource HostedNetServices asks for; the defaults are those of a cluster without the resource."""

    nodes_resolution: bool = True
    apps_resolution: bool = True
    api_int: bool = True
    ingress_ha: bool = True
    api_int_addresses: tuple[IPAddress, ...] = ()
    """One address a family at most; empty: the API VIPs."""
    migration: Migration | None = None
    """How far nodenet-operator is with these addresses; without an operator, nodes take them at once."""

    @property
    def effective_addresses(self) -> tuple[IPAddress, ...]:
        """The addresses that ``api-int`` has now, none for the API VIPs."""
        return self.migration.addresses if self.migration else self.api_int_addresses

    @property
    def switched_off(self) -> tuple[str, ...]:
        """The fields of the resource that are Disabled."""
        switches = {
            "spec.dns.nodesResolution": self.nodes_resolution,
            "spec.dns.appsResolution": self.apps_resolution,
            "spec.dns.apiInt": self.api_int,
            "spec.ingressHa": self.ingress_ha,
        }
        return tuple(field for field, on in switches.items() if not on)


@frozen
class ClusterNode:
    """A node as the cluster lists it."""

    name: str
    addresses: tuple[IPAddress, ...]
    role: Role


@frozen
class Place:
    """A node IP of this node, the link that carries it now, and its prefix."""

    address: IPAddress
    link: str
    network: IPNetwork


@frozen
class Here:
    """This node: its name in the cluster, and the place of its node IP in each family that it has."""

    name: str
    places: Mapping[Family, Place] = field(default_factory=dict)
    remote_worker: bool = False

    @property
    def addresses(self) -> tuple[IPAddress, ...]:
        """Its node IPs."""
        return tuple(place.address for place in self.places.values())


@frozen
class Options:
    """The settings that hosted services read, from ``[hosted]`` and the cluster's own keys."""

    platform: str = "none"
    cluster_domain: str = ""
    """``cluster.example.com``: the first label is the cluster's name."""
    api_vips: tuple[IPAddress, ...] = ()
    ingress_vips: tuple[IPAddress, ...] = ()
    user_managed_lb: bool = False
    enabled: Enabled = Enabled.AUTO
    role: Role | None = None
    """An explicit role; None: the role that the cluster lists for this node."""
    advert_interval: float = 0.25
    """Seconds between two VRRP advertisements; below one second: VRRPv3 (RFC 5798, 7.3)."""
    drain_seconds: int = 120
    api_port: int = 6443
    lb_port: int = 9445
    worker_balancer: bool = False
    ca_file: str = "/run/nodenet/hosted/ca.crt"
    """Where nodenet-hosted keeps the CA of the API servers for every program that verifies them."""

    ingress_health: str = "http://127.0.0.1:1936/healthz/ready"
    records: tuple[tuple[str, IPAddress], ...] = ()
    upstreams: tuple[tuple[str, IPAddress], ...] = ()
    """Names that this node answers, and domains with the server that is asked for them."""

    @property
    def api_int_name(self) -> str:
        """The name ``api-int`` with the cluster's domain; a certificate of the API has it."""
        return f"api-int.{self.cluster_domain}"

    def vips(self, purpose: Purpose) -> tuple[IPAddress, ...]:
        """Return the VIPs of one purpose."""
        return self.api_vips if purpose is Purpose.API else self.ingress_vips


@frozen
class Inputs:
    """Everything that a plan is made of.

    *nodes* is empty while no list of nodes was ever read. *dead*: the addresses at which the API does not answer, and
    which another one replaces for ``api-int`` (``Trial``).
    """

    options: Options
    here: Here
    spec: Spec = Spec()
    spec_origin: Origin = Origin.DEFAULT
    nodes: tuple[ClusterNode, ...] = ()
    nodes_origin: Origin = Origin.DEFAULT
    dead: frozenset[IPAddress] = frozenset()
    authority: str = ""
    """A digest of the CA: haproxy reads the CA when it is reloaded, and its text differs with the CA."""


def of_family(addresses: tuple[IPAddress, ...], family: Family) -> IPAddress | None:
    """Return the address of *family* among *addresses*, None when there is none."""
    return next((address for address in addresses if family_of(address) is family), None)


# Which settings do hosted services have?


def options_of(settings: Settings) -> Options:
    """Return the options that *settings* mean."""
    hosted = settings.hosted
    return Options(
        platform=settings.platform,
        cluster_domain=settings.cluster_domain,
        api_vips=settings.api_vips,
        ingress_vips=settings.ingress_vips,
        user_managed_lb=settings.user_managed_lb,
        enabled=hosted.enabled,
        role=None if hosted.role is RoleSetting.AUTO else Role(hosted.role),
        advert_interval=hosted.advert_interval,
        drain_seconds=hosted.drain_seconds,
        api_port=hosted.api_port,
        lb_port=hosted.lb_port,
        worker_balancer=hosted.worker_balancer,
        ingress_health=hosted.ingress_health,
        records=_pairs(hosted.records),
        upstreams=_pairs(hosted.upstreams),
    )


def _pairs(lines: Iterable[str]) -> tuple[tuple[str, IPAddress], ...]:
    return tuple((name, ip_address(address)) for name, address in map(str.split, lines))


# Where is this node on the network: the links that carry its node IPs now, and their subnets?


def here(name: str, node_ips: Iterable[IPAddress], snapshot: Snapshot, *, remote_worker: bool = False) -> Here:
    """Return this node as *snapshot* shows it; a node IP that no link carries at this moment is left out."""
    places = {}
    for node_ip in node_ips:
        found = _carrier(node_ip, snapshot)
        if found is not None and family_of(node_ip) not in places:
            places[family_of(node_ip)] = Place(node_ip, found.link, _subnet(found, snapshot))
    return Here(name, places, remote_worker)


def expected(name: str, addresses: Iterable[IPAddress]) -> Here:
    """Return this node with *addresses* that no link has yet: a place has no link then."""
    places: dict[Family, Place] = {}
    for address in addresses:
        places.setdefault(family_of(address), Place(address, "", ip_network(address)))
    return Here(name, places)


def likely(vips: Collection[IPAddress], snapshot: Snapshot) -> tuple[IPAddress, ...]:
    """Return what is mostly selected as node IPs: in each family of *vips* an address in the subnet of one.

    None while *snapshot* has no such address in one of the families: it may still come.
    """
    found: dict[Family, IPAddress] = {}
    for one in snapshot.addresses:
        if one.address not in vips and any(one.shares_prefix(vip) for vip in vips):
            found.setdefault(one.family, one.address)
    return tuple(found.values()) if found.keys() == set(map(family_of, vips)) else ()


def _carrier(node_ip: IPAddress, snapshot: Snapshot) -> Address | None:
    """Return the address on its link; while it moves to a bridge, that of the bridge."""
    enslaved = {link.name for link in snapshot.links if link.master is not None}
    found = [address for address in snapshot.addresses if address.address == node_ip]
    return next((address for address in found if address.link not in enslaved), next(iter(found), None))


def _subnet(address: Address, snapshot: Snapshot) -> IPNetwork:
    """Return its subnet; that of a /128 is the longest prefix which a router advertises on its link."""
    if address.prefix_length == 128:
        advertised = [
            route.destination
            for route in snapshot.routes
            if route.protocol == "ra"
            and not route.is_default
            and address.address in route.destination
            and any(hop.link == address.link for hop in route.next_hops)
        ]
        if advertised:
            return max(advertised, key=lambda network: network.prefixlen)
    return ip_network(f"{address.address}/{address.prefix_length}", strict=False)


# Which files and which units do hosted services have on a node?
#
# nodenetd writes dnsmasq's files, nodenet-hosted all others; both make them from the same plan.

RUN = PurePosixPath("/run/nodenet/hosted")
HOSTS = RUN / "hosts"
"""The names that dnsmasq answers from disk (hosts(5))."""
TEXTS: Mapping[Service, PurePosixPath] = {
    Service.DNSMASQ: RUN / "dnsmasq.conf",
    Service.KEEPALIVED: RUN / "keepalived.conf",
    Service.HAPROXY: RUN / "haproxy.cfg",
    Service.REDIRECT: RUN / "redirect.nft",
}
OWED_RELOADS: Mapping[Service, PurePosixPath] = {
    Service.KEEPALIVED: RUN / "keepalived.reload",
    Service.HAPROXY: RUN / "haproxy.reload",
}
"""Each exists while the service runs with an older configuration than that on the disk."""
OWED_RESTART = RUN / "dnsmasq.restart"
"""Exists while dnsmasq runs with an older configuration than that on the disk."""
SERVER_STATES = RUN / "haproxy.servers"
"""Which API servers a haproxy that is reloaded takes for dead until they are checked (``render_states``)."""
RELEASE = RUN / "release.ip"
"""Takes this node's VIPs off its links, as a batch of ip(8): nodenet-keepalived.service runs it whenever it ends."""
GUARD = RUN / "vrrp.nft"
"""Drops VRRP of strangers (``guard_rules``): nodenet-keepalived.service takes it up whenever it starts."""
AUTHORITY = RUN / "ca.crt"
"""The CA by which API servers are verified, from the settings or the kubeconfig."""
UNITS: Mapping[Service, str] = {
    Service.DNSMASQ: "nodenet-dnsmasq.service",
    Service.KEEPALIVED: "nodenet-keepalived.service",
    Service.HAPROXY: "nodenet-haproxy.service",
}
API_INT = RUN / "api-int.json"
"""Where ``api-int`` leads in this boot while an external load balancer is asked for (``Trial``)."""
KEEPALIVED_USER = "nodenet-keepalived"
"""Whose sockets speak VRRP for nodenet; those of every other user are another stack's."""
STARTED = RUN / "started"
"""Exists once nodenetd has started nodenet-hosted in this boot; holds a checksum of the settings that it had then."""
COMPANION = "nodenet-hosted.service"
COMPANION_NAME = "org.nodenet1.Hosted"

CACHE = PurePosixPath("/var/lib/nodenet/hosted")
RESOURCE = PurePosixPath("/etc/nodenet/hostednetservices.yaml")
"""The resource as a file, for a cluster whose API was never reached."""
