"""Which DNS servers does this host ask, which file lists them, and what has to be written?

Three ways exist, alone or together: a plain /etc/resolv.conf, NetworkManager's own file that it links to, and
systemd-resolved with its stub. Pure: the stage reads, this module decides what must be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from nodenet.core.common_wake import BEAT_SECONDS
from nodenet.core.ip import IPAddress
from nodenet.core.resolver.resolv_conf import is_stub, nameservers
from nodenet.core.value import frozen

RESOLV_CONF = PurePosixPath("/etc/resolv.conf")
BEHIND_STUB = PurePosixPath("/run/systemd/resolve/resolv.conf")
"""The servers that systemd-resolved asks, where resolv.conf has only its stub (systemd-resolved.service(8))."""
NM_FILES = (
    PurePosixPath("/run/NetworkManager/resolv.conf"),
    PurePosixPath("/run/NetworkManager/no-stub-resolv.conf"),
)
"""What NetworkManager would write into /etc/resolv.conf; the second never lists its own local cache."""
DROP_IN = PurePosixPath("/etc/systemd/resolved.conf.d/60-kni.conf")
"""For systemd-resolved, under the name of the tool that is replaced."""
DONE = PurePosixPath("/run/resolv-prepender-kni-conf-done")
"""Exists once resolv.conf is right in this boot: kubelet's drop-in of on-premises platforms looks for it."""
_NM_PLACE = PurePosixPath("/run/NetworkManager")
_RESOLVED_PLACES = (PurePosixPath("/run/systemd/resolve"), PurePosixPath("/usr/lib/systemd"))
UNMANAGED = "unmanaged"
WRITERS = frozenset({"symlink", "file"})
"""Values of rc-manager with which NetworkManager itself writes resolv.conf, empty while it has no link."""
LEFT_ALONE = PurePosixPath("/run/NetworkManager/conf.d/60-nodenet.conf")
"""Per-boot configuration, read before /etc/NetworkManager's (NetworkManager.conf(5)): what is there outranks it."""
LEAVE_ALONE = b"""# While nodenetd writes /etc/resolv.conf; one of your own in /etc/NetworkManager outranks this.
[main]
rc-manager=unmanaged
"""

FREE_MENDS = 3
MEND_WINDOW_SECONDS = 60.0
MAX_MEND_PAUSE_SECONDS = 15.0
MIN_PROBE_SECONDS = 1.0


@frozen
class ManagerDns:
    """What NetworkManager's DnsManager reports; *domains* in its order."""

    rc_manager: str = ""
    domains: tuple[str, ...] = ()


@frozen
class View:
    """The host's look-ups as they are configured now.

    *found* is what programs read as /etc/resolv.conf; *leads_to* the file it is a link to, None for a plain file.
    """

    found: bytes | None = None
    leads_to: PurePosixPath | None = None
    manager_files: tuple[bytes | None, ...] = ()
    """The contents of NM_FILES."""
    manager: ManagerDns | None = None
    resolved: bool = False
    """Whether systemd-resolved runs."""
    kept: bytes | None = None
    """What was written last: NetworkManager has no nameserver for a moment while its links change."""

    @property
    def source(self) -> bytes:
        """The text that resolv.conf is made from: NetworkManager's where it knows a nameserver, else what is there.

        A local cache's address is of no use to pods, so the file with the servers behind it is preferred to a stub.
        """
        texts = (*self.manager_files, self.found, self.kept)
        known = [text for text in texts if text is not None and nameservers(text)]
        best = next((text for text in known if not is_stub(text)), None)
        return best or (known[0] if known else None) or self.found or b""

    @property
    def place(self) -> PurePosixPath | None:
        """The file to write, None when it is systemd-resolved's.

        A link to NetworkManager's file, or to one that systemd-resolved left behind, gives way to a plain file: those
        files are theirs. Any other link was made by an administrator and stays; the file it leads to is written.
        """
        if self.leads_to is None:
            return None if self.resolved and is_stub(self.found) else RESOLV_CONF
        if _NM_PLACE in self.leads_to.parents:
            return RESOLV_CONF
        if any(place in self.leads_to.parents for place in _RESOLVED_PLACES):
            return None if self.resolved or self.found is not None else RESOLV_CONF
        return self.leads_to

    @property
    def domains(self) -> tuple[str, ...]:
        """The search domains that NetworkManager knows."""
        return self.manager.domains if self.manager else ()

    def upstream(self, own: Sequence[IPAddress] = ()) -> tuple[IPAddress, ...]:
        """Return the present nameservers without the node's *own* addresses."""
        text = self.found if self.place is None else self.source
        return tuple(server for server in nameservers(text) if server not in own)


def drop_in(node_ip: IPAddress, cluster_domain: str, domains: Sequence[str]) -> bytes:
    """Return systemd-resolved's drop-in (resolved.conf(5)); a domain listed there is also asked for at *node_ip*."""
    listed = dict.fromkeys(name for name in (cluster_domain, *domains) if name)
    lines = ["[Resolve]", f"DNS={node_ip}", *([f"Domains={' '.join(listed)}"] if listed else [])]
    return "\n".join([*lines, ""]).encode()


def names(content: bytes | None, node_ip: IPAddress) -> bool:
    """Return whether a drop-in makes *node_ip* the global nameserver."""
    return f"DNS={node_ip}".encode() in (content or b"").splitlines()


def mend_pause(mended: Sequence[float], now: float) -> float:
    """Return the pause before a file is corrected that another program keeps rewriting; *mended*: when it was."""
    recent = [moment for moment in mended if now - moment < MEND_WINDOW_SECONDS]
    if len(recent) < FREE_MENDS:
        return 0.0
    pause = min(2.0 ** (len(recent) - FREE_MENDS), MAX_MEND_PAUSE_SECONDS)
    return max(0.0, recent[-1] + pause - now)


def probe_pause(waited: float) -> float:
    """Return when to ask the node's own resolver again that has not answered for *waited* seconds."""
    return min(max(waited / 4, MIN_PROBE_SECONDS), BEAT_SECONDS)
