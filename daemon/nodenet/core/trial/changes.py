"""What would a node file change on this node: each value before and after, and what that means for the node?

From libnmstate's difference and its state (NMState's schema).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.nmstate.state import DEFAULT, OVS_BRIDGE, State, link
from nodenet.core.value import frozen

Document = Mapping[str, Any]
IDENTITY = ("name", "type")
GONE = ("absent", "down")


@frozen
class Change:
    """One value: *place* names the link or the section, *key* the value, with dots between the keys."""

    place: str
    key: str
    before: str
    after: str


@frozen
class Node:
    """What the node works with: its node IPs, their link, and the name of its bridge."""

    node_ips: tuple[str, ...] = ()
    link: str | None = None
    bridge: str | None = None


def changes(difference: Document, state: State) -> tuple[Change, ...]:
    """Return every value of *difference* that *state* has otherwise."""
    found: list[Change] = []
    for item in difference.get("interfaces") or ():
        name = str(item.get("name"))
        before = _before(state, item) or {}
        leaves = dict(_leaves({key: value for key, value in item.items() if key not in IDENTITY}))
        found += [
            Change(name, key, was, shown(value))
            for key, value in leaves.items()
            if (was := shown(_at(before, key))) != shown(value)
        ] or [Change(name, "state", shown(before.get("state")), shown(item.get("state", "up")))]
    for section, value in difference.items():
        if section != "interfaces":
            found += [Change(section, key, "", shown(leaf)) for key, leaf in _leaves(value)]
    return tuple(found)


def _before(state: State, item: Document) -> State | None:
    name, kind = item.get("name"), item.get("type")
    if kind == OVS_BRIDGE:
        found = (one for one in state.get("interfaces") or () if (one.get("name"), one.get("type")) == (name, kind))
        return next(found, None)
    return link(state, str(name))


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (JSON)
    if isinstance(value, Mapping) and (value or not key):
        for name, part in value.items():
            yield from _leaves(part, f"{key}.{name}" if key else str(name))
    else:
        yield key, value


def _at(document: Document, key: str) -> Any:  # noqa: ANN401  (JSON)
    found: Any = document
    for name in key.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def shown(value: Any) -> str:  # noqa: ANN401  (JSON)
    """Return a value in one line; "" for one that is not there."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_entry, value)) or "none"
    return value if isinstance(value, str) else json.dumps(value, separators=(", ", ": "))


def _entry(value: Any) -> str:  # noqa: ANN401  (JSON)
    if isinstance(value, Mapping) and "ip" in value:
        return f"{value['ip']}/{value.get('prefix-length')}"
    if isinstance(value, Mapping) and "destination" in value:
        gone = "without " if value.get("state") == "absent" else ""
        via = f" via {value['next-hop-address']}" if value.get("next-hop-address") else ""
        return f"{gone}{value['destination']}{via} on {value.get('next-hop-interface')}"
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return str(value["name"])
    return shown(value)


def meaning(difference: Document, state: State, node: Node) -> tuple[str, ...]:
    """Return what *difference* means for the node IPs, the gateway and br-ex, in sentences."""
    found = [*_node_ips(difference, state, node), *_gateways(difference)]
    touched = {str(item.get("name")) for item in difference.get("interfaces") or ()}
    if node.bridge in touched:
        found.append(f"{node.bridge}, the bridge of the node IP, is changed")
    return tuple(found)


def _node_ips(difference: Document, state: State, node: Node) -> Iterator[str]:
    item = next((one for one in difference.get("interfaces") or () if one.get("name") == node.link), None)
    if item is None or item.get("type") == OVS_BRIDGE:
        return
    gone = item.get("state") in GONE
    if gone:
        yield f"{node.link}, the link of the node IP, is {item['state']} then"
    before = link(state, str(node.link)) or {}
    others = [one for one in difference.get("interfaces") or () if one is not item and one.get("state") not in GONE]
    for address in node.node_ips:
        family = "ipv6" if ":" in address else "ipv4"
        section = {"enabled": False} if gone else item.get(family)
        if section is None:
            continue
        after = {**(before.get(family) or {}), **section}
        if after.get("enabled") is not False and _keeps(after, address):
            continue
        if to := next((str(one.get("name")) for one in others if _has(one, family, address)), None):
            yield f"the node IP {address} moves from {node.link} to {to}"
        elif not gone:
            yield (
                f"the node IP {address} leaves {node.link}; kubelet uses it until `nodenetctl reselect` and a restart "
                "of kubelet"
            )


def _has(item: Document, family: str, address: str) -> bool:
    return any(one.get("ip") == address for one in (item.get(family) or {}).get("address") or ())


def _keeps(section: Document, address: str) -> bool:
    """Return whether a link with *section* can have *address*; a lease may bring it again."""
    if section.get("dhcp") or section.get("autoconf"):
        return True
    return any(one.get("ip") == address for one in section.get("address") or ())


def _gateways(difference: Document) -> Iterator[str]:
    for route in (difference.get("routes") or {}).get("config") or ():
        if route.get("destination") in DEFAULT:
            via, out = route.get("next-hop-address") or "no gateway", route.get("next-hop-interface")
            ends = " is removed" if route.get("state") == "absent" else " is set"
            yield f"the default route over {via} on {out}{ends}"
