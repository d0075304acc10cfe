"""Which node file would give a new host with the same hardware the network that this host has?

The state is that of libnmstate. Only what differs from the defaults is written, each with the reason where it is not
plain; what no file can bring (leases, counters, hardware) is left out, and links that are left out are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Any

from nodenet.core.day_one import defaults, host_ip
from nodenet.core.day_one.annotated import Remarked, Value
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.ip import is_masquerade

State = Mapping[str, Any]
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
    kept = [link for link in links if _is_kept(link, links, found.left_out)]
    kept.sort(key=lambda link: (_kind(link) != "ethernet", str(link["name"]), _kind(link) != "ovs-bridge"))
    running = _list(state, "routes", "running")
    found.document["interfaces"] = [_link(link, kept, running) for link in kept]
    names = {str(link["name"]) for link in kept}
    _resolver(state, found)
    routes = [
        _route(route)
        for route in _list(state, "routes", "config")
        if route.get("next-hop-interface") in names and not _is_of_plugin(route)
    ]
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


def _is_of_plugin(route: State) -> bool:
    """Return whether OVN-Kubernetes added *route*: it leads to, or through, addresses that each node has alike."""
    return any(
        is_masquerade(address.ip)
        for key in ("destination", "next-hop-address")
        if (address := _interface(route.get(key))) is not None
    )


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
    return any(isinstance(each, Mapping) and each.get("enabled") and host_ip.is_set(each) for each in sections)


def _is_used(name: str, links: Sequence[State]) -> bool:
    """Return whether another link is on top of *name*."""
    return any(
        section.get("base-iface") == name for link in links for section in link.values() if isinstance(section, Mapping)
    )


def _link(link: State, links: Sequence[State], running: Sequence[State]) -> Value:
    kind = _kind(link)
    entry: dict[str, Value] = {"name": str(link["name"]), "type": kind, "state": "up"}
    mtu = link.get("mtu")
    if isinstance(mtu, int) and mtu != defaults.MTU and kind != "ovs-bridge":
        entry["mtu"] = Remarked(mtu, f"the default is {defaults.MTU}")
    if link.get("accept-all-mac-addresses") and kind == "ethernet" and not link.get("controller"):
        entry["accept-all-mac-addresses"] = True
    entry |= _attached(link, links, kind)
    if not link.get("controller") or kind == "ovs-interface" or _is_vrf_port(link, links):
        entry |= {} if kind == "ovs-bridge" else host_ip.sections(link, kind, running)
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
    options = defaults.beyond(found.get("options", {}), defaults.BOND)
    options = {key: value for key, value in options.items() if value is not None}
    entry: dict[str, Value] = {"mode": found.get("mode")}
    if options:
        entry["options"] = options
    return {**entry, "port": list(found.get("port", ()))}


def _bridge(found: State, kind: str) -> dict[str, Value]:
    options = dict(found.get("options", {}))
    if kind == "ovs-bridge":
        left = defaults.beyond(options, defaults.OVS_BRIDGE)
        ports = [_named(port, {}) for port in found.get("port", ()) if not _is_plugins(str(port.get("name")))]
        return {**({"options": left} if left else {}), "port": ports}
    stp = dict(options.pop("stp", {}))
    left = {
        key: value
        for key, value in defaults.beyond(options, defaults.BRIDGE).items()
        if key not in defaults.BRIDGE_STATUS
    }
    shown = {"enabled": bool(stp.pop("enabled", False)), **defaults.beyond(stp, defaults.STP)}
    ports = [_named(port, defaults.BRIDGE_PORT) for port in found.get("port", ())]
    return {"options": {**left, "stp": shown}, "port": ports}


def _named(port: State, usual: Mapping[str, object]) -> dict[str, Value]:
    return {"name": port.get("name"), **{k: v for k, v in defaults.beyond(port, usual).items() if k != "name"}}


def _section(found: State, kind: str) -> Value:
    usual = defaults.VLAN if kind == "vlan" else {}
    return _without_secrets(defaults.beyond(found, usual))


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
    usual = defaults.IPV6_ROUTE if ":" in str(entry.get("destination")) else -1
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
