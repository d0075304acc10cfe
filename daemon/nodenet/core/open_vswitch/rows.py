"""What do the answers of Open vSwitch's database mean? (RFC 7047, sections 4.1.3 and 5; ovs-vswitchd.conf.db(5))"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from nodenet.core.errors import Unavailable
from nodenet.core.open_vswitch.bridges import OvsBridge, OvsInterface, OvsPort

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
