"""Which bridges and ports does Open vSwitch have, with which rows and port numbers?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, TypeVar

from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.profiles import MADE_BY_NM, _nothing
from nodenet.core.value import frozen

PHYSICAL = frozenset({"", "system", "dpdk", "afxdp"})
"""Types of interfaces of Open vSwitch that are a link of the host (ovs-vswitchd.conf.db(5), Interface)."""


@frozen
class OvsInterface:
    """A row of the table Interface; *kind* is its ``type`` ("" or ``system``, ``internal``, ``patch`` …).

    *ofport* is its OpenFlow port number, None while it has none; *ofport_request* the one that it is to have. *options*
    are those of its kind: the ``peer`` of a patch port.
    """

    name: str
    kind: str = ""
    error: str | None = None
    external_ids: Mapping[str, str] = field(default_factory=_nothing)
    ofport: int | None = None
    ofport_request: int | None = None
    options: Mapping[str, str] = field(default_factory=_nothing)


@frozen
class OvsPort:
    """A row of the table Port."""

    name: str
    interfaces: tuple[OvsInterface, ...] = ()
    external_ids: Mapping[str, str] = field(default_factory=_nothing)

    @property
    def by_network_manager(self) -> bool:
        """Whether NetworkManager put it there."""
        return MADE_BY_NM in self.external_ids


@frozen
class OvsBridge:
    """A row of the table Bridge; *datapath* is ``datapath_type``: "" or ``system``, ``netdev``."""

    name: str
    datapath: str = ""
    ports: tuple[OvsPort, ...] = ()
    external_ids: Mapping[str, str] = field(default_factory=_nothing)


Numbers = Mapping[str, Mapping[str, int]]
"""Bridge → link → number."""
MOST = 65_279
"""The largest number that a port may ask for."""


def kept(bridges: Iterable[OvsBridge], known: Numbers) -> dict[str, dict[str, int]]:
    """Return the numbers to ask for: those *known*, the one of a link that is gone for the link in its place.

    A link of which nothing is known keeps the number it has. A bridge that does not exist at the moment keeps its own.
    The only link of a bridge has the first number, also if it was a leg of a bond of Open vSwitch before.
    """
    found = {bridge: dict(numbers) for bridge, numbers in known.items()}
    for bridge in bridges:
        links = links_of(bridge)
        before = found.get(bridge.name, {})
        free = [number for link, number in sorted(before.items()) if link not in links]
        now = {link: before[link] for link in links if link in before}
        for link, item in links.items():
            if link not in now and (number := free.pop(0) if free else item.ofport):
                now[link] = number
        if before and (only := _only_port(bridge, links)):
            now[only] = min(before.values())
        if links and now:
            found[bridge.name] = now
    return found


def handed_over(bridge: OvsBridge, known: Numbers) -> dict[str, int]:
    """Return the links of *bridge* that do not ask for the *known* number that is theirs, with that number.

    A link has come in the place of another one, or has come back: a rollback may bring a profile that does not ask.
    """
    numbers, now = known.get(bridge.name, {}).values(), kept([bridge], known).get(bridge.name, {})
    return {
        link: now[link]
        for link, item in links_of(bridge).items()
        if now.get(link) in numbers and item.ofport_request != now[link]
    }


def links_of(bridge: OvsBridge) -> dict[str, OvsInterface]:
    """Return the links of the host that NetworkManager has made ports of *bridge*, in order of their names."""
    items = [item for port in bridge.ports if port.by_network_manager for item in port.interfaces]
    outside = [item for item in items if item.kind in PHYSICAL and item.name != bridge.name]
    return {item.name: item for item in sorted(outside, key=lambda each: each.name)}


def _only_port(bridge: OvsBridge, links: Mapping[str, OvsInterface]) -> str | None:
    """Return the link that is alone below *bridge*, and no leg of a bond, which may lack the others for a while."""
    return next((port.name for port in bridge.ports if links.keys() == {port.name}), None)


def render(numbers: Numbers) -> bytes:
    """Return the numbers as they are stored."""
    return json.dumps({"version": 1, "ofports": numbers}, indent=1, sort_keys=True).encode() + b"\n"


def parse(content: bytes) -> dict[str, dict[str, int]]:
    """Return the numbers from their bytes. Raises ValueError."""
    try:
        found = json.loads(content)["ofports"]
        return {str(bridge): {str(link): _number(one) for link, one in of.items()} for bridge, of in found.items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no numbers of ports: {error}") from error


def _number(value: object) -> int:
    if isinstance(value, int) and 0 < value <= MOST:
        return value
    raise ValueError(f"{value!r} is no number of a port")


DATABASE = "Open_vSwitch"
"""The database, and its table with one row for all of Open vSwitch."""
_COLUMNS = {
    "Bridge": ["name", "datapath_type", "ports", "external_ids"],
    "Port": ["_uuid", "name", "interfaces", "external_ids"],
    "Interface": ["_uuid", "name", "type", "error", "external_ids", "ofport", "ofport_request", "options"],
}
SELECT_BRIDGES: tuple[dict[str, Any], ...] = tuple(
    {"op": "select", "table": table, "where": [], "columns": columns} for table, columns in _COLUMNS.items()
)
"""The operations whose results ``bridges`` reads."""

NONE: list[Any] = ["set", []]
MALFORMED = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
"""What reading an answer raises that is not of the shape that RFC 7047 gives it."""
T = TypeVar("T")


def results(answers: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the results of a transaction's operations. Raises Unavailable when the database refused one."""
    found = list(answers)
    for answer in found:
        # What follows the operation that failed is null; a commit that failed is one result more.
        if isinstance(answer, dict) and "error" in answer:
            raise _refusal(": ".join(str(answer[key]) for key in ("error", "details", "io-error") if answer.get(key)))
    return found


def _refusal(text: str) -> Unavailable:
    if text.startswith("not allowed"):  # of a backup server, and of a remote whose role is read-only (ovsdb-server(1))
        return Unavailable(
            f"Open vSwitch's database is read-only ({text})",
            remedy="Look at `ovs-appctl -t ovsdb-server ovsdb-server/sync-status`",
        )
    return Unavailable(
        f"Open vSwitch's database refused a change ({text})", remedy="Look at `df /etc/openvswitch/conf.db`"
    )


def bridges(answers: Iterable[Mapping[str, Any]]) -> tuple[OvsBridge, ...]:
    """Return the bridges, in order of their names."""
    bridge_rows, port_rows, interface_rows = (answer["rows"] for answer in answers)
    interfaces = {_uuid(row): _interface(row) for row in interface_rows}
    ports = {
        _uuid(row): OvsPort(row["name"], _referenced(row["interfaces"], interfaces), text_map(row["external_ids"]))
        for row in port_rows
    }
    found = (
        OvsBridge(row["name"], row["datapath_type"], _referenced(row["ports"], ports), text_map(row["external_ids"]))
        for row in bridge_rows
    )
    return tuple(sorted(found, key=lambda bridge: bridge.name))


def _interface(row: Mapping[str, Any]) -> OvsInterface:
    errors = _members(row["error"])
    error = str(errors[0]) if errors else None
    return OvsInterface(
        row["name"],
        row["type"],
        error,
        text_map(row["external_ids"]),
        _port_number(row.get("ofport", NONE)),
        _port_number(row.get("ofport_request", NONE)),
        text_map(row.get("options", ["map", []])),
    )


def _port_number(value: Any) -> int | None:  # noqa: ANN401  (JSON)
    """Return a number; -1 is that of a port that could not be made."""
    numbers = _members(value)
    return numbers[0] if numbers and isinstance(numbers[0], int) and numbers[0] > 0 else None


def _referenced(value: list[Any], rows: Mapping[str, T]) -> tuple[T, ...]:
    """Return the rows that a column refers to, in order of their names."""
    found = (rows[uuid] for _, uuid in _members(value) if uuid in rows)
    return tuple(sorted(found, key=lambda row: str(getattr(row, "name", ""))))


def _uuid(row: Mapping[str, Any]) -> str:
    return str(row["_uuid"][1])


def _members(value: Any) -> list[Any]:  # noqa: ANN401  (JSON)
    """Return the members of a set; one with a single member is written without the set around it."""
    return list(value[1]) if isinstance(value, list) and value[:1] == ["set"] else [value]


def insertion(bridge: str, port: OvsPort) -> list[dict[str, Any]]:
    """Return the operations that put *port*, of one interface, on *bridge*."""
    (item,) = port.interfaces
    inside = {
        "name": item.name,
        "type": item.kind,
        "options": _map(item.options),
        "external_ids": _map(item.external_ids),
    }
    outside = {"name": port.name, "interfaces": ["named-uuid", "i"], "external_ids": _map(port.external_ids)}
    mutations = [["ports", "insert", ["named-uuid", "p"]]]
    return [
        {"op": "insert", "table": "Interface", "uuid-name": "i", "row": inside},
        {"op": "insert", "table": "Port", "uuid-name": "p", "row": outside},
        {"op": "mutate", "table": "Bridge", "where": [["name", "==", bridge]], "mutations": mutations},
    ]


def _map(values: Mapping[str, str]) -> list[Any]:
    return ["map", [[key, value] for key, value in values.items()]]


def text_map(value: list[Any]) -> dict[str, str]:
    """Return a map of strings."""
    return {str(key): str(entry) for key, entry in value[1]}
