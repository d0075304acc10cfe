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
from nodenet.core.node_ip.kubelets import FLAG, KUBELET, RANCHER, UNITS, Wiring
from nodenet.core.value import frozen

RUN = PurePosixPath("/run/nodeip-configuration")
PRIMARY, IPV4, IPV6 = RUN / "primary-ip", RUN / "ipv4", RUN / "ipv6"
REMOTE_WORKER = RUN / "remote-worker"
CRIO = "crio.service"
USERS = (*UNITS, CRIO)
"""The units that run with the node IPs."""


def drop_in_of(unit: str) -> PurePosixPath:
    """Return the drop-in that gives *unit* the node IP."""
    return PurePosixPath(f"/etc/systemd/system/{unit}.d/20-nodenet.conf")


def rancher_file(directory: str) -> PurePosixPath:
    """Return the file of k3s or RKE2; of files that set one key, the last in the order of their names counts."""
    return PurePosixPath(f"/etc/rancher/{directory}/config.yaml.d/90-nodenet.yaml")


KUBELET_DROP_IN, CRIO_DROP_IN = drop_in_of(KUBELET), drop_in_of(CRIO)
BRIDGE_UP = RUN / "br-ex-up"
"""Exists, empty, once br-ex does; units of on-premises platforms wait for it."""
NAMES_NODE_IPS = (PRIMARY, IPV4, IPV6, KUBELET_DROP_IN, CRIO_DROP_IN)
"""The files that name node IPs."""
REMOTE_WORKER_LABEL = "node.openshift.io/remote-worker"


@frozen
class Publication:
    """The node IPs, primary first (never empty), whether this node is away from the VIPs, and what its units need."""

    node_ips: tuple[IPv4Address | IPv6Address, ...]
    remote_worker: bool = False
    wiring: Wiring = Wiring()


@frozen
class PublishedFile:
    """A file that other programs read; *content* None: it must not exist. *unit* starts only with this file."""

    path: PurePosixPath
    content: bytes | None
    unit: str | None = None

    @property
    def drop_in(self) -> bool:
        """Whether systemd reads it, as a drop-in of *unit*."""
        return self.path.suffix == ".conf"


@lru_cache(maxsize=4)
def files(publication: Publication) -> tuple[PublishedFile, ...]:
    """Return every published file, in the order of writing: `primary-ip` is last, because scripts wait for it."""
    families = {4: None, 6: None} | {address.version: str(address) for address in publication.node_ips[::-1]}
    flag = b"node ip doesn't match any vip, don't run keepalived" if publication.remote_worker else None
    return (
        PublishedFile(KUBELET_DROP_IN, _kubelet(publication), KUBELET),
        PublishedFile(CRIO_DROP_IN, _crio(publication), CRIO),
        *_rancher(publication),
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
    lines = [_variables(publication)]
    if publication.remote_worker:
        lines.append(f'Environment="CUSTOM_KUBELET_LABELS={REMOTE_WORKER_LABEL}"\n')
    if publication.wiring.variable:
        name, value = publication.wiring.variable
        lines.append(f'Environment="{name}={f"{value} {FLAG}={_listed(publication)}".strip()}"\n')
    return "".join(lines).encode()


def without_arguments(drop_in: bytes) -> bytes:
    """Return a *drop_in* of kubelet without the arguments that its unit needed."""
    return b"".join(line for line in drop_in.splitlines(keepends=True) if FLAG.encode() not in line)


def _rancher(publication: Publication) -> Iterable[PublishedFile]:
    """Yield the files of k3s and RKE2. The variables only say with which node IPs a running one was started."""
    for unit, reads in publication.wiring.rancher:
        content = f'node-ip: "{_listed(publication)}"\n'.encode() if reads else None
        yield PublishedFile(rancher_file(RANCHER[unit]), content, unit)
        yield PublishedFile(drop_in_of(unit), _variables(publication).encode(), unit)


def _listed(publication: Publication) -> str:
    return ",".join(map(str, publication.node_ips))


def _variables(publication: Publication) -> str:
    first, every = publication.node_ips[0], _listed(publication)
    return f'[Service]\nEnvironment="KUBELET_NODE_IP={first}" "KUBELET_NODE_IPS={every}"\n'


def _crio(publication: Publication) -> bytes:
    return f'[Service]\nEnvironment="CONTAINER_STREAM_ADDRESS={publication.node_ips[0]}"\n'.encode()
