"""Which node file would give a new host with the same hardware the network that this host has?

The state is that of libnmstate. Only what differs from the defaults is written, each with the reason where it is not
plain; what no file can bring (leases, counters, hardware) is left out, and links that are left out are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import Any

from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.day_one.yaml_writing import Remarked, Value
from nodenet.core.ip import OVN_BRIDGE, IPNetwork, is_masquerade, masquerade_shown

# Which values does a new profile or link have by default? Other values of a host belong in its node file.
#
# Sources: nm-settings-nmcli(5), the kernel's bonding.rst, ip-link(8), and NMState's API reference.

MTU = 1500
ROUTE_METRIC: Mapping[str, int] = {
    "ethernet": 100,
    "infiniband": 150,
    "ipsec": 50,
    "bond": 300,
    "vlan": 400,
    "macsec": 400,
    "vrf": 470,
    "linux-bridge": 425,
    "ovs-interface": 800,
    "ovs-bridge": 800,
    "vxlan": 500,
    "dummy": 550,
    "wifi": 600,
}
"""Type of link → metric of the routes that its profile learns (NetworkManager.conf(5), ``ipv4.route-metric``)."""
IPV6_ROUTE = 1024
"""The kernel's own metric of an IPv6 route (ipv6_route(7))."""
BOND: Mapping[str, object] = {
    "ad_actor_sys_prio": 65535,
    "ad_actor_system": "00:00:00:00:00:00",
    "ad_select": "stable",
    "ad_user_port_key": 0,
    "all_slaves_active": "dropped",
    "arp_all_targets": "any",
    "arp_interval": 0,
    "arp_ip_target": "",
    "arp_validate": "none",
    "arp_missed_max": 2,
    "downdelay": 0,
    "fail_over_mac": "none",
    "lacp_active": "on",
    "lacp_rate": "slow",
    "lp_interval": 1,
    "min_links": 0,
    "num_grat_arp": 1,
    "num_unsol_na": 1,
    "packets_per_slave": 1,
    "peer_notif_delay": 0,
    "primary": "",
    "primary_reselect": "always",
    "resend_igmp": 1,
    "tlb_dynamic_lb": True,
    "updelay": 0,
    "use_carrier": True,
    "xmit_hash_policy": "layer2",
}
"""Kernel's bonding.rst; ``miimon`` is always written, since a bond without it does not see a lost carrier."""
BRIDGE: Mapping[str, object] = {
    "group-addr": "01:80:C2:00:00:00",
    "group-forward-mask": 0,
    "group-fwd-mask": 0,
    "hash-max": 4096,
    "mac-ageing-time": 300,
    "multicast-last-member-count": 2,
    "multicast-last-member-interval": 100,
    "multicast-membership-interval": 26000,
    "multicast-querier": False,
    "multicast-querier-interval": 25500,
    "multicast-query-interval": 12500,
    "multicast-query-response-interval": 1000,
    "multicast-query-use-ifaddr": False,
    "multicast-router": "auto",
    "multicast-snooping": True,
    "multicast-startup-query-count": 2,
    "multicast-startup-query-interval": 3124,
    "vlan-default-pvid": 1,
    "vlan-protocol": "802.1q",
}
BRIDGE_STATUS = frozenset({"gc-timer", "hello-timer"})
"""Timers of the kernel, which no configuration sets."""
STP: Mapping[str, object] = {"forward-delay": 15, "hello-time": 2, "max-age": 20, "priority": 32768}
BRIDGE_PORT: Mapping[str, object] = {"stp-hairpin-mode": False, "stp-path-cost": 100, "stp-priority": 32}
OVS_BRIDGE: Mapping[str, object] = {
    "fail-mode": "",
    "mcast-snooping-enable": False,
    "rstp": False,
    "datapath": "",
    "stp": {"enabled": False},
}
VLAN: Mapping[str, object] = {
    "protocol": "802.1q",
    "registration-protocol": "none",
    "reorder-headers": True,
    "loose-binding": False,
}


def beyond_defaults(found: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """Return the part of *found* whose values differ from *defaults*."""
    return {key: value for key, value in found.items() if key not in defaults or defaults[key] != value}


# Which IP configuration does a link of a running host have, in keys of a node file? Leases are not configuration.

State = Mapping[str, Any]
_LIFETIMES = ("valid-life-time", "valid-left", "valid-lft")
"""How releases of NMState spell the remaining lifetime of an address."""
_AUTOMATIC: Mapping[str, object] = {
    "auto-dns": True,
    "auto-gateway": True,
    "auto-routes": True,
    "auto-route-table-id": 0,
}
_IDENTITY = ("dhcp-client-id", "dhcp-duid", "dhcp-custom-hostname")
OF_NMSTATE = "ll"
"""The identity that libnmstate gives every new profile."""
_ANY = ("0.0.0.0/0", "::/0")


def is_set(section: State) -> bool:
    """Return whether a family has anything beyond a link-local address."""
    return bool(section.get("dhcp") or section.get("autoconf") or _static(section))


def ip_sections(link: State, kind: str, running: Sequence[State]) -> dict[str, Value]:
    """Return ``ipv4`` and ``ipv6`` of a link of type *kind*; *running* are the routes that the kernel has."""
    found: dict[str, Value] = {}
    for family, version in (("ipv4", 4), ("ipv6", 6)):
        section = link.get(family)
        if isinstance(section, Mapping):
            found[family] = _ip_section(section, str(link["name"]), kind, version, running)
    return found


def _ip_section(section: State, name: str, kind: str, version: int, running: Sequence[State]) -> Value:
    if not section.get("enabled"):
        return {"enabled": False}
    dhcp: Value = bool(section.get("dhcp"))
    if version == 6 and dhcp and not section.get("dhcp-duid") and _is_leased_alone(section):
        dhcp = Remarked(dhcp, "a server may give another address: the new profile has a DUID of its own")
    entry: dict[str, Value] = {"enabled": True, "dhcp": dhcp}
    if version == 6:
        entry["autoconf"] = bool(section.get("autoconf"))
    if section.get("dhcp") or section.get("autoconf"):
        entry |= _automatic(section, name, kind, version, running)
    if static := _static(section):
        entry["address"] = [{"ip": each["ip"], "prefix-length": each["prefix-length"]} for each in static]
    return entry


def _automatic(section: State, name: str, kind: str, version: int, running: Sequence[State]) -> dict[str, Value]:
    entry: dict[str, Value] = {
        key: section[key] for key, usual in _AUTOMATIC.items() if section.get(key, usual) != usual
    }
    metric = section.get("auto-route-metric", -1)
    if metric not in (-1, None):
        entry["auto-route-metric"] = metric
    elif (inuse := _metric(name, version, running)) not in (None, ROUTE_METRIC.get(kind)):
        entry["auto-route-metric"] = Remarked(inuse, "as it is now: NetworkManager counts up where links compete")
    entry |= {key: section[key] for key in _IDENTITY if section.get(key) not in (None, "", OF_NMSTATE)}
    if version == 6 and section.get("autoconf") and (token := _token(section)):
        entry["token"] = Remarked(token, "keeps the address that router advertisements give")
    return entry


def _metric(name: str, version: int, running: Sequence[State]) -> int | None:
    """Return the metric of the default route that the link has learned."""
    any_network = _ANY[version == 6]
    mine = [
        each for each in running if each.get("next-hop-interface") == name and each.get("destination") == any_network
    ]
    metrics = [each["metric"] for each in mine if isinstance(each.get("metric"), int)]
    return min(metrics) if metrics else None


def _static(section: State) -> list[State]:
    """Return the addresses that no lease or advertisement brought."""
    listed = section.get("address")
    found = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, Sequence) else []
    return [each for each in found if not (_is_leased(each) or _is_link_local(str(each.get("ip"))))]


def _is_leased(address: State) -> bool:
    """Return whether a lease or an advertisement brought an address: its lifetime ends."""
    return any(address.get(key) not in (None, "forever") for key in _LIFETIMES)


def _token(section: State) -> str | None:
    """Return the interface identifier of the advertised addresses, where it is not made of the MAC address."""
    if section.get("token"):
        return str(section["token"])
    leased = [each for each in section.get("address", ()) if _is_leased(each) and each.get("prefix-length") == 64]
    identifiers = {int(IPv6Address(each["ip"])) & ((1 << 64) - 1) for each in leased}
    if len(identifiers) != 1:
        return None
    identifier = identifiers.pop()
    made_of_mac = identifier >> 24 & 0xFFFF == 0xFFFE
    return None if made_of_mac else str(IPv6Address(identifier))


def _is_leased_alone(section: State) -> bool:
    """Return whether DHCPv6 gave an address (RFC 8415: without a prefix, so NetworkManager takes 128)."""
    return any(_is_leased(each) and each.get("prefix-length") == 128 for each in section.get("address", ()))


def _is_link_local(text: str) -> bool:
    """Return whether each host makes this address itself."""
    try:
        return ip_address(text).is_link_local
    except ValueError:
        return True


# Which node file gives a new host the network of this one?

HIDDEN = "<_password_hid_by_nmstate>"
PINNED = frozenset({"token", "auto-route-metric"})
"""Keys that are written so that a new profile gets what the host has by chance."""
SECTIONS = {
    # type of link → the section that describes it
    "vlan": "vlan",
    "vrf": "vrf",
    "vxlan": "vxlan",
    "mac-vlan": "mac-vlan",
    "mac-vtap": "mac-vtap",
    "ipvlan": "ipvlan",
    "macsec": "macsec",
    "infiniband": "infiniband",
    "hsr": "hsr",
}
_BARE = frozenset({"ethernet", "dummy", "ovs-interface"})
_KNOWN = _BARE | set(SECTIONS) | {"bond", "linux-bridge", "ovs-bridge"}
_OF_PLUGINS = ("br-int", "br-ext", "br-local")
_OF_PLUGIN_PREFIXES = ("ovn-k8s-", "patch-", "genev_sys_", "ovn")


@dataclass(slots=True)
class Made:
    """The document, with remarks, and a line for each link that is not in it."""

    document: dict[str, Value] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def made(state: State) -> Made:
    """Return the node file for a host in *state*. Raises ArtefactInvalid when that is not a state of NMState."""
    links = state.get("interfaces")
    if not isinstance(links, Sequence) or not all(isinstance(link, Mapping) and link.get("name") for link in links):
        raise ArtefactInvalid("not a state of NMState: it has no list of interfaces with names")
    found = Made()
    state = _without_masquerade(state, links)
    links = _links(state)
    kept = [link for link in links if _is_kept(link, links, found.left_out)]
    kept.sort(key=lambda link: (_kind(link) != "ethernet", str(link["name"]), _kind(link) != "ovs-bridge"))
    running = _list(state, "routes", "running")
    found.document["interfaces"] = [_link(link, kept, running) for link in kept]
    names = {str(link["name"]) for link in kept}
    _resolver(state, found)
    routes = [_route(route) for route in _list(state, "routes", "config") if route.get("next-hop-interface") in names]
    if routes:
        found.document["routes"] = {"config": routes}
    rules = [_rule(rule) for rule in _list(state, "route-rules", "config")]
    if rules:
        found.document["route-rules"] = {"config": rules}
    if mappings := state.get("ovn"):
        found.document["ovn"] = mappings
    return found


def state_in(found: object) -> State:
    """Return the state of a saved document: NMState's own, or a NodeNetworkState. Raises ArtefactInvalid."""
    if not isinstance(found, Mapping):
        raise ArtefactInvalid("not a state of NMState: its first level has no keys such as interfaces")
    if found.get("kind") == "NodeNetworkState":
        status = found.get("status")
        found = status.get("currentState") if isinstance(status, Mapping) else None
        if not isinstance(found, Mapping):
            raise ArtefactInvalid("$.status.currentState is missing")
    if "links" in found and "interfaces" not in found:
        raise ArtefactInvalid("a snapshot of `nodenetctl snapshot` has no profiles: save `nmstatectl show` instead")
    return found


def not_expressed(left: State, state: State) -> list[str]:
    """Return what really differs in libnmstate's difference to *state*: links by name, else sections.

    Of a bridge with ports libnmstate repeats the ports, though they are the same.
    """
    ports = {(str(link.get("name")), link.get("type")): _ports(link) for link in _links(state)}
    links = []
    for link in _links(left):
        asked = set(link) - {"name", "type", "state"}
        same = asked == {"bridge"} and set(link["bridge"]) == {"port"}
        if asked and not (same and _ports(link) <= ports.get((str(link.get("name")), link.get("type")), set())):
            links.append(str(link.get("name")))
    return [*links, *(key for key in left if key != "interfaces" and left[key])]


def _links(state: State) -> list[State]:
    found = state.get("interfaces")
    return [link for link in found if isinstance(link, Mapping)] if isinstance(found, Sequence) else []


def _ports(link: State) -> set[str]:
    bridge = link.get("bridge")
    listed = bridge.get("port") if isinstance(bridge, Mapping) else None
    return (
        {str(port.get("name")) for port in listed if isinstance(port, Mapping)}
        if isinstance(listed, Sequence)
        else set()
    )


def _is_kept(link: State, links: Sequence[State], left_out: list[str]) -> bool:
    name, kind = str(link["name"]), _kind(link)
    if kind == "loopback":
        return False
    why = ""
    if link.get("state") == "ignore":
        why = "NetworkManager does not manage it"
    elif _is_plugins(name):
        why = "the network plugin makes it"
    elif link.get("state") != "up":
        why = "it is down"
    elif kind not in _KNOWN:
        why = f"links of type {kind} are not written"
    elif kind == "ethernet" and not (link.get("controller") or _has_ip(link) or _is_used(name, links)):
        why = "it has no configuration"
    if why:
        left_out.append(f"{name}: {why}")
    return not why


def _is_plugins(name: str) -> bool:
    """Return whether the network plugin of the cluster makes the link *name*."""
    return name in _OF_PLUGINS or name.startswith(_OF_PLUGIN_PREFIXES)


def _without_masquerade(state: State, links: Sequence[State]) -> State:
    """Return *state* without the addresses that OVN-Kubernetes gives each node alike, and the routes over them."""
    subnets = _masquerade_subnets(state, links)
    kept = [
        {key: _without_addresses(link, key, subnets) if key in ("ipv4", "ipv6") else link[key] for key in link}
        for link in links
    ]
    routes = {
        key: [route for route in _list(state, "routes", key) if not _leads_over(route, subnets)]
        for key in ("running", "config")
    }
    return {**state, "interfaces": kept, "routes": routes}


def _masquerade_subnets(state: State, links: Sequence[State]) -> tuple[IPNetwork, ...]:
    addresses = [
        _interface(f"{each.get('ip')}/{each.get('prefix-length')}")
        for link in links
        if link["name"] == OVN_BRIDGE
        for each in _addresses(link, "ipv4") + _addresses(link, "ipv6")
    ]
    ways = [
        (_interface(route.get("destination")), _interface(route.get("next-hop-address")))
        for route in _list(state, "routes", "running")
        if route.get("next-hop-interface") == OVN_BRIDGE
    ]
    return masquerade_shown(
        filter(None, addresses),
        [(to.network, None if via is None or via.ip.is_unspecified else via.ip) for to, via in ways if to is not None],
    )


def _addresses(link: State, family: str) -> list[State]:
    section = link.get(family)
    return _list(link, family, "address") if isinstance(section, Mapping) else []


def _without_addresses(link: State, family: str, subnets: Sequence[IPNetwork]) -> object:
    section = link.get(family)
    if not isinstance(section, Mapping) or "address" not in section:
        return section
    return {
        **section,
        "address": [each for each in _addresses(link, family) if not _is_inside(each.get("ip"), subnets)],
    }


def _is_inside(written: object, subnets: Sequence[IPNetwork]) -> bool:
    found = _interface(written)
    return found is not None and is_masquerade(found.ip, subnets)


def _leads_over(route: State, subnets: Sequence[IPNetwork]) -> bool:
    """Return whether *route* leads to, or through, addresses that each node has alike."""
    return any(_is_inside(route.get(key), subnets) for key in ("destination", "next-hop-address"))


def _interface(written: object) -> IPv4Interface | IPv6Interface | None:
    try:
        return ip_interface(str(written))
    except ValueError:
        return None


def _kind(link: State) -> str:
    """Return the type; a veth whose other end is not on this host is a card as others are (of a container)."""
    kind = str(link.get("type", ""))
    return "ethernet" if kind == "veth" and "veth" not in link else kind


def _has_ip(link: State) -> bool:
    sections = [link.get(family) for family in ("ipv4", "ipv6")]
    return any(isinstance(each, Mapping) and each.get("enabled") and is_set(each) for each in sections)


def _is_used(name: str, links: Sequence[State]) -> bool:
    """Return whether another link is on top of *name*."""
    return any(
        section.get("base-iface") == name for link in links for section in link.values() if isinstance(section, Mapping)
    )


def _link(link: State, links: Sequence[State], running: Sequence[State]) -> Value:
    kind = _kind(link)
    entry: dict[str, Value] = {"name": str(link["name"]), "type": kind, "state": "up"}
    mtu = link.get("mtu")
    if isinstance(mtu, int) and mtu != MTU and kind != "ovs-bridge":
        entry["mtu"] = Remarked(mtu, f"the default is {MTU}")
    if link.get("accept-all-mac-addresses") and kind == "ethernet" and not link.get("controller"):
        entry["accept-all-mac-addresses"] = True
    entry |= _attached(link, links, kind)
    if not link.get("controller") or kind == "ovs-interface" or _is_vrf_port(link, links):
        entry |= {} if kind == "ovs-bridge" else ip_sections(link, kind, running)
    if kind == "bond":
        entry["link-aggregation"] = _bond(link.get("link-aggregation", {}))
    elif kind in ("linux-bridge", "ovs-bridge"):
        entry["bridge"] = _bridge(link.get("bridge", {}), kind)
    elif kind in SECTIONS:
        entry[SECTIONS[kind]] = _section(link.get(SECTIONS[kind], {}), kind)
    for key in ("802.1x", "ieee-802-1x"):
        if isinstance(link.get(key), Mapping):
            entry[key] = _without_secrets(link[key])
    return entry


def _is_vrf_port(link: State, links: Sequence[State]) -> bool:
    return any(each["name"] == link.get("controller") and each.get("type") == "vrf" for each in links)


def _attached(link: State, links: Sequence[State], kind: str) -> dict[str, Value]:
    """Return the keys by which a link names the bridge or VRF that it belongs to."""
    if kind == "ovs-interface":
        return _mac(link, links)
    # libnmstate refuses the active IP configuration of a port, unless its VRF is named there.
    return {"controller": str(link["controller"])} if _is_vrf_port(link, links) else {}


def _mac(link: State, links: Sequence[State]) -> dict[str, Value]:
    """Return where the MAC address of a bridge's own interface is from: the link below the bridge, where it is so."""
    mac = str(link.get("mac-address", "")).upper()
    below = [each for each in links if each.get("controller") == link.get("controller") and each is not link]
    source = next((each for each in below if str(each.get("mac-address", "")).upper() == mac), None)
    if source is not None:
        return {"copy-mac-from": Remarked(str(source["name"]), "the same MAC address as the link below the bridge")}
    return {"mac-address": mac} if mac else {}


def _bond(found: State) -> dict[str, Value]:
    options = beyond_defaults(found.get("options", {}), BOND)
    options = {key: value for key, value in options.items() if value is not None}
    entry: dict[str, Value] = {"mode": found.get("mode")}
    if options:
        entry["options"] = options
    return {**entry, "port": list(found.get("port", ()))}


def _bridge(found: State, kind: str) -> dict[str, Value]:
    options = dict(found.get("options", {}))
    if kind == "ovs-bridge":
        left = beyond_defaults(options, OVS_BRIDGE)
        ports = [_named(port, {}) for port in found.get("port", ()) if not _is_plugins(str(port.get("name")))]
        return {**({"options": left} if left else {}), "port": ports}
    stp = dict(options.pop("stp", {}))
    left = {key: value for key, value in beyond_defaults(options, BRIDGE).items() if key not in BRIDGE_STATUS}
    shown = {"enabled": bool(stp.pop("enabled", False)), **beyond_defaults(stp, STP)}
    ports = [_named(port, BRIDGE_PORT) for port in found.get("port", ())]
    return {"options": {**left, "stp": shown}, "port": ports}


def _named(port: State, usual: Mapping[str, object]) -> dict[str, Value]:
    return {"name": port.get("name"), **{k: v for k, v in beyond_defaults(port, usual).items() if k != "name"}}


def _section(found: State, kind: str) -> Value:
    usual = VLAN if kind == "vlan" else {}
    return _without_secrets(beyond_defaults(found, usual))


def _without_secrets(found: State) -> Value:
    hidden = [key for key, value in found.items() if value == HIDDEN]
    left = {key: value for key, value in found.items() if value != HIDDEN}
    return Remarked(left, f"add {' and '.join(hidden)}: secrets are not shown") if hidden else left


def _resolver(state: State, found: Made) -> None:
    section = state.get("dns-resolver")
    config = section.get("config") if isinstance(section, Mapping) else None
    kept = {key: value for key, value in config.items() if value} if isinstance(config, Mapping) else {}
    if kept:
        found.document["dns-resolver"] = {"config": dict(sorted(kept.items(), reverse=True))}


def _route(route: State) -> dict[str, Value]:
    keys = (
        "destination",
        "next-hop-address",
        "next-hop-interface",
        "metric",
        "table-id",
        "source",
        "route-type",
        "weight",
    )
    entry = {key: route[key] for key in keys if route.get(key) is not None}
    if entry.get("table-id") in (0, 254):
        del entry["table-id"]
    usual = IPV6_ROUTE if ":" in str(entry.get("destination")) else -1
    if entry.get("metric") in (usual, -1):
        del entry["metric"]
    if entry.get("next-hop-address") in ("0.0.0.0", "::"):  # noqa: S104  (how nmstate writes "no next hop")
        del entry["next-hop-address"]
    return entry


def _rule(rule: State) -> dict[str, Value]:
    return {
        key: value
        for key, value in rule.items()
        if value is not None and not (key == "family" and ("ip-from" in rule or "ip-to" in rule))
    }


def _list(state: State, section: str, key: str) -> list[State]:
    found = state.get(section)
    listed = found.get(key) if isinstance(found, Mapping) else None
    return [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, Sequence) else []
