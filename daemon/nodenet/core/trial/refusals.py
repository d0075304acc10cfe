"""What does a trial change, and when is a trial refused?"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from nodenet.core.errors import Busy, NodeFileInvalid, NodenetError, PublishFailed, UplinkRefused, UsageInvalid
from nodenet.core.nmstate.state import DEFAULT, OVS_BRIDGE, State, link
from nodenet.core.node_file.content import OVS_KEYS, Desired
from nodenet.core.node_file.find import EXTENSIONS, is_of_cluster
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


# When is a trial refused?

REMOVE_FIRST = (
    "Run `nodenetctl bridge remove` first, on a drained node; `nodenetctl bridge make` makes the bridge again"
)


def not_over(health: str) -> Busy:
    """Return the refusal of a trial while stages still run."""
    return Busy(f"the boot of this node is not over ({health})", remedy="Wait with `nodenetctl status --wait`")


def not_ours(provider: str) -> UsageInvalid:
    """Return the refusal where another program applies the node file."""
    return UsageInvalid(
        f'`nmstate = "{provider}"`: nodenetd does not apply node files here',
        remedy='Set `nmstate = "builtin"` under [stages] in the settings',
    )


def nothing_to_try(name: str) -> UsageInvalid:
    """Return the refusal of a file that changes nothing."""
    return UsageInvalid(
        f"{name} asks for what is there already: there is nothing to try",
        remedy="Copy it into the directory of node files; `nodenetctl check` checks it",
    )


def own_file_changed(name: str) -> UsageInvalid:
    """Return the refusal where the node's own file, *name*, is the one to try, or was changed since it was read."""
    return UsageInvalid(
        f"{name}, the node's own file, is the one to try or was changed since nodenetd read it: it would be applied at "
        "the end of every trial, also without a confirmation",
        remedy="Put it back as it was (`applied` in its directory is a copy of the file in force) and try a copy in "
        "another directory; or apply it with `nodenetctl reload --wait`",
    )


def not_undone(name: str, difference: Mapping[str, Any], state: Mapping[str, Any]) -> UsageInvalid | None:
    """Return the refusal of a file that changes what NetworkManager's checkpoint does not have.

    libnmstate writes these itself. *difference* names both host names also where only one of them differs from *state*.
    """
    names, present = difference.get("hostname") or {}, state.get("hostname") or {}
    changed = ["hostname"] if any(value != present.get(key) for key, value in names.items()) else []
    changed += [key for key in OVS_KEYS if difference.get(key)]
    if not changed:
        return None
    return UsageInvalid(
        f"{name} changes {' and '.join(changed)}, which NetworkManager does not roll back",
        remedy="Try the file without that; `nodenetctl reload --wait` applies the rest, without a trial",
    )


def asks_for_nothing(name: str) -> NodeFileInvalid:
    """Return the refusal of a file without content."""
    return NodeFileInvalid(f"{name} asks for nothing", remedy="Write into it what this node needs")


def below_bridge(name: str, wish: Desired, touched: Collection[str], below: Mapping[str, str]) -> NodenetError | None:
    """Return the refusal of a file that changes a link below br-ex, or a bridge that nodenetd has made.

    *touched* are the links that the file *name* changes, *below* is link → bridge for bridges that no file defines.
    """
    for bridge in sorted(set(below.values())):
        if bridge in wish.bridges or bridge in touched:
            cause = f"{name} changes {bridge}, which nodenetd made over {_over(below, bridge)}"
            return UplinkRefused(cause, remedy=REMOVE_FIRST)
    for lower in sorted(touched):
        if lower in below:
            return UplinkRefused(f"{name} changes {lower}, which is below {below[lower]}", remedy=REMOVE_FIRST)
    return None


def _over(below: Mapping[str, str], bridge: str) -> str:
    return " and ".join(sorted(lower for lower, above in below.items() if above == bridge))


def still_installed(target: PurePath, why: PublishFailed, error: NodenetError) -> NodenetError:
    """Return *error*, which ended a trial after its file was installed as *target*, with *why* that file is there."""
    cause = f"{error.cause}; the file of the trial is still installed, and the next boot applies it: {why.cause}"
    remedy = f"Put {target} back as it was (`applied` in its directory is a copy of the file in force). {why.remedy}"
    return error.saying(cause, remedy)


def touched_links(difference: Mapping[str, Any]) -> frozenset[str]:
    """Return the links that a difference of libnmstate changes."""
    return frozenset(str(item.get("name")) for item in difference.get("interfaces") or ())


def install_name(found: str | None, hostname: str | None) -> str:
    """Return the name under which a confirmed file is installed: that of the node's own file, else a new one.

    Raises UsageInvalid where the node has no name yet.
    """
    if found and not is_of_cluster(found):
        return found
    if not hostname:
        raise UsageInvalid(
            "this node has no host name yet, so a confirmed file could not be installed for it",
            remedy="Look at `nodenetctl explain hostname`",
        )
    return hostname.split(".", maxsplit=1)[0] + EXTENSIONS[0]
