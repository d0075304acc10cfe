"""When does a link of the host get the OpenFlow port number that it is to keep?

After each pass that has made bridges or found them: of a node file, or br-ex. The number is in the profile of the link,
so that NetworkManager asks for it whenever it makes the port, and in Open vSwitch's database.
"""

from __future__ import annotations

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Outcome, Skipped
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.open_vswitch import ofports
from nodenet.core.value import frozen
from nodenet.ports import Files, Ovsdb, Profiles, Stage, Store
from nodenet.stages.apply.records import OFPORTS, Records

log = structlog.get_logger()


@frozen
class KeepOfports:
    """Runs a stage that may make bridges; the links below them keep their numbers."""

    stage: Stage
    ovsdb: Ovsdb
    profiles: Profiles
    files: Files
    store: Store

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome."""
        outcome = await self.stage.attempt(facts, request)
        known = outcome.facts if isinstance(outcome, Done | Skipped) else None
        if known and (known.brings_bridge or known.bridge):
            try:
                await self.keep()
            except (Unavailable, PublishFailed) as error:  # asked again at the next pass
                log.info(f"The port numbers of Open vSwitch are not kept yet: {error.cause}", stage="configure-ovs")
        return outcome

    async def keep(self) -> None:
        """Let each link ask for its number. Raises Unavailable, PublishFailed."""
        if not self.ovsdb.answers():
            return
        bridges = [bridge for bridge in await self.ovsdb.bridges() if ofports.links_of(bridge)]
        if not bridges:
            return
        records = Records(self.files, self.store)
        known = records.load(OFPORTS, ofports.parse) or {}
        if (wanted := ofports.kept(bridges, known)) != known:
            records.save(OFPORTS, ofports.render(wanted))
        for bridge in bridges:
            for link, item in ofports.links_of(bridge).items():
                number = wanted.get(bridge.name, {}).get(link)
                if number and item.ofport_request != number:
                    await self._ask_for(link, number)
                    if item.ofport not in (None, number):
                        text = f"{link} is port {number} of {bridge.name} again; Open vSwitch had made it {item.ofport}"
                        log.warning(text, message=Message.BRIDGE_MENDED, stage="configure-ovs")

    async def _ask_for(self, link: str, number: int) -> None:
        """Ask for *number*, in the profile of *link* first: the database forgets it with the port."""
        devices = (await self.profiles.inventory()).devices
        # The port of Open vSwitch has the name of its link, and a device and a profile of its own.
        device = next((each for each in devices if each.link == link and not each.kind.startswith("ovs-")), None)
        if device and device.profile:
            await self.profiles.set(device.profile.uuid, {"ovs-interface": {"ofport-request": number}})
        await self.ovsdb.request_ofport(link, number)
