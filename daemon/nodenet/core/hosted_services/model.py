"""Which values describe a cluster's hosted services: the spec, the nodes, this node, and the duties of each?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from nodenet.core.hosted_services.migration import Migration
from nodenet.core.ip import Family, IPAddress, IPNetwork, family_of
from nodenet.core.settings.model import Enabled
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
    ca_file: str = "/run/nodenet/hosted/ca.crt"
    """Where nodenet-hosted keeps the CA of the API servers for every program that verifies them."""

    ingress_health: str = "http://127.0.0.1:1936/healthz/ready"

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
    which another one replaces for ``api-int`` (``fallback``).
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
