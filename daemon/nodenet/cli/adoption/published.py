"""How does the node lose what nodenetd wrote below /etc, when nodenet leaves it?"""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePosixPath

from nodenet.cli.bus_session import system_bus
from nodenet.cli.outputs import note
from nodenet.core.adoption.facts import RUNNING, unit_states
from nodenet.core.adoption.former_chain import DNS
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.node_ip.kubelets import RANCHER, Wiring
from nodenet.core.node_ip.published_files import (
    NAMES_NODE_IPS,
    Publication,
    files,
    node_ips,
    without_arguments,
)
from nodenet.core.resolver import resolv_conf
from nodenet.core.resolver.view import DROP_IN, LEFT_ALONE, RESOLV_CONF, names
from nodenet.edge.files import disk
from nodenet.edge.network_manager.dns import DnsManager
from nodenet.edge.systemd.systemctl import show, systemctl

RESOLVED = "systemd-resolved.service"


def take_note_out(servers: tuple[IPAddress, ...] = ()) -> None:
    """Let resolv.conf be as the replaced script writes it, without *servers* unless it has no other ones.

    NetworkManager writes the file again where it did not because of nodenetd. Raises PublishFailed, Unavailable.
    """
    content = disk.read(RESOLV_CONF)
    if content is not None and resolv_conf.is_ours(content) and not Path(RESOLV_CONF).is_symlink():
        fresh = resolv_conf.without_note(content)
        for server in servers:
            fewer = resolv_conf.without(fresh, server)
            fresh = fewer if resolv_conf.nameservers(fewer) else fresh
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
