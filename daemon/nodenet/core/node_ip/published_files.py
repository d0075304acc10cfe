"""What should the world see of the node IPs, and what must change for it?

One value, ``Publication``, is the truth; the files that kubelet, CRI-O, keepalived and shell scripts read
are projections of it. The same publication gives the same bytes, so a second run writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePosixPath

RUN = PurePosixPath("/run/nodeip-configuration")
PRIMARY = RUN / "primary-ip"
REMOTE_WORKER = RUN / "remote-worker"
KUBELET, CRIO = "kubelet.service", "crio.service"
KUBELET_DROP_IN = PurePosixPath(f"/etc/systemd/system/{KUBELET}.d/20-nodenet.conf")
CRIO_DROP_IN = PurePosixPath(f"/etc/systemd/system/{CRIO}.d/20-nodenet.conf")
BRIDGE_UP = RUN / "br-ex-up"
"""Stands, empty, once br-ex does; units of on-premises platforms wait for it."""
REMOTE_WORKER_LABEL = "node.openshift.io/remote-worker"


@dataclass(frozen=True, slots=True)
class Publication:
    """The node IPs, primary first (never empty), and whether this node is away from the VIPs."""

    node_ips: tuple[IPv4Address | IPv6Address, ...]
    remote_worker: bool = False


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file others read; *content* None: the file must not exist. *unit*: systemd reads it."""

    path: PurePosixPath
    content: bytes | None
    unit: bool = False


def files(publication: Publication) -> tuple[PublishedFile, ...]:
    """Return every published file, in the order it is written: `primary-ip` last, scripts wait for it."""
    families = {4: None, 6: None} | {address.version: str(address) for address in publication.node_ips[::-1]}
    flag = b"node ip doesn't match any vip, don't run keepalived" if publication.remote_worker else None
    return (
        PublishedFile(KUBELET_DROP_IN, _kubelet(publication), unit=True),
        PublishedFile(CRIO_DROP_IN, _crio(publication), unit=True),
        PublishedFile(REMOTE_WORKER, flag),
        PublishedFile(RUN / "ipv4", _bytes(families[4])),
        PublishedFile(RUN / "ipv6", _bytes(families[6])),
        PublishedFile(PRIMARY, _bytes(str(publication.node_ips[0]))),
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _kubelet(publication: Publication) -> bytes:
    addresses = ",".join(map(str, publication.node_ips))
    lines = [
        "[Service]",
        f'Environment="KUBELET_NODE_IP={publication.node_ips[0]}" "KUBELET_NODE_IPS={addresses}"',
    ]
    if publication.remote_worker:
        lines.append(f'Environment="CUSTOM_KUBELET_LABELS={REMOTE_WORKER_LABEL}"')
    return "\n".join(lines).encode() + b"\n"


def _crio(publication: Publication) -> bytes:
    return f'[Service]\nEnvironment="CONTAINER_STREAM_ADDRESS={publication.node_ips[0]}"\n'.encode()
