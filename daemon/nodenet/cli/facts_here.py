"""What does br-ex depend on at this host: the facts, and the datapath of the settings?

Reads NetworkManager, libnmstate, Open vSwitch and the kernel as the daemon does; the daemon itself is not needed.
"""

from __future__ import annotations

import asyncio
from pathlib import PurePath

from nodenet.cli import status
from nodenet.cli.ask import system_bus
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.errors import NotAllowed, PublishFailed, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, read_policy
from nodenet.core.node_ip.select import Selection, select_bindable
from nodenet.core.settings.model import Datapath, Settings
from nodenet.core.settings.parse import parse
from nodenet.edge.files import disk
from nodenet.edge.files import settings as settings_files
from nodenet.edge.kernel import netlink
from nodenet.edge.kernel.netlink import Sysctls
from nodenet.edge.network_manager.profiles import Profiles
from nodenet.edge.nmstate.client import Nmstate
from nodenet.edge.open_vswitch import Ovsdb
from nodenet.stages.br_ex.gather import Gatherer

REMEMBERED = PurePath("/var/lib/ovnk/iface_default_hint")


def read() -> tuple[BridgeFacts, Datapath]:
    """Return the present facts. Raises Unavailable naming the silent service, NotAllowed, SettingsInvalid."""
    settings = parse(settings_files.read()).settings
    try:
        facts = asyncio.run(_gathered(_selection(settings), settings.vips))
    except NmstateFailure as error:
        cause = f"libnmstate cannot show the network: {error.cause}"
        if error.kind is FailureKind.PERMISSION:
            raise NotAllowed(cause) from error
        raise Unavailable(cause, remedy=error.remedy) from error
    except PublishFailed as error:
        if isinstance(error.__cause__, PermissionError):
            raise NotAllowed(error.cause) from error
        raise
    return facts, settings.bridge_datapath


async def _gathered(selection: Selection, vips: tuple[IPAddress, ...]) -> BridgeFacts:
    async with system_bus() as bus, Nmstate().transaction() as transaction:
        gatherer = Gatherer(Profiles(bus), Ovsdb(), Sysctls(), netlink, netlink, disk, vips)
        hint = (disk.read(REMEMBERED) or b"").decode(errors="backslashreplace").strip()
        return await gatherer.gather(transaction, selection, remembered=hint or None)


def _selection(settings: Settings) -> Selection:
    """Return the published node IPs on the link that has the first one; without any, the selection of a first boot."""
    published, kernel = status.node_ips(), netlink.snapshot()
    places = {item.address: item.link for item in kernel.addresses}
    if published and published[0] in places:
        return Selection(published, places[published[0]])
    policy = read_policy(settings, disk.read(PurePath(HINT_FILE))).policy
    return select_bindable(kernel, policy, None, netlink.can_bind)
