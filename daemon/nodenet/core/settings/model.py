"""Which settings exist, and which values do they have? Every key is optional."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import MappingProxyType
from typing import Any, Literal

from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

# Which settings do hosted services and the cluster's API have: the tables ``[hosted]`` and ``[kubernetes]``?


class Enabled(StrEnum):
    """``[hosted] enabled``: *auto* is on for on-premises platforms with an API VIP.

    *no* is the default: an upgrade of nodenet starts no DNS server and no VRRP where another program has these duties.
    """

    AUTO = "auto"
    YES = "yes"
    NO = "no"


class HostedMode(StrEnum):
    """``[hosted] mode``: nodenet runs the services as systemd units, or only writes their configurations."""

    SYSTEMD = "systemd"
    RENDER = "render"


class RoleSetting(StrEnum):
    """``[hosted] role``: the role that the cluster lists for this node, or an explicit one, which wins."""

    AUTO = "auto"
    CONTROL_PLANE = "control-plane"
    WORKER = "worker"


class ClusterDnsTrust(StrEnum):
    """``[hosted] cluster_dns``: whose CoreDNS is asked for names of the cluster.

    A service of systemd; or root in any control group, as in a static pod: then root of each container in the host's
    network may answer these names.
    """

    SERVICE = "service"
    ROOT = "root"


@frozen
class HostedSettings:
    """The table ``[hosted]``."""

    enabled: Enabled = Enabled.NO
    mode: HostedMode = HostedMode.SYSTEMD
    role: RoleSetting = RoleSetting.AUTO
    drain_seconds: int = 120
    """How long connections may last that a load balancer has when it is stopped."""
    advert_interval: float = 0.25
    """Seconds between two VRRP advertisements; below one second: VRRPv3 (RFC 5798). The former stack has 1."""
    api_port: int = 6443
    lb_port: int = 9445
    worker_balancer: bool = False
    """Whether each worker balances the API for its own programs."""
    ca_file: str = ""
    """The CA by which API servers are verified; empty: that of the kubeconfig."""

    cluster_dns: ClusterDnsTrust = ClusterDnsTrust.SERVICE
    records: tuple[str, ...] = ()
    """Further names that DNS of this node answers, each ``NAME ADDRESS``."""
    upstreams: tuple[str, ...] = ()
    """Who is asked for a domain and what is below it, each ``DOMAIN ADDRESS``."""
    ingress_health: str = "http://127.0.0.1:1936/healthz/ready"
    """Where the ingress controller of this node says that it serves; the default is that of OpenShift's router."""

    @property
    def contradiction(self) -> str | None:
        """Which keys cannot both be as they are, None where all can."""
        if self.lb_port == self.api_port:
            return f"hosted.lb_port and hosted.api_port are both {self.lb_port}: the API server needs its port itself"
        return "hosted.lb_port is 53, the port of DNS" if self.lb_port == 53 else None


@frozen
class KubernetesSettings:
    """The table ``[kubernetes]``."""

    kubeconfig: str = ""
    """Credentials of the API; empty: the first usual file of a kubelet that exists."""
    node_name: str = ""
    """This node's name in the cluster; empty: its host name."""


# What can be set about persistent IPs: the table ``[ipam]``?


class NotAllowed(StrEnum):
    """``[ipam] claim_not_allowed``: what a pod gets that references a claim on a network without allowPersistentIPs.

    *ignore*: an address that is released with the pod, as if there were no reference.
    """

    ERROR = "error"
    IGNORE = "ignore"


@frozen
class IpamSettings:
    """The table ``[ipam]``."""

    kubeconfig: str = ""
    """Credentials of the API for claims; empty: those of ``[kubernetes]``."""
    cni_bin_dirs: tuple[str, ...] = ("/opt/cni/bin", "/var/lib/cni/bin")
    """Directories that get a copy of the CNI plugin, where they exist."""
    lease_namespace: str = "nodenet-ipam"
    """The namespace of the Leases that make an address unique in the cluster; the same on every node."""
    claim_not_allowed: NotAllowed = NotAllowed.ERROR


# Which settings does nodenetd have in all?

DEFAULT = "default"
"""The origin of a value that no file sets."""
STAGES = tuple(name.value for name in StageName)
"""The stages that have a provider."""
TABLES = {"hosted": HostedSettings, "kubernetes": KubernetesSettings, "ipam": IpamSettings}
"""The tables whose keys are the fields of a class."""


class OnFailure(StrEnum):
    """How the boot continues when the configured network cannot be applied."""

    AUTO = "auto"
    DEGRADE = "degrade"
    WAIT = "wait"


class Datapath(StrEnum):
    """Who forwards the packets of br-ex: the kernel's module or Open vSwitch itself."""

    SYSTEM = "system"
    NETDEV = "netdev"


class ResolverMode(StrEnum):
    """When the node IP becomes the first nameserver: once something answers DNS there, or at once."""

    AUTO = "auto"
    ALWAYS = "always"


@frozen
class ProbeTarget:
    """An address that must answer after an apply: by ping, by TCP where a *port* is given, by HTTPS with a *path*.

    *ca_file*: the CA that must have signed the certificate of an HTTPS server.
    """

    address: IPv4Address | IPv6Address
    port: int | None = None
    path: str = ""
    ca_file: str = ""

    def __str__(self) -> str:
        """As it is written in the settings."""
        if self.port is None:
            return str(self.address)
        host = f"[{self.address}]" if self.address.version == 6 else str(self.address)
        return f"{'https' if self.path else 'tcp'}://{host}:{self.port}{self.path}"


@frozen
class Written:
    """A text that is parsed later, and the file in which it must be corrected."""

    text: str = ""
    file: str = field(default=DEFAULT, compare=False)

    def __str__(self) -> str:
        """As it is written in the settings."""
        return self.text


Addresses = tuple[IPv4Address | IPv6Address, ...]
Families = Literal["auto"] | tuple[Literal["ipv4", "ipv6"], ...]


@frozen
class Settings:
    """All settings; the defaults are those of a node without a settings file."""

    platform: str = "none"
    network_type: str = ""
    """The cluster's network plugin. Empty: not set, and configure-ovs is skipped."""
    families: Families = "auto"
    """In order of preference; all that are named are waited for."""
    api_vips: Addresses = ()
    ingress_vips: Addresses = ()
    user_managed_lb: bool = False
    cluster_domain: str = ""
    resolver: ResolverMode = ResolverMode.AUTO
    dhcpv6_hostname: bool = False
    """Whether a host name from a DHCPv6 server counts: any host of the LAN can answer."""
    node_file_dir: str = "/etc/nmstate/openshift"
    on_failure: OnFailure = OnFailure.AUTO
    node_ip_wait: int = 0
    """Seconds for which a boot waits for the last node IP while its NIC exists; 0: without a limit."""
    apply_timeout: int = 240
    """Seconds one apply may take before its process is killed and the network is rolled back."""
    probe_targets: tuple[ProbeTarget, ...] = ()
    probe_timeout: int = 15
    """Seconds in which what answered before an apply must answer after it; 0: there are no probes."""
    good_after: int = 60
    """Seconds of READY after which a node file is the last known good one, and a boot with it is no lost one."""
    quarantine_after: int = 2
    """Lost boots in a row with a new node file after which the last known good one is used; 0: never."""
    changes_degrade: bool = False
    """Whether the node is degraded while another program has changed the network of the node file; else a note."""
    prune: bool = False
    """Whether each apply removes what earlier node files made and the present one does not name."""
    deny_links: tuple[str, ...] = ()
    """Globs of link names, beside the built-in ones."""
    ovn_masquerade_subnets: tuple[IPv4Network | IPv6Network, ...] = ()
    """OVN-Kubernetes' own subnets of this cluster, beside ``fd69::/112``: their addresses are never node IPs."""
    route_tables: tuple[str, ...] = ("main",)
    """Tables whose default routes make a link eligible for the node IP, by name or number."""
    hint: Written = Written()
    hint_required: bool = False
    metrics_dir: str = ""
    """Where the metrics are written beside ``/run/nodenet``; empty: nowhere."""
    bridge_datapath: Datapath = Datapath.SYSTEM
    hosted: HostedSettings = field(default_factory=HostedSettings)
    kubernetes: KubernetesSettings = field(default_factory=KubernetesSettings)
    ipam: IpamSettings = field(default_factory=IpamSettings)
    stages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict.fromkeys(STAGES, "builtin")))
    """Stage → provider: ``builtin``, ``unit:NAME`` or ``skip``."""

    @property
    def vips(self) -> Addresses:
        """All VIPs of the cluster."""
        return (*self.api_vips, *self.ingress_vips)


@frozen
class SettingsResult:
    """The settings and, for every dotted key, the file that set it (or ``default``)."""

    settings: Settings
    origins: Mapping[str, str]


def _names(table: Any) -> list[str]:  # noqa: ANN401 - a value or its class
    return [each.name for each in fields(table)]


def values(settings: Settings) -> dict[str, Any]:
    """Return every setting under its dotted key, in TOML's types."""
    tables = ("stages", "bridge_datapath", *TABLES)
    flat = {name: getattr(settings, name) for name in _names(Settings) if name not in tables}
    flat["bridge.datapath"] = settings.bridge_datapath
    for table in TABLES:
        values = getattr(settings, table)
        flat |= {f"{table}.{name}": getattr(values, name) for name in _names(values)}
    flat |= {f"stages.{stage}": provider for stage, provider in settings.stages.items()}
    return {key: _plain(value) for key, value in flat.items()}


def _plain(value: object) -> object:
    match value:
        case tuple():
            return [_plain(item) for item in value]
        case bool() | int() | float():
            return value
        case _:
            return str(value)
