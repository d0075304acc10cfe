"""Which files publish the node IPs, and with which environment do units and processes run?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import PurePosixPath

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

# Which variables do an environment file and a drop-in of systemd set?


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number of its first line, line) without comments and empty lines, continuations joined."""
    pending, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not pending and (not line or line[0] in "#;"):
            continue
        start = start if pending else number
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        yield start, pending
        pending = ""
    if pending:
        yield start, pending


def unquoted(value: str) -> str:
    """Return a value without its quotes. Raises ValueError when they are not closed."""
    quote = value[:1]
    if quote not in ("'", '"'):
        return value
    end = value.find(quote, 1)
    if end < 0:
        raise ValueError(f"the quote {quote} is not closed")
    return value[1:end]


def file_variables(content: bytes) -> dict[str, str]:
    """Return what an environment file sets; a line that cannot be understood sets nothing, as in systemd."""
    found: dict[str, str] = {}
    for _, line in logical_lines(content.decode("utf-8", errors="replace")):
        name, equals, value = line.partition("=")
        try:
            found |= {name.strip(): unquoted(value.strip())} if equals else {}
        except ValueError:
            continue
    return found


def drop_in_variables(content: bytes) -> dict[str, str]:
    """Return what the Environment= lines of a drop-in set; an empty one forgets those before it."""
    return dict(word.split("=", 1) for word in _words(content, "Environment") if "=" in word)


def drop_in_removals(content: bytes) -> tuple[str, ...]:
    """Return what the UnsetEnvironment= lines of a drop-in name: variables, or variables with the value they lose."""
    return _words(content, "UnsetEnvironment")


def is_removed(name: str, value: str, removals: Collection[str]) -> bool:
    """Return whether *removals* of UnsetEnvironment= take this variable away from the unit (systemd.exec(5))."""
    return name in removals or f"{name}={value}" in removals


@lru_cache(maxsize=32)
def _words(content: bytes, wanted: str) -> tuple[str, ...]:
    """Return the words that the lines of one key list; an empty line forgets those before it."""
    found: list[str] = []
    for _, line in logical_lines(content.decode("utf-8", errors="replace")):
        key, equals, value = line.partition("=")
        if key.strip() != wanted or not equals:
            continue
        try:
            words = shlex.split(value)
        except ValueError:
            continue
        found = [*found, *words] if words else []
    return tuple(found)


# How does the kubelet of this node learn its node IP, and which one does a running kubelet have?
#
# kubelet takes it only from `--node-ip` on its command line. OpenShift's unit passes KUBELET_NODE_IP. kubeadm's unit
# passes variables such as KUBELET_KUBECONFIG_ARGS (10-kubeadm.conf) and KUBELET_EXTRA_ARGS, the administrator's. k3s
# and RKE2 read files (config.yaml.d) and pass what they read. Units are judged by their ExecStart=, not by a name.

KUBELET = "kubelet.service"
MICROK8S = "snap.microk8s.daemon-kubelite.service"
RANCHER = {
    **{f"k3s{suffix}.service": "k3s" for suffix in ("", "-agent")},
    **{f"rke2-{role}.service": "rke2" for role in ("server", "agent")},
}
"""Units that run a kubelet inside, and the directory of each below /etc/rancher."""
UNITS = (KUBELET, *RANCHER, MICROK8S)
PROGRAMS = ("kubelet", "kubelite")
"""Programs that take the options of a kubelet on their command line; k3s does not: it contains a kubelet."""
FLAG = "--node-ip"


@frozen
class Wiring:
    """What the units of this node need, besides variables, to start kubelet with the node IP.

    *variable*: one that kubelet.service passes to kubelet as arguments, and its value; None: it needs none, or has
    none that no environment file sets. *rancher*: the units of k3s and RKE2, and whether each has to read the node IP
    from a file: one with `--node-ip` in its own command would get both.
    """

    variable: tuple[str, str] | None = None
    rancher: tuple[tuple[str, bool], ...] = ()


def has_node_ip(words: Sequence[str]) -> bool:
    """Return whether the command *words* names a node IP."""
    return any(word == FLAG or word.startswith(f"{FLAG}=") for word in words)


def given(arguments: Sequence[str]) -> str | None:
    """Return the value of `--node-ip` in the *arguments* of a kubelet, None without any; the last one counts."""
    found = None
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == FLAG:
            found = following
        elif word.startswith(f"{FLAG}="):
            found = word.partition("=")[2]
    return found or None


def means(value: str, node_ips: Sequence[IPAddress]) -> bool:
    """Return whether kubelet with `--node-ip` of *value* has the published *node_ips*, or the primary one alone."""
    try:
        addresses = [ip_address(text.strip()) for text in value.split(",")]
    except ValueError:
        return False
    return addresses in (list(node_ips), list(node_ips[:1]))


# Which files publish the node IPs?

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


# With which environment does systemd start a unit?

_VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]*)")
_PLAIN = re.compile(r'[^"\\%\x00-\x1f]*')
"""A value that a drop-in can repeat as it is."""


@frozen
class UnitEnvironment:
    """What systemd knows about a unit: Environment=, EnvironmentFile=, its drop-ins in order, and UnsetEnvironment=.

    *drop_ins* begin with the file of the unit itself. *command*: the words of ExecStart=, before systemd replaces
    variables.
    """

    variables: Mapping[str, str]
    files: tuple[PurePosixPath, ...] = ()
    drop_ins: tuple[PurePosixPath, ...] = ()
    needs_reload: bool = False
    """Whether a file of the unit changed since systemd read it (NeedDaemonReload of org.freedesktop.systemd1(5))."""
    removals: tuple[str, ...] = ()
    """Names, or names with a value."""
    command: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[PurePosixPath, ...]:
        """Every file that may set a variable: the later ones win."""
        return self.drop_ins + self.files


@frozen
class Override:
    """A variable that a unit starts with another value than the published one (None: it is not set).

    *source* sets or unsets it; None: no file is known to. *unread*: systemd has not read what is published.
    """

    unit: str
    name: str
    published: str
    value: str | None
    source: PurePosixPath | None
    unread: bool = False

    def __str__(self) -> str:
        """Return the cause, as status and journal show it."""
        verb = "unsets" if self.value is None else "sets"
        by = f" ({self.source} {verb} it)" if self.source else "" if self.unread else " (another drop-in changes it)"
        if self.value is None:
            return f"{self.unit} starts without {self.name}={self.published}{by}"
        return f"{self.unit} starts with {self.value} instead of {self.name}={self.published}{by}"


def overrides(
    unit: str, published: PublishedFile, seen: UnitEnvironment, contents: Mapping[PurePosixPath, bytes | None]
) -> tuple[Override, ...]:
    """Return the variables of a *published* drop-in with which *unit* does not start; *contents* are its sources'."""
    wanted = drop_in_variables(published.content or b"")
    by_file = [(path, file_variables(contents.get(path) or b"")) for path in seen.files]
    drop_ins = [(path, contents.get(path) or b"") for path in seen.drop_ins if path != published.path]
    stale = seen.needs_reload or published.path not in seen.drop_ins
    found = []
    for name, value in wanted.items():
        by_last_file = next((entry for entry in reversed(by_file) if name in entry[1]), None)
        actual = by_last_file[1][name] if by_last_file else seen.variables.get(name)
        if actual is not None and is_removed(name, actual, seen.removals):
            removers = [path for path, text in drop_ins if is_removed(name, actual, drop_in_removals(text))]
            source, actual = next(reversed(removers), None), None
        elif actual == value:
            continue
        else:
            changed = drop_ins if actual is not None else []
            setters = [path for path, text in changed if drop_in_variables(text).get(name) == actual]
            source = by_last_file[0] if by_last_file else next(reversed(setters), None)
        found.append(Override(unit, name, value, actual, source, unread=source is None and stale))
    return tuple(found)


def passes_arguments(
    seen: UnitEnvironment, contents: Mapping[PurePosixPath, bytes | None], ours: PurePosixPath
) -> tuple[str, str] | None:
    """Return the variable in which kubelet.service can get one more argument, with its value without *ours*.

    An environment file overrides any drop-in, so that a variable which such a file sets is the administrator's or
    kubeadm's. What follows on the command line wins: an administrator's own `--node-ip` in KUBELET_EXTRA_ARGS does.
    """
    if has_node_ip(seen.command) or any("KUBELET_NODE_IP" in word for word in seen.command):
        return None
    by_files = {name for path in seen.files for name in file_variables(contents.get(path) or b"")}
    own: dict[str, str] = {}
    for path in seen.drop_ins:
        own |= drop_in_variables(contents.get(path) or b"") if path != ours else {}
    passed = [found[1] for word in seen.command if (found := _VARIABLE.fullmatch(word))]
    free = [name for name in passed if name not in by_files and _PLAIN.fullmatch(own.get(name, ""))]
    return next(((name, own[name]) for name in free if name in own), (free[-1], "") if free else None)
