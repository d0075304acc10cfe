"""Does another stack run on this node: static pods, listening sockets, programs that speak VRRP?"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePath

from nodenet.core.hosted_services.packets import VRRP_PROTOCOL
from nodenet.core.hosted_services.paths import KEEPALIVED_USER
from nodenet.core.hosted_services.units import MANIFESTS, Listener, Others
from nodenet.core.kernel import sock_diag
from nodenet.core.kernel.sock_diag import TCP, UDP
from nodenet.edge.hosted_services.sockets import waiting

PROGRAM = "keepalived"
DNS_PORTS = frozenset({53})
"""Where a server may listen by UDP alone. On ports above 1023 a UDP socket of any user is in no way of ours."""


class OtherStacks:
    """The look at this node."""

    def __init__(
        self, manifests: Path = Path(MANIFESTS), groups: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")
    ) -> None:
        """Look at kubelet's *manifests*, at the tree of control *groups* and at the processes in *proc*."""
        self._proc = proc
        self._manifests = manifests
        self._groups = groups

    def look(self, units: Collection[str], ports: Collection[int]) -> Others:
        """Return what is there of others than *units*. Raises Unavailable."""
        groups = {status.st_ino for unit in units for status in self._statuses(unit)}
        found = [
            one for one in chain(waiting(TCP, ports), waiting(UDP, DNS_PORTS & set(ports))) if one.group is not None
        ]
        # Any user may have thousands of sockets on a port above 1023: one search for all of them.
        programs = self._programs({one.group for one in found if one.group is not None} - groups)
        listeners = tuple(
            Listener(one.port, one.group in groups, one.address, programs.get(one.group or 0, "")) for one in found
        )
        return Others(self._names(), listeners, self._speakers())

    def manifests_stamp(self) -> int | None:
        """Return when a file of the folder of static pods came or went last, None without the folder."""
        try:
            return self._manifests.stat().st_mtime_ns
        except OSError:
            return None

    def _statuses(self, unit: str) -> Iterator[os.stat_result]:
        for place in self._groups.glob(f"*.slice/{unit}"):
            with contextlib.suppress(OSError):  # the unit ended meanwhile
                yield place.stat()

    def _speakers(self) -> int:
        """Return how many sockets of another keepalived speak VRRP; a socket of any other program says nothing.

        They are separated by their user, also while ours run: keepalived has one of its own.
        """
        user = _user(KEEPALIVED_USER)
        foreign = [inode for inode, uid in _vrrp_sockets().items() if uid != user]
        return len(foreign) if foreign and self._has_another(user) else 0

    def _has_another(self, user: int | None) -> bool:
        """Return whether a keepalived runs that is not this user's."""
        for place in self._proc.iterdir():
            with contextlib.suppress(OSError):  # it ended meanwhile
                named = place.name.isdigit() and (place / "comm").read_text(errors="replace").strip() == PROGRAM
                if named and place.stat().st_uid != user:
                    return True
        return False

    def _programs(self, groups: set[int]) -> Mapping[int, str]:
        """Return the names of the control groups with these ids, mostly those of units; none for one that is gone."""
        found: dict[int, str] = {}
        if not groups:
            return found
        # Not Path.glob: in Python 3.11 it raises where a group, as that of a pod, ends meanwhile.
        for place, _, _ in chain.from_iterable(map(os.walk, self._groups.glob("*.slice"))):
            with contextlib.suppress(OSError):
                group = os.stat(place).st_ino  # noqa: PTH116  (there may be ten thousand)
                if group in groups:
                    name = PurePath(place).name  # a user may have made it, in a group that is the user's own
                    found[group] = name if name.isprintable() else ascii(name)
            if len(found) == len(groups):
                break
        return found

    def _names(self) -> frozenset[str]:
        try:
            return frozenset(path.name for path in self._manifests.iterdir())
        except OSError:  # no kubelet with static pods
            return frozenset()


def _user(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def _vrrp_sockets() -> Mapping[int, int]:
    found: dict[int, int] = {}
    for name in ("raw", "raw6"):
        with contextlib.suppress(OSError):  # a kernel without IPv6
            found |= sock_diag.raw_sockets(Path("/proc/self/net", name).read_text(encoding="ascii"), VRRP_PROTOCOL)
    return found
