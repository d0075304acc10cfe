"""When does a link of the host get the OpenFlow port number that it is to keep?

After each pass that has made bridges or found them. The number is in the profile of the link, so that NetworkManager
asks for it whenever it makes the port, and in Open vSwitch's database.
"""

from __future__ import annotations

import structlog

from nodenet.core.messages import Message
from nodenet.core.open_vswitch import ofports
from nodenet.core.value import frozen
from nodenet.ports import Files, Ovsdb, Profiles, Store
from nodenet.stages.apply.records import OFPORTS, Records

log = structlog.get_logger()


@frozen
class Ofports:
    """The numbers of the links below the bridges of this node."""

    ovsdb: Ovsdb
    profiles: Profiles
    files: Files
    store: Store

    async def keep(self) -> None:
        """Let each link ask for its number. Raises Unavailable, PublishFailed."""
        if not self.ovsdb.answers():
            return
        bridges = [bridge for bridge in await self.ovsdb.bridges() if ofports.links_of(bridge)]
        if not bridges:
            return
        known = self.known()
        if (wanted := ofports.kept(bridges, known)) != known:
            Records(self.files, self.store).save(OFPORTS, ofports.render(wanted))
        for bridge in bridges:
            for link, item in ofports.links_of(bridge).items():
                number = wanted.get(bridge.name, {}).get(link)
                if number and item.ofport_request != number:
                    await self.note(link, number)  # first: the database forgets it with the port
                    await self.ovsdb.request_ofport(link, number)
                    if item.ofport not in (None, number):
                        text = f"{link} is port {number} of {bridge.name} again; Open vSwitch had made it {item.ofport}"
                        log.warning(text, message=Message.BRIDGE_MENDED, stage="configure-ovs")

    def known(self) -> dict[str, dict[str, int]]:
        """Return the numbers as they were after the last pass. Raises PublishFailed."""
        return Records(self.files, self.store).load(OFPORTS, ofports.parse) or {}

    async def note(self, link: str, number: int) -> None:
        """Let the profile of *link* ask for *number*. Raises Unavailable."""
        devices = (await self.profiles.inventory()).devices
        # The port of Open vSwitch has the name of its link, and a device and a profile of its own.
        device = next((each for each in devices if each.link == link and not each.kind.startswith("ovs-")), None)
        if device and device.profile:
            await self.profiles.set(device.profile.uuid, {"ovs-interface": {"ofport-request": number}})
