"""Which settings do hosted services and the cluster's API have: the tables ``[hosted]`` and ``[kubernetes]``?"""

from __future__ import annotations

from enum import StrEnum

from nodenet.core.value import frozen


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
    ca_file: str = ""
    """The CA by which API servers are verified; empty: that of the kubeconfig."""

    cluster_dns: ClusterDnsTrust = ClusterDnsTrust.SERVICE
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
