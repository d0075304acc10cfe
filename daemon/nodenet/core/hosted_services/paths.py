"""Which files and which units do hosted services have on a node?

nodenetd writes dnsmasq's files, nodenet-hosted all others; both make them from the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from nodenet.core.hosted_services.model import Service

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
CACHED_RESOURCE = CACHE / "cr.json"
CACHED_NODES = CACHE / "nodes.json"
RESOURCE = PurePosixPath("/etc/nodenet/hostednetservices.yaml")
"""The resource as a file, for a cluster whose API was never reached."""
