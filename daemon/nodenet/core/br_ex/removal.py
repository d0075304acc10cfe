"""How does everything that moved to br-ex move back to the uplink?

The stage that applies this document restores the uplink's own profile over D-Bus, if it was kept; the document ensures
that the addresses are there in the same transaction. Metrics are those of that profile, else NetworkManager's.
"""

from __future__ import annotations

from typing import Any

from nodenet.core.br_ex import dns as bridge_dns
from nodenet.core.br_ex import ip as bridge_ip
from nodenet.core.br_ex import routes as bridge_routes
from nodenet.core.br_ex.condition import Owner, condition_of
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.source import Source, source_of
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.nmstate import state

NO_METRIC = -1
"""How NMState and NetworkManager say: that of the link's kind."""
Document = dict[str, Any]


def removal(facts: BridgeFacts, originals: tuple[Profile, ...] = (), bridges: tuple[str, ...] = ()) -> Document:
    """Return the document that removes *bridges* (default: br-ex and br-ex1) that exist and are not foreign.

    *originals* are the profiles that the uplinks had before. A bridge without an uplink goes all the same. Nothing to
    take away: no interfaces.
    """
    interfaces: list[Document] = []
    routes: list[Document] = []
    rules: list[Document] = []
    sources: dict[str, Source] = {}
    for bridge in bridges or (BRIDGE, EXTRA_BRIDGE):
        if condition_of(facts, bridge).owner in {Owner.NONE, Owner.FOREIGN}:
            continue
        interfaces += [{"name": bridge, "type": kind, "state": "absent"} for kind in ("ovs-interface", "ovs-bridge")]
        uplink = facts.uplink_of(bridge)
        if uplink is None or state.link(facts.state, uplink) is None:
            continue
        source = source_of(facts, bridge, uplink)
        original = next((profile for profile in originals if uplink in (profile.link, profile.name)), None)
        interfaces.append(_uplink(source, original))
        routes += bridge_routes.given_back(source, original)
        sources[bridge] = source
        rules += bridge_routes.rules(source, uplink)
    document: Document = {"interfaces": interfaces}
    document |= {"routes": {"config": routes}} if routes else {}
    document |= {"route-rules": {"config": rules}} if rules else {}
    names = {bridge: source.uplink for bridge, source in sources.items()}
    return document | bridge_dns.resolver(sources.values(), names)


def _uplink(source: Source, original: Profile | None) -> Document:
    kind = str(source.uplink_item.get("type"))
    metrics = {family: _metric(original, family) for family in ("ipv4", "ipv6")}
    ip = {"ipv4": bridge_ip.ipv4(source, metrics["ipv4"]), "ipv6": bridge_ip.ipv6(source, metrics["ipv6"])}
    ip["ipv4"] |= _known_by_dhcp(source) if ip["ipv4"].get("dhcp") else {}
    wait = source.item.get("wait-ip")
    kind = "ethernet" if kind == "veth" else kind
    return {"name": source.uplink, "type": kind, "state": "up", **({"wait-ip": wait} if wait else {}), **ip}


def _known_by_dhcp(source: Source) -> Document:
    """Return the client identifier of the lease, where the uplink has another MAC than the bridge had."""
    lease = source.lease4
    return {"dhcp-client-id": lease.client_id} if source.first and lease and lease.client_id else {}


def _metric(original: Profile | None, family: str) -> int:
    return int(original.setting(family, "route-metric", NO_METRIC)) if original else NO_METRIC
