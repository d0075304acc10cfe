"""What an administrator does with `nodenetctl try`: a node file is tried, and confirmed, rolled back, or forgotten."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from nodenet.core.trial.trial import STAGED, TrialOrder
from simulation.faults import Fault, kind
from simulation.trials import DEAD_GATEWAY, GATEWAY, TRIED_HOST

if TYPE_CHECKING:
    from simulation.run import Run

FILES = ((TRIED_HOST, GATEWAY), (TRIED_HOST, DEAD_GATEWAY), ("5", DEAD_GATEWAY), ("5", GATEWAY), ("", ""))
"""The last part of the address and the gateway that a file asks for; without them DHCP."""
ENDS = ("", "confirm", "roll_back")
"""What the administrator says in the end; "": nothing, the session is gone."""
SHORT_SECONDS, LONG_SECONDS = 20.0, 100.0
"""For how long a file is tried."""
LATEST_SECONDS = 15.0
"""When the administrator decides."""


@kind
def file_tried(run: Run, fault: Fault) -> None:
    """A node file is tried on a node that is mostly ready by now."""
    world, link = run.world, _link(run)
    what, end = divmod(int(fault.pick * len(FILES) * len(ENDS)), len(ENDS))
    content = _file(link, *FILES[what])
    digest = hashlib.sha256(content).hexdigest()
    world.disk.write_synced(f"{STAGED}/{digest}.yml", content)
    trials, profiles = world.rules.trials, world.manager.memory.profiles
    trials.begins(content, {uuid: one.settings for uuid, one in profiles.items() if one.link == link})
    seconds = LONG_SECONDS if fault.lasts > LATEST_SECONDS else SHORT_SECONDS
    run.order("try_file", TrialOrder("tried.yml", digest, seconds, "an administrator"))

    def decide() -> None:
        if ENDS[end] == "confirm":
            trials.may_be_confirmed = True
            run.order("confirm", digest, succeeded=trials.is_confirmed)
        elif ENDS[end]:
            run.order("roll_back", digest)

    world.after(min(fault.lasts, LATEST_SECONDS), decide)


def _link(run: Run) -> str:
    """Return the link that is tried: the second NIC where there is br-ex, below which nothing may be tried."""
    names = list(run.world.nics.values())
    return names[-1] if "br-ex" in run.world.kernel.links and not run.world.made_uplink else run.world.uplink


def _file(link: str, host: str, gateway: str) -> bytes:
    nic: dict[str, Any] = {"name": link, "type": "ethernet", "state": "up", "ipv6": {"enabled": False}}
    ipv4: dict[str, Any] = {"enabled": True, "dhcp": not host}
    document: dict[str, Any] = {"interfaces": [nic | {"ipv4": ipv4}]}
    if host:
        network = "198.51.100" if link == "eth1" else "192.0.2"
        ipv4["address"] = [{"ip": f"{network}.{host}", "prefix-length": 24}]
        if network == "192.0.2":
            route = {"destination": "0.0.0.0/0", "next-hop-address": gateway, "next-hop-interface": link}
            document["routes"] = {"config": [route]}
    return b"# on trial\n" + json.dumps(document, indent=1).encode() + b"\n"
