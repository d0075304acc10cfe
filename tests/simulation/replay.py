"""A node of a report archive in the simulated world: does it decide what the real node decided, in the same order?

The archive gives settings, host name, NICs with their leases, addresses and gateways, node files, and whether Open
vSwitch has a datapath, and what nodenetd kept of earlier boots. The world gives the rest. A boot is compared until the
archive was made; what an administrator or another program did in it is not in the archive.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from ipaddress import IPv4Interface, IPv6Network
from typing import Any

from nodenet.cli.what_if import settings_of_report
from nodenet.core.change.record import STATE
from nodenet.core.errors import NodenetError, UsageInvalid
from nodenet.core.ip import Family
from nodenet.core.kernel import iproute
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip import last_published
from nodenet.core.node_ip.last_published import SELECTION
from nodenet.core.report.parts import CONTENTS, RECORDS
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import parse
from nodenet.core.status.document import document
from simulation.calibration import LEFT_OUT, ending, node
from simulation.disk import NODE_FILES
from simulation.engine import Violation
from simulation.keyfile import DIRECTORY, rendered
from simulation.process import SETTINGS
from simulation.result import journal_of
from simulation.run import Finished, Run
from simulation.scenario import Scenario
from simulation.wire import Segment

Files = Mapping[str, bytes]
FOLDER, JSON = "node-files/", ".json"
NEEDED = (
    *(CONTENTS, FOLDER, "status.json", "settings.txt", "snapshot.json", "events.jsonl", "resolv.conf"),
    *("records.txt", *RECORDS),
)
"""Parts of a report that are read here."""
UNREADABLE = b"["
"""What is in the place of a node file that is no YAML: an archive does not show it, as secrets might be in it."""
IN_SETTINGS = re.compile(r"/etc/nodenet/[\w./-]+\.toml")
"""The world has all settings in one file."""
LONGER_SECONDS = 30.0
"""How much longer the simulated boot lasts: the world is not as fast as a node."""
LONGEST_SECONDS = 3600.0
NO_DATAPATH = "datapath"
"""A word in the cause of a br-ex that failed, if Open vSwitch cannot make bridges in the kernel."""


def replayed(files: Files) -> list[str]:
    """Return the differences between a node and its simulation, the first one first. Raises UsageInvalid."""
    status, events = _status(files), list(_events(files))
    run = Replayed(files, status, _seconds(files, events), events[0][0] if events else 0.0)
    violation = ""
    with journal_of(run):
        try:
            run.go()
        except Violation as found:
            violation = f"the simulation violates {found}"
    lines = [line.fields for line in run.world.rules.journal if isinstance(line.fields.get("message"), Message)]
    made = [_decision(line["message"].name, str(line.get("stage") or "")) for line in lines]
    differences = list(_first_difference([name for _, name in events], [each for each in made if each]))
    reconciler = run.process.reconciler if run.process else None
    if reconciler:
        differences += _ends(status, document(reconciler.status))
    return [*differences, violation] if violation else differences


def _first_difference(real: Sequence[str], simulated: Sequence[str]) -> Iterator[str]:
    """Yield the first decision that is another one; the simulation may have gone on when the archive was made."""
    if not real:
        yield "the archive has no events: it is of an older version, and only the end is compared"
        return
    for number, name in enumerate(real):
        found = simulated[number] if number < len(simulated) else "nothing"
        if found != name:
            before = f" after {real[number - 1]}" if number else ""
            yield f"decision {number + 1}{before}: the node {name}, the simulation {found}"
            return


def _ends(real: Mapping[str, Any], simulated: Mapping[str, Any]) -> list[str]:
    """Return what is otherwise at the end."""
    keys = {"health", "ready", "link", "bridge", "node_ips"}
    found = [f"{key}: the node {real.get(key)}, the simulation {simulated[key]}" for key in sorted(keys)]
    kept = [line for key, line in zip(sorted(keys), found, strict=True) if real.get(key) != simulated[key]]
    theirs, ours = _stages(real), _stages(simulated)
    names = [name for name in ours if theirs.get(name) != ours[name]]
    return kept + [f"stage {name}: the node {theirs.get(name)}, the simulation {ours[name]}" for name in names]


def _stages(status: Mapping[str, Any]) -> dict[str, str]:
    """Return the status of each stage; of one that waits, what it waits for."""
    waits = {
        each["name"]: f"waiting: {IN_SETTINGS.sub(SETTINGS, str(each['detail']))}"
        for each in status["stages"]
        if each["status"] == "waiting"
    }
    stages: dict[str, str] = ending(dict(status))["stages"]
    return stages | waits


class Replayed(Run):
    """A run of *seconds* in the world of an archive, whose boot *began* then."""

    def __init__(self, files: Files, status: Mapping[str, Any], seconds: float, began: float) -> None:
        try:
            self._text = settings_of_report(files.get("settings.txt", b""))
            self._settings: Settings = parse([("settings.txt", self._text.encode())]).settings
            self._snapshot: Snapshot = iproute.parse(files.get("snapshot.json", b""))
        except NodenetError as error:
            raise UsageInvalid(f"the archive cannot be simulated: {error.cause}") from error
        causes = [str(each.get("cause")) for each in status["problems"] if each.get("stage") == "configure-ovs"]
        given = node(
            ovn=self._settings.network_type == "OVNKubernetes",
            vips=bool(self._settings.api_vips),
            on_failure=str(self._settings.on_failure),
            families="auto" if self._settings.families == "auto" else "ipv4",
            kernel_datapath=not any(NO_DATAPATH in cause for cause in causes),
        )
        super().__init__(Scenario(0, given, (), 0.0))
        self._files, self._status, self._seconds, self._began = files, status, seconds, began

    def _calm(self) -> None:
        """Go on until the archive was made."""

    def _look(self) -> None:
        super()._look()
        if self.world.boottime > self._seconds:
            raise Finished

    def _prepare(self) -> None:
        world, hostname = self.world, str(self._status.get("hostname") or "")
        content = world.disk.content
        world.ovs.has_datapath = self.scenario.node.kernel_datapath
        world.static_name, world.transient_name = hostname, hostname or "localhost"
        if hostname:
            content["/etc/hostname"] = f"{hostname}\n".encode()
        content[SETTINGS] = self._text.encode()
        content["/etc/resolv.conf"] = self._files.get("resolv.conf", b"")
        for name, text in self._files.items():
            if name.startswith(FOLDER) and name.endswith(JSON):
                content[f"{NODE_FILES}/{name.removeprefix(FOLDER).removesuffix(JSON)}"] = text or UNREADABLE
        for name in _older(self._files, self._began):
            content[str(STATE / name)] = self._with_digests(self._files[name])
        with suppress(ValueError):  # the laws are about the boots before this one too
            before = last_published.parse(content.get(str(SELECTION), b""), "")
            world.rules.next_boot.given = frozenset(map(str, before.addresses))
        for link in sorted(filter(_is_cable, self._snapshot.links), key=lambda link: not self._gateways(link)):
            self._connect(link)

    def _with_digests(self, record: bytes) -> bytes:
        """Return a record with the digest that the node file has in the archive, without its secrets."""
        real, shown = (
            str(self._status.get("digest") or ""),
            self._files.get(f"{FOLDER}{self._status.get('node_file')}{JSON}"),
        )
        return record.replace(real.encode(), hashlib.sha256(shown).hexdigest().encode()) if real and shown else record

    def _connect(self, link: Link) -> None:
        """Give the world the NIC *link*, its LAN, and a profile if its address is no lease and of no node file."""
        world, mac = self.world, str(link.hardware_mac)
        names = {link.name, str(self._status.get("bridge")) if link.name == self._status.get("uplink") else link.name}
        held = [each for each in self._snapshot.addresses if each.link in names and not each.address.is_link_local]
        four = [each for each in held if each.family is Family.IPV4]
        lease = next((each for each in four if not each.is_permanent), None)
        six = next((each for each in held if each.family is Family.IPV6 and not each.is_permanent), None)
        gateway = next((each for each in self._gateways(link, *names) if each.version == 4), None)
        world.nics[mac] = link.name
        world.wire.segments[mac] = segment = Segment(
            gateway, IPv4Interface(f"{lease.address}/{lease.prefix_length}") if lease else None, routed=bool(gateway)
        )
        if six:
            segment.prefix6, segment.managed = IPv6Network(f"{six.address}/64", strict=False), six.prefix_length == 128
        if not link.carrier:
            world.unplugged |= {mac}
        if four and not lease and not self._status.get("applied_digest"):
            world.is_static = True
            addresses = [{"address": str(each.address), "prefix": each.prefix_length} for each in four]
            ip = {"method": "manual", "address-data": addresses, **({"gateway": str(gateway)} if gateway else {})}
            uuid = f"b0000000-0000-4000-8000-{len(world.nics):012}"
            connection = {"id": link.name, "uuid": uuid, "type": "802-3-ethernet", "interface-name": link.name}
            profile: dict[str, dict[str, Any]] = {"connection": connection, "ipv4": ip, "ipv6": {"method": "disabled"}}
            world.disk.content[f"{DIRECTORY}/{link.name}.nmconnection"] = rendered(profile)

    def _gateways(self, link: Link, *names: str) -> list[Any]:
        hops = [hop for route in self._snapshot.routes if route.is_default for hop in route.next_hops]
        return [hop.gateway for hop in hops if hop.link in {link.name, *names} and hop.gateway]


def _is_cable(link: Link) -> bool:
    return link.is_nic and bool(link.hardware_mac)


def _decision(message: str, stage: str) -> str:
    return "" if message in {each.name for each in LEFT_OUT} else f"{message} {stage}".strip()


def _older(files: Files, began: float) -> Iterator[str]:
    """Yield the records that were written before this boot *began*; of others its beginning is not known."""
    for line in files.get("records.txt", b"").decode(errors="replace").splitlines():
        moment, _, name = line.partition(" ")
        if name in RECORDS and name in files and re.fullmatch(r"\d{1,12}\.\d+", moment) and float(moment) < began:
            yield name


def _events(files: Files) -> Iterator[tuple[float, str]]:
    """Yield time and decision of each event, the oldest first.

    Lines that are damaged are left out, and events that this version of nodenet does not have.
    """
    known = {message.value: message.name for message in Message}
    for line in files.get("events.jsonl", b"").decode(errors="replace").splitlines():
        try:
            entry = json.loads(line)
            moment, number = int(entry["__REALTIME_TIMESTAMP"]) / 1e6, str(entry["MESSAGE_ID"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
        if number in known and (name := _decision(known[number], str(entry.get("STAGE") or ""))):
            yield moment, name


def _seconds(files: Files, events: Sequence[tuple[float, str]]) -> float:
    """Return how long the simulated boot lasts."""
    try:
        made = datetime.fromisoformat(json.loads(files[CONTENTS])["made"]).timestamp()
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageInvalid(f"the archive has no readable {CONTENTS}") from error
    lasted = made - events[0][0] if events else 0.0
    return min(max(lasted, 0.0), LONGEST_SECONDS) + LONGER_SECONDS


def _status(files: Files) -> dict[str, Any]:
    try:
        found = json.loads(files.get("status.json", b""))
        ending(found)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageInvalid("the archive has no readable status.json: nodenetd did not run") from error
    problems = found.get("problems")
    return {
        **found,
        "problems": [each for each in problems if isinstance(each, dict)] if isinstance(problems, list) else [],
    }
