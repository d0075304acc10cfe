"""How does a link's whole IP configuration move to br-ex, and what must be true afterwards?

A pure function of the facts: the NMState document of the final state, and the settings that NMState has no key for.
Leased addresses move in two steps, so that the node always has them: first DHCP is enabled *and* the lease in use is
set as static address and routes; when the server has confirmed the lease, the static copy is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from ipaddress import ip_address
from typing import Any

from nodenet.core.br_ex import dns as bridge_dns
from nodenet.core.br_ex import ip as bridge_ip
from nodenet.core.br_ex import routes as bridge_routes
from nodenet.core.br_ex.facts import MARK, BridgeFacts
from nodenet.core.br_ex.source import Interface, Source, source_of
from nodenet.core.br_ex.uplink import BRIDGE, Uplink, uplinks
from nodenet.core.ip import IPAddress
from nodenet.core.nmstate import state
from nodenet.core.nmstate.state import FIRST
from nodenet.core.settings.model import Datapath
from nodenet.core.value import frozen

METRICS = {BRIDGE: 48}
EXTRA_METRIC = 49
Document = dict[str, Any]


@frozen
class Expectation:
    """What must be true of the bridge before its apply is committed; libnmstate verifies MAC and MTU itself."""

    bridge: str
    addresses: tuple[IPAddress, ...]
    gateways: tuple[IPAddress, ...]


@frozen
class Plan:
    """What to do, in this order: apply, set *nm_properties*, then *finish_settings* once the leases are confirmed.

    *document* is the final state. *document_with_lease* is applied instead where an address is leased (None: nothing
    is). *nm_properties*: bridge → setting → property → value, for NetworkManager's profile of that bridge's interface,
    in the types of nm-settings-dbus(5). *finish_settings*, in the same form, takes the static copy of a lease away; it
    is set and reapplied within the checkpoint. An apply of libnmstate would do the same and leave the bridge without
    its autoconfigured IPv6 address for a moment (0.15 s on the lab's node). *sysctls*: bridge → name as in the facts →
    value. *clear_global_dns*: empty NetworkManager's ``GlobalDnsConfiguration``; libnmstate puts the name servers of a
    static link there as well, and they would hide those of every other link. *notes*: sentences about what is not kept.
    """

    uplinks: tuple[Uplink, ...]
    document: Document
    document_with_lease: Document | None
    finish_settings: Mapping[str, Mapping[str, Mapping[str, Any]]]
    nm_properties: Mapping[str, Mapping[str, Mapping[str, Any]]]
    sysctls: Mapping[str, Mapping[str, str]]
    expect: tuple[Expectation, ...]
    clear_global_dns: bool = False
    notes: tuple[str, ...] = field(default=())


def plan(facts: BridgeFacts, datapath: Datapath = Datapath.SYSTEM) -> Plan:
    """Return the plan. Raises UplinkRefused, before anything is touched."""
    chosen = uplinks(facts)
    sources = {uplink: source_of(facts, uplink.bridge, uplink.link) for uplink in chosen}
    document = _whole(sources, datapath, _final)
    leased = [uplink for uplink, source in sources.items() if _leased(source, uplink.bridge)]
    return Plan(
        uplinks=chosen,
        document=document,
        document_with_lease=_whole(sources, datapath, _with_lease) if leased else None,
        finish_settings=_by_bridge({uplink: sources[uplink] for uplink in leased}, _finish_settings),
        nm_properties=_by_bridge(sources, _nm_properties),
        sysctls=_by_bridge(sources, _sysctls),
        expect=tuple(_expectation(source, uplink.bridge) for uplink, source in sources.items()),
        clear_global_dns=bridge_dns.hides_other_links(facts, document),
        notes=tuple(note for notes in _by_bridge(sources, _notes).values() for note in notes),
    )


def unplanned(made: Plan, facts: BridgeFacts, places: Mapping[IPAddress, str]) -> IPAddress | None:
    """Return a node IP that a link of *made* has now and had not when *facts* were gathered, None where there is none.

    *places*: address → link, as of now. Such a plan was made of a link without configuration, and the bridge would have
    none for ever.
    """
    links = {name for uplink in made.uplinks for name in (uplink.link, uplink.bridge)}
    kept = {address for item in made.expect for address in item.addresses}
    return next((each for each in facts.node_ips if each not in kept and places.get(each) in links), None)


def metric_of(bridge: str) -> int:
    """Return the metric of the bridge's routes: br-ex 48, br-ex1 49."""
    return METRICS.get(bridge, EXTRA_METRIC)


Part = Callable[[Source, str], tuple[Document, list[Document]]]


def _whole(sources: Mapping[Uplink, Source], datapath: Datapath, part: Part) -> Document:
    """Return one document for all bridges; *part* gives an interface's IP sections and the routes."""
    interfaces: list[Document] = []
    routes: list[Document] = []
    rules: list[Document] = []
    for uplink, source in sources.items():
        ip, own = part(source, uplink.bridge)
        interfaces += [_below(source), _bridge(source, uplink, datapath), _interface(source, uplink.bridge) | ip]
        routes += own
        rules += bridge_routes.rules(source, uplink.bridge)
    document: Document = {"interfaces": interfaces}
    document |= {"routes": {"config": routes}} if routes else {}
    document |= {"route-rules": {"config": rules}} if rules else {}
    names = {source.link: uplink.bridge for uplink, source in sources.items()}
    return document | bridge_dns.resolver(sources.values(), names)


def _below(source: Source) -> Document:
    """Return the uplink: without addresses, everything else unchanged."""
    kind = str(source.uplink_item.get("type"))
    kind = "ethernet" if kind == "veth" else kind  # as `veth` it would have to name its peer
    ip = {"ipv4": dict(bridge_ip.DISABLED), "ipv6": dict(bridge_ip.DISABLED)}
    # Pods have the MTU of the bridge in mind: a link that takes the place of another one carries it as well.
    mtu = {"mtu": _mtu(source)} if source.replaced and _mtu(source) else {}
    return {"name": source.uplink, "type": kind, "state": "up", **mtu, **_pinned(source), **ip}


def _mtu(source: Source) -> int:
    """Return the MTU of the bridge, 0 where it is not known."""
    items = (source.uplink_item, source.item) if source.replaced else (source.uplink_item,)
    return max(int(item.get("mtu") or 0) for item in items)


def _pinned(source: Source) -> Document:
    """Return the MAC of a bond: below the bridge it is activated again and would take that of its first port."""
    is_bond = source.uplink_item.get("type") == "bond"
    mac = source.uplink_item.get("mac-address") if source.first else source.mac
    return {"mac-address": mac} if is_bond and source.keeps_mac and mac else {}


def _bridge(source: Source, uplink: Uplink, datapath: Datapath) -> Document:
    options = {"options": {"datapath": str(datapath)}} if datapath is Datapath.NETDEV else {}
    ports = [{"name": source.uplink}, {"name": uplink.bridge}]
    return {
        "name": uplink.bridge,
        "type": state.OVS_BRIDGE,
        "state": "up",
        **({} if source.has_mac else _mac(source)),
        # OVN's patch port to br-int is not ours, and no difference.
        "bridge": {**options, "allow-extra-patch-ports": True, "port": ports},
        "ovs-db": {"external_ids": {MARK: source.uplink, **({FIRST: source.first} if source.first else {})}},
    }


def _interface(source: Source, bridge: str) -> Document:
    mtu = _mtu(source)
    wait = source.item.get("wait-ip")
    return {
        "name": bridge,
        "type": state.OVS_INTERFACE,
        "state": "up",
        **_mac(source),
        **({"mtu": mtu} if mtu else {}),
        **({"wait-ip": wait} if wait else {}),
    }


def _mac(source: Source) -> Document:
    if not source.keeps_mac:
        return {}
    return {"mac-address": source.mac} if source.has_mac and source.mac else {"copy-mac-from": source.uplink}


def _final(source: Source, bridge: str) -> tuple[Document, list[Document]]:
    metric = metric_of(bridge)
    ip = {"ipv4": bridge_ip.ipv4(source, metric), "ipv6": bridge_ip.ipv6(source, metric)}
    return ip, bridge_routes.configured(source, bridge, metric)


def _with_lease(source: Source, bridge: str) -> tuple[Document, list[Document]]:
    ip, routes = _final(source, bridge)
    leased = _leased(source, bridge)
    if not leased:
        return ip, routes
    ip["ipv4"]["address"] = bridge_ip.addresses([*source.static("ipv4"), *leased])
    return ip, routes + bridge_routes.learnt(source, bridge, metric_of(bridge))


def _leased(source: Source, bridge: str) -> list[Interface]:
    """Return the addresses that are leased by DHCPv4 and must be there all the way.

    IPv6 is left out: NetworkManager restarts autoconfiguration when a static address is removed, so the gap would only
    come later. Token and DUID bring the same address back by themselves.
    """
    if source.link == bridge or source.method("ipv4") != "auto":
        return []  # on the bridge already: nothing is on its way
    static = source.static("ipv4")
    return [item for item in source.dynamic("ipv4") if item not in static]


def _finish_settings(source: Source, bridge: str) -> dict[str, dict[str, Any]]:
    """Return the IPv4 properties of the final state: without the static copy of the lease and its routes."""
    static = [{"address": str(item.ip), "prefix": item.network.prefixlen} for item in source.static("ipv4")]
    routes = bridge_routes.route_data(source, bridge, metric_of(bridge), "ipv4")
    return {"ipv4": {"address-data": static, "route-data": routes}}


def _by_bridge(sources: Mapping[Uplink, Source], part: Callable[[Source, str], Any]) -> dict[str, Any]:
    found = {uplink.bridge: part(source, uplink.bridge) for uplink, source in sources.items()}
    return {bridge: values for bridge, values in found.items() if values}


def _nm_properties(source: Source, bridge: str) -> dict[str, dict[str, Any]]:
    metric = metric_of(bridge)
    found = bridge_ip.nm_properties(source, metric)
    for family, routes in bridge_routes.on_link(source, bridge, metric).items():
        found.setdefault(family, {})["route-data"] = routes
    return found


def _sysctls(source: Source, _bridge: str) -> dict[str, str]:
    own, new = source.facts.sysctls.get(source.link, {}), source.facts.sysctls.get("default", {})
    return {name: value for name, value in sorted(own.items()) if new.get(name) != value and name in MOVED}


def _expectation(source: Source, bridge: str) -> Expectation:
    present = {item.ip for family in ("ipv4", "ipv6") for item in source.shown(family)}
    gateways = {ip_address(gateway) for gateway in bridge_routes.gateways(source)}
    return Expectation(
        bridge=bridge,
        addresses=tuple(address for address in source.facts.node_ips if address in present),
        gateways=tuple(sorted(gateways, key=lambda address: (address.version, address))),
    )


def _notes(source: Source, _bridge: str) -> list[str]:
    return [
        f"{address} on {source.link} will change: one token keeps one autoconfigured address, and this prefix has "
        "another interface identifier"
        for address in bridge_ip.other_identifiers(source)
    ]


_BOTH = (
    *("accept_redirects", "accept_source_route", "disable_policy", "drop_unicast_in_l2_multicast", "forwarding"),
    "ignore_routes_with_linkdown",
)
_IPV4 = (
    *("accept_local", "arp_accept", "arp_announce", "arp_evict_nocarrier", "arp_filter", "arp_ignore", "arp_notify"),
    *("bc_forwarding", "bootp_relay", "disable_xfrm", "drop_gratuitous_arp", "force_igmp_version"),
    *("igmpv2_unsolicited_report_interval", "igmpv3_unsolicited_report_interval", "log_martians", "medium_id"),
    *("promote_secondaries", "proxy_arp", "proxy_arp_pvlan", "route_localnet", "rp_filter", "secure_redirects"),
    *("send_redirects", "shared_media", "src_valid_mark"),
)
_IPV6 = (
    *("accept_dad", "accept_ra", "accept_ra_defrtr", "accept_ra_from_local", "accept_ra_min_hop_limit"),
    *("accept_ra_min_lft", "accept_ra_mtu", "accept_ra_pinfo", "accept_ra_rt_info_max_plen"),
    *("accept_ra_rt_info_min_plen", "accept_ra_rtr_pref", "accept_untracked_na", "autoconf", "dad_transmits"),
    *("drop_unsolicited_na", "enhanced_dad", "force_mld_version", "force_tllao", "hop_limit", "keep_addr_on_down"),
    *("mldv1_unsolicited_report_interval", "mldv2_unsolicited_report_interval", "ndisc_evict_nocarrier"),
    *("ndisc_notify", "ndisc_tclass", "optimistic_dad", "proxy_ndp", "ra_defrtr_metric", "ra_honor_pio_life"),
    *("router_probe_interval", "router_solicitation_delay", "router_solicitation_interval"),
    *("router_solicitation_max_interval", "router_solicitations", "seg6_enabled", "seg6_require_hmac"),
    *("suppress_frag_ndisc", "use_oif_addrs_only", "use_optimistic"),
)
# Which of the kernel's settings of a link move to the bridge with its addresses?
# The names are those of ip-sysctl in the kernel's documentation. This is a list of what moves, not of what stays: a
# setting that is read-only (``mc_forwarding``), that the kernel or NetworkManager computes, or that a later kernel adds
# must not make br-ex impossible.

MOVED = frozenset(
    f"net/{family}/conf/{name}"
    for family, names in (("ipv4", (*_BOTH, *_IPV4)), ("ipv6", (*_BOTH, *_IPV6)))
    for name in names
)
"""By name below ``/proc/sys`` with the link left out."""
