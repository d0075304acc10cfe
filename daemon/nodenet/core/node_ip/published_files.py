"""Which files about the node IPs do kubelet, CRI-O, keepalived and scripts read, and what do the files contain now?

Every published file is made from one value, ``Publication``. The same publication gives the same bytes, so that a
second run writes nothing. What is published is read back from the files themselves: they are what other programs use,
whichever program wrote them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import PurePosixPath

from nodenet.core.ip import IPAddress
from nodenet.core.node_ip.environment import drop_in_variables
from nodenet.core.value import frozen

RUN = PurePosixPath("/run/nodeip-configuration")
PRIMARY, IPV4, IPV6 = RUN / "primary-ip", RUN / "ipv4", RUN / "ipv6"
REMOTE_WORKER = RUN / "remote-worker"
KUBELET, CRIO = "kubelet.service", "crio.service"
KUBELET_DROP_IN = PurePosixPath(f"/etc/systemd/system/{KUBELET}.d/20-nodenet.conf")
CRIO_DROP_IN = PurePosixPath(f"/etc/systemd/system/{CRIO}.d/20-nodenet.conf")
BRIDGE_UP = RUN / "br-ex-up"
"""Exists, empty, once br-ex does; units of on-premises platforms wait for it."""
NAMES_NODE_IPS = (PRIMARY, IPV4, IPV6, KUBELET_DROP_IN, CRIO_DROP_IN)
"""The files that name node IPs."""
REMOTE_WORKER_LABEL = "node.openshift.io/remote-worker"


@frozen
class Publication:
    """The node IPs, primary first (never empty), and whether this node is away from the VIPs."""

    node_ips: tuple[IPv4Address | IPv6Address, ...]
    remote_worker: bool = False


@frozen
class PublishedFile:
    """A file that other programs read; *content* None: it must not exist. *unit*: it is a drop-in of that unit."""

    path: PurePosixPath
    content: bytes | None
    unit: str | None = None


@lru_cache(maxsize=4)
def files(publication: Publication) -> tuple[PublishedFile, ...]:
    """Return every published file, in the order of writing: `primary-ip` is last, because scripts wait for it."""
    families = {4: None, 6: None} | {address.version: str(address) for address in publication.node_ips[::-1]}
    flag = b"node ip doesn't match any vip, don't run keepalived" if publication.remote_worker else None
    return (
        PublishedFile(KUBELET_DROP_IN, _kubelet(publication), KUBELET),
        PublishedFile(CRIO_DROP_IN, _crio(publication), CRIO),
        PublishedFile(REMOTE_WORKER, flag),
        PublishedFile(IPV4, _bytes(families[4])),
        PublishedFile(IPV6, _bytes(families[6])),
        PublishedFile(PRIMARY, _bytes(str(publication.node_ips[0]))),
    )


def node_ips(contents: Mapping[PurePosixPath, bytes | None]) -> tuple[tuple[IPAddress, ...], bool]:
    """Return the node IPs that *contents* of published files name, primary first, and whether this boot has them.

    `primary-ip` is in /run, which is empty after a boot, and the last file that is written: it decides. Without it the
    drop-ins of an earlier boot are left. A file that names no addresses is as one that is missing.
    """
    kubelet = drop_in_variables(contents.get(KUBELET_DROP_IN) or b"")
    crio = drop_in_variables(contents.get(CRIO_DROP_IN) or b"")
    several = kubelet.get("KUBELET_NODE_IPS") or kubelet.get("KUBELET_NODE_IP") or crio.get("CONTAINER_STREAM_ADDRESS")
    dropped_in = _addresses((several or "").split(","))
    primary = _addresses([_text(contents.get(PRIMARY))])
    if not primary:
        return dropped_in, False
    if dropped_in[:1] == primary:
        return dropped_in, True
    others = _addresses(_text(contents.get(path)) for path in (IPV4, IPV6))
    return primary + tuple(other for other in others if other.version != primary[0].version), True


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", errors="replace")


def _addresses(texts: Iterable[str]) -> tuple[IPAddress, ...]:
    try:
        return tuple(ip_address(text.strip()) for text in texts if text.strip())
    except ValueError:
        return ()


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
