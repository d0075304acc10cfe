"""Which link is the uplink of br-ex, why this one, and when is there none?

In this order: the file ``default_bridge``, the link of the node IP, the uplink of the last boot, the best default
route. The file ``extra_bridge`` names the link below br-ex1. A link that was named and cannot be used is refused,
never passed over: the next one would be a guess.
"""

from __future__ import annotations

from enum import StrEnum

from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.uplink_checks import refuse_unfit
from nodenet.core.errors import UplinkRefused
from nodenet.core.nmstate import state
from nodenet.core.value import frozen

BRIDGE = "br-ex"
EXTRA_BRIDGE = "br-ex1"
DEFAULT_BRIDGE_FILE = "/etc/ovnk/default_bridge"
EXTRA_BRIDGE_FILE = "/etc/ovnk/extra_bridge"


class UplinkRule(StrEnum):
    """What decided."""

    DEFAULT_BRIDGE = "default-bridge"
    NODE_IP = "node-ip"
    REMEMBERED = "remembered"
    DEFAULT_ROUTE = "default-route"
    EXTRA_BRIDGE = "extra-bridge"


@frozen
class Uplink:
    """A link that goes below *bridge*, with what decided and why as a sentence."""

    bridge: str
    link: str
    rule: UplinkRule
    reason: str


def uplinks(facts: BridgeFacts) -> tuple[Uplink, ...]:
    """Return the uplink of br-ex, then that of br-ex1 where there is one. Raises UplinkRefused."""
    second = extra_uplink(facts)
    first = main_uplink(facts, second.link if second else None)
    if second and second.link == first.link:
        raise UplinkRefused(
            f"{EXTRA_BRIDGE_FILE} names {second.link}, which is the uplink of {BRIDGE} already ({first.reason})",
            remedy=f"Name another link in {EXTRA_BRIDGE_FILE}, or remove the file",
        )
    return (first, second) if second else (first,)


def extra_uplink(facts: BridgeFacts) -> Uplink | None:
    """Return the uplink of br-ex1, None where no file asks for it. Raises UplinkRefused."""
    if facts.extra_bridge is None:
        return None
    link = _named(facts, facts.extra_bridge, EXTRA_BRIDGE_FILE)
    link = below(facts, EXTRA_BRIDGE) or link if link == EXTRA_BRIDGE else link
    refuse_unfit(facts, link, EXTRA_BRIDGE, f"{EXTRA_BRIDGE_FILE} names {link}")
    return Uplink(EXTRA_BRIDGE, link, UplinkRule.EXTRA_BRIDGE, f"{EXTRA_BRIDGE_FILE} names it")


def main_uplink(facts: BridgeFacts, taken: str | None = None) -> Uplink:
    """Return the uplink of br-ex; *taken* is that of br-ex1. Raises UplinkRefused."""
    if facts.default_bridge is not None:
        found = _from_file(facts, facts.default_bridge)
        refuse_unfit(facts, found.link, BRIDGE, f"{DEFAULT_BRIDGE_FILE} names {found.link}")
        return found
    others = {EXTRA_BRIDGE, taken}
    chosen = _of_node_ip(facts, others) or _remembered(facts, others) or _of_default_route(facts, others)
    if chosen is None:
        raise UplinkRefused(
            "No link can be the uplink of br-ex: no node IP, no uplink of an earlier boot and no default route",
            remedy=f"Give a link a default route, or name one in {DEFAULT_BRIDGE_FILE}",
        )
    refuse_unfit(facts, chosen.link, BRIDGE, f"{chosen.link} was chosen because {chosen.reason}")
    return chosen


def refuse_another_uplink(facts: BridgeFacts) -> None:
    """Return where no bridge would lose the link that it is over, unless a file orders that. Raises UplinkRefused.

    A lease that comes late, or a NIC without a carrier, may let the node IP be on another link for once. A bridge whose
    link is gone from the node has none to lose.
    """
    for chosen in uplinks(facts):
        now = facts.uplink_of(chosen.bridge)
        ordered = chosen.rule in (UplinkRule.DEFAULT_BRIDGE, UplinkRule.EXTRA_BRIDGE)
        if ordered or now in (None, chosen.link) or state.link(facts.state, str(now)) is None:
            continue
        raise UplinkRefused(
            f"{chosen.bridge} is over {now} and stays there, although {chosen.link} would be chosen: {chosen.reason}",
            remedy=f"Look at the cable and the DHCP server of {now}; to change the uplink run `nodenetctl bridge make`",
        )


def below(facts: BridgeFacts, bridge: str) -> str | None:
    """Return the link of the host that is a port of *bridge* now, None where there is none."""
    return facts.uplink_of(bridge)


def _from_file(facts: BridgeFacts, text: str) -> Uplink:
    link = _named(facts, text, DEFAULT_BRIDGE_FILE)
    if link == BRIDGE and (port := below(facts, BRIDGE)):
        return Uplink(
            BRIDGE, port, UplinkRule.DEFAULT_BRIDGE, f"{DEFAULT_BRIDGE_FILE} names {BRIDGE}, which is over it"
        )
    return Uplink(BRIDGE, link, UplinkRule.DEFAULT_BRIDGE, f"{DEFAULT_BRIDGE_FILE} names it")


def _named(facts: BridgeFacts, text: str, path: str) -> str:
    """Return the link that a file's first line names. Raises UplinkRefused."""
    name = next(iter(text.splitlines()), "").strip()
    if not name:
        raise UplinkRefused(f"{path} is empty", remedy="Write the name of one link into it, or remove the file")
    if name not in (BRIDGE, EXTRA_BRIDGE) and state.link(facts.state, name) is None:
        known = ", ".join(sorted(_links(facts))) or "none"
        raise UplinkRefused(
            f"{path} names {name!r}, and this node has no such link", remedy=f"Name one of the links it has: {known}"
        )
    return name


def _of_node_ip(facts: BridgeFacts, others: set[str | None]) -> Uplink | None:
    link = facts.node_ip_link
    if link is None or link in others:
        return None
    address = f"the node IP {facts.node_ips[0]}" if facts.node_ips else "the node IP"
    if link != BRIDGE:
        return Uplink(BRIDGE, link, UplinkRule.NODE_IP, f"{address} is on it")
    port = below(facts, BRIDGE)
    return Uplink(BRIDGE, port, UplinkRule.NODE_IP, f"it carries {address}") if port else None


def _remembered(facts: BridgeFacts, others: set[str | None]) -> Uplink | None:
    link = facts.remembered
    if link is None or link in others:
        return None
    if state.link(facts.state, link) is not None:
        return Uplink(BRIDGE, link, UplinkRule.REMEMBERED, f"it was the uplink of {BRIDGE} at the last boot")
    renamed = _with_mac(facts, facts.remembered_mac)
    if renamed is None or renamed in others:
        return None
    reason = f"it has the MAC of {link}, the uplink of {BRIDGE} at the last boot"
    return Uplink(BRIDGE, renamed, UplinkRule.REMEMBERED, reason)


def _with_mac(facts: BridgeFacts, mac: str | None) -> str | None:
    if mac is None:
        return None
    # A bridge of Open vSwitch has a copy of its uplink's MAC.
    links = (item for item in facts.devices if not item.kind.startswith("ovs-"))
    found = (item.link for item in links if (item.permanent_mac or item.mac or "").lower() == mac.lower())
    return min(found, default=None)


def _of_default_route(facts: BridgeFacts, others: set[str | None]) -> Uplink | None:
    """Take the default route of the lowest metric, IPv4 before IPv6, as the kernel would."""
    running = facts.state.get("routes", {}).get("running") or ()
    found = [
        (state.is_ipv6(route), state.metric_of(route), link)
        for route in running
        if state.is_default(route) and (link := _under(facts, route)) and link not in others
    ]
    if not found:
        return None
    ipv6, metric, link = min(found)
    family = "IPv6" if ipv6 else "IPv4"
    reason = f"it has the {family} default route with the best metric ({metric})"
    return Uplink(BRIDGE, link, UplinkRule.DEFAULT_ROUTE, reason)


def _under(facts: BridgeFacts, route: state.State) -> str | None:
    """Return the link that *route* leaves by, the one below br-ex where it leaves by that."""
    link = route.get("next-hop-interface")
    return below(facts, BRIDGE) if link == BRIDGE else link


def _links(facts: BridgeFacts) -> set[str]:
    shown_ones = facts.state.get("interfaces") or ()
    return {str(item["name"]) for item in shown_ones if item.get("type") in {"ethernet", "veth", "bond", "vlan"}}
