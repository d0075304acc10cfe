"""How is one step of an adoption carried out on this node?

Each step may be done again: what is already so is left as it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from nodenet.cli import status
from nodenet.cli.adoption import gather
from nodenet.cli.adoption.gather import Before, forget, to_disk, to_memory
from nodenet.cli.ask import system_bus
from nodenet.cli.outputs import note
from nodenet.core import resolver
from nodenet.core.adoption.former_chain import (
    COMPANIONS,
    DNS,
    GATE_COPY,
    MARKS,
    NODENETD,
    OURS,
    all_drop_ins,
    held,
    is_copy,
)
from nodenet.core.adoption.steps import FAILED, INACTIVE, RUNNING, Kind, Step, UnitState, unit_states
from nodenet.core.boot.stage_state import Status
from nodenet.core.errors import StageFailed, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.node_ip.published_files import (
    NAMES_NODE_IPS,
    RANCHER,
    Publication,
    Wiring,
    files,
    node_ips,
    without_arguments,
)
from nodenet.core.resolver import DROP_IN, LEFT_ALONE, RESOLV_CONF, names
from nodenet.core.status.document import has_vanished
from nodenet.edge.files import disk
from nodenet.edge.network_manager.state import DnsManager
from nodenet.edge.systemd.systemctl import show, systemctl

# How does the node lose what nodenetd wrote below /etc, when nodenet leaves it?

RESOLVED = "systemd-resolved.service"


def take_note_out(servers: tuple[IPAddress, ...] = ()) -> None:
    """Let resolv.conf be as the replaced script writes it, without *servers* unless it has no other ones.

    NetworkManager writes the file again where it did not because of nodenetd. Raises PublishFailed, Unavailable.
    """
    content = disk.read(RESOLV_CONF)
    if content is not None and resolver.is_ours(content) and not Path(RESOLV_CONF).is_symlink():
        fresh = resolver.without_note(content)
        for server in servers:
            fewer = resolver.without(fresh, server)
            fresh = fewer if resolver.nameservers(fewer) else fresh
        disk.write(RESOLV_CONF, fresh)
    if disk.remove(LEFT_ALONE) and (why := asyncio.run(_read_configuration())):
        note(f"nodenetctl: NetworkManager did not read its configuration: {why}. Run `nmcli general reload`")


def remove_published(*, drop_ins: bool) -> None:
    """Remove what would outlive nodenet: *drop_ins* with node IPs, and the node's own DNS server. Raises as above.

    A drop-in with any other content than nodenetd's is left. Where another program is the node's DNS server, it stays.
    """
    published, _ = node_ips({path: disk.read(path) for path in NAMES_NODE_IPS})
    for path, contents in _drop_ins(published).items() if drop_ins else ():
        found = disk.read(path)
        if found and without_arguments(found) in contents:
            disk.remove(path)
    own = unit_states(show((DNS,)))[DNS].active in RUNNING
    take_note_out(published if own else ())
    if own and any(names(disk.read(DROP_IN), address) for address in published):
        disk.remove(DROP_IN)
        systemctl("try-reload-or-restart", RESOLVED)
    systemctl("daemon-reload")


def _drop_ins(published: tuple[IPAddress, ...]) -> dict[PurePosixPath, set[bytes | None]]:
    """Return what nodenetd may have written for units, without the arguments of kubelet, which depend on its unit."""
    found: dict[PurePosixPath, set[bytes | None]] = {}
    wiring = Wiring(rancher=tuple((unit, True) for unit in RANCHER))
    for remote in (False, True) if published else ():
        for file in files(Publication(published, remote, wiring)):
            if file.unit:
                found.setdefault(file.path, set()).add(file.content)
    return found


async def _read_configuration() -> str | None:
    try:
        async with system_bus() as bus:
            return await DnsManager(bus, lambda: None).read_configuration()
    except Unavailable as error:
        return str(error)


# How is one step carried out?

READY_SECONDS = 300.0
STOP_SECONDS = 180.0
CHECK_SECONDS = 15.0
POLL_SECONDS = 0.5
SYSTEM = Path("/etc/systemd/system")


class Effects:
    """Carries the steps out."""

    def __init__(self, before: Before) -> None:
        """*before* is what must not change."""
        self._before = before
        self._saved: bytes | None = None
        """resolv.conf as it was, where an adoption has kept a copy."""

    def do(self, step: Step) -> None:
        """Carry one step out. Raises NodenetError."""
        actions: Mapping[Kind, Callable[[Step], None]] = {
            Kind.DROP_INS: self._drop_ins,
            Kind.ENABLED: self._enabled,
            Kind.BRIDGE_ON_DISK: self._bridge_on_disk,
            Kind.OLD_RECORD: lambda _: forget(),
            Kind.MARKER: self._marker,
            Kind.NOT_HELD: self._not_held,
            Kind.PREPENDER_STOPPED: self._prepender,
            Kind.RESOLV_CONF: self._resolv_conf,
            Kind.NODENETD: self._nodenetd,
            Kind.CHECK: self._check,
            Kind.FILES_GONE: lambda step: remove_published(drop_ins=bool(step.names)),
        }
        actions[step.kind](step)

    def _drop_ins(self, step: Step) -> None:
        if step.forward:
            _write(gather.files(step.names))
            if gather.marked():
                _mark()
        else:
            _remove(all_drop_ins())
            if is_copy(disk.read(GATE_COPY)):
                disk.remove(GATE_COPY)
        systemctl("daemon-reload")
        if step.forward and (void := gather.resets(unit_states(show((*step.names, *OURS))), step.names)):
            remedy = f"Remove the empty `Condition…=` from {void[0]}"
            raise StageFailed(f"{void[0]} has an empty condition, which voids that of an adoption", remedy=remedy)

    def _enabled(self, step: Step) -> None:
        systemctl("--quiet", "enable" if step.forward else "disable", *step.names)
        # systemctl does not sync the links, and after a power cut the marker must not be there without them.
        for directory in (SYSTEM, *sorted(SYSTEM.glob("*.wants")), *sorted(SYSTEM.glob("*.requires"))):
            disk.sync(directory)

    def _bridge_on_disk(self, step: Step) -> None:
        (to_disk if step.forward else to_memory)(step.names)

    def _marker(self, step: Step) -> None:
        if step.forward:
            _mark()
        else:
            for path in tuple(MARKS)[::-1]:
                disk.remove(path)

    def _not_held(self, step: Step) -> None:
        if step.forward:
            _remove(held(step.names))
        else:
            _write(held(step.names))
        systemctl("daemon-reload")

    def _prepender(self, step: Step) -> None:
        systemctl("stop" if step.forward else "start", *step.names)

    def _resolv_conf(self, step: Step) -> None:
        if step.forward:
            self._saved = disk.read(RESOLV_CONF)
            return
        take_note_out()
        if self._saved is not None and not Path(RESOLV_CONF).is_symlink():
            disk.write(RESOLV_CONF, self._saved)

    def _nodenetd(self, step: Step) -> None:
        if not step.forward:
            # What an administrator lets require it, such as kubelet, is not stopped with it.
            _stop(NODENETD, "--job-mode=ignore-dependencies")
            _stop(COMPANIONS[0])
            return
        with suppress(Unavailable):  # systemd knows no unit that has not been used in this boot
            systemctl("reset-failed", NODENETD)
        systemctl("start", "--no-block", NODENETD)
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            document = status.read()
            if document is not None and not has_vanished(document) and document["ready"]:
                return
            state = unit_states(show((NODENETD,))).get(NODENETD, UnitState())
            if state.active == FAILED:
                raise StageFailed(f"{NODENETD} failed", remedy="Look at `journalctl -u nodenetd`")
            if state.active == INACTIVE and not state.job:
                remedy = f"Look at `systemctl status {NODENETD}`, which names a condition that is not met"
                raise StageFailed(f"systemd does not start {NODENETD}", remedy=remedy)
            time.sleep(POLL_SECONDS)
        why = "nodenetd is not ready"
        raise StageFailed(f"{why} after {READY_SECONDS:g} s", remedy="Look at `journalctl -u nodenetd`")

    def _check(self, step: Step) -> None:
        now = self._settled()
        if now.places != self._before.places:
            raise StageFailed(f"the node IPs were {_places(self._before)} and are {_places(now)}")
        if now.servers != self._before.servers:
            raise StageFailed(f"the DNS servers were {_servers(self._before)} and are {_servers(now)}")
        if step.forward:
            _check_stages()
        elif unit_states(show((NODENETD,))).get(NODENETD, UnitState()).active in RUNNING:
            raise StageFailed(f"{NODENETD} runs again", remedy=f"Look at `systemctl status {NODENETD}`")

    def _settled(self) -> Before:
        """Return what is now, as soon as nothing differs: NetworkManager takes seconds where it was started again."""
        until = time.monotonic() + CHECK_SECONDS
        while (now := gather.before()) != self._before and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return now


def _check_stages() -> None:
    """Raise StageFailed for a stage of nodenetd that failed."""
    document = status.read()
    for stage in document["stages"] if document else ():
        if stage["status"] == Status.FAILED:
            raise StageFailed(f"the stage {stage['name']} failed: {stage['detail']}", remedy="See `nodenetctl status`")


def _stop(unit: str, *options: str) -> None:
    """Stop *unit* where it runs: systemctl fails for one that systemd has not loaded. Raises Unavailable."""
    state = unit_states(show((unit,))).get(unit, UnitState())
    if state.active in RUNNING or state.job:
        systemctl("stop", *options, unit, seconds=STOP_SECONDS)


def _mark() -> None:
    for path, target in MARKS.items():
        disk.link(path, target)


def _write(files: Mapping[PurePosixPath, bytes]) -> None:
    for path, content in files.items():
        disk.write(path, content)


def _remove(paths: Iterable[PurePosixPath]) -> None:
    for path in paths:
        disk.remove(path)
        with suppress(OSError):  # a directory with other drop-ins stays
            Path(path.parent).rmdir()


def _places(seen: Before) -> str:
    return ", ".join(f"{address} on {link or 'no link'}" for address, link in seen.places) or "none"


def _servers(seen: Before) -> str:
    return ", ".join(map(str, seen.servers)) or "none"
