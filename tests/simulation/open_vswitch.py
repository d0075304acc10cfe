"""Open vSwitch: its database, which outlives a reboot, and the daemon that carries out what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nodenet.core.network_manager.profiles import MADE_BY_NM
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort


@dataclass(slots=True)
class Row:
    """A bridge; *ports*: name → (kind of its interface, the profile that made it, "" for another program's)."""

    name: str
    profile: str = ""
    datapath: str = ""
    ports: dict[str, tuple[str, str]] = field(default_factory=dict)
    external_ids: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Row:
        return Row(self.name, self.profile, self.datapath, dict(self.ports), dict(self.external_ids))


class OpenVswitch:
    """*changed* is called when it comes or goes."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.rows: dict[str, Row] = {}
        self.durable: dict[str, Row] = {}
        """What is on the platter."""
        self.database_up = True
        self.switch_up = True
        self.has_datapath = True
        self.numbered = False
        """Whether the ports that are links of the host have OpenFlow port numbers."""
        self.numbers: dict[str, int] = {}
        self.asked_numbers: dict[str, int] = {}
        """What the rows of such ports ask for; a row is gone with its port."""
        self._last_number = 0
        self.parked = False
        self.version = 0
        self.events = 0
        """How often a part of it came or went."""

    @property
    def works(self) -> bool:
        return self.database_up and self.switch_up

    def plug(self, link: str, asked: int | None) -> None:
        """Give a new port its number: the one that it asks for, or one that no port had since the switch began."""
        if self.numbered:
            self.unplug(link)
            if asked:
                self.asked_numbers[link] = asked
            self.carry_out(link)

    def carry_out(self, link: str) -> None:
        """Give *link*, if it is still a port, the number that it asks for now."""
        asked = self.asked_numbers.get(link)
        if asked and asked not in self.numbers.values():
            self.numbers[link] = asked
        elif link not in self.numbers:
            self._last_number += 1
            self.numbers[link] = self._last_number
        self.touch()

    def unplug(self, link: str) -> None:
        self.numbers.pop(link, None)
        self.asked_numbers.pop(link, None)

    def boot(self) -> None:
        """Begin again with the rows that are on the disk; they get new numbers."""
        self.rows = {name: row.copy() for name, row in self.durable.items()}
        self.parked = False
        self.numbers.clear()
        links = [name for row in self.rows.values() for name, (kind, _) in row.ports.items() if kind == "system"]
        for link in links if self.numbered else ():
            self.carry_out(link)

    def touch(self) -> None:
        self.version += 1

    def come_or_go(self, *, database: bool | None = None, switch: bool | None = None) -> None:
        self.database_up = self.database_up if database is None else database
        self.switch_up = self.switch_up if switch is None else switch
        self.events += 1
        self.touch()
        self._changed()

    def sync(self) -> None:
        self.durable = {name: row.copy() for name, row in self.rows.items()}

    def seen(self, links: frozenset[str]) -> tuple[OvsBridge, ...]:
        return tuple(self._bridge(row, links) for _, row in sorted(self.rows.items()))

    def _bridge(self, row: Row, links: frozenset[str]) -> OvsBridge:
        ports = tuple(self._port(name, *port, links) for name, port in sorted(row.ports.items()))
        own = {MADE_BY_NM: row.profile} if row.profile else {}
        return OvsBridge(row.name, row.datapath, ports, own | row.external_ids)

    def _port(self, name: str, kind: str, profile: str, links: frozenset[str]) -> OvsPort:
        error = None if name in links or kind == "patch" else f"could not open network device {name} (No such device)"
        own = {MADE_BY_NM: profile} if profile else {}
        number, asked = self.numbers.get(name), self.asked_numbers.get(name)
        return OvsPort(name, (OvsInterface(name, kind, error, own, ofport=number, ofport_request=asked),), own)
