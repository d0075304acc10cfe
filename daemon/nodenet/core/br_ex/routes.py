"""Which routes and rules move to the bridge, and with which metric?

What libnmstate shows as configured moves; what came from DHCP or a router comes again by itself. The best default route
of the main table gets the bridge's metric (48, or 49 for br-ex1): OVN-Kubernetes and old tools look for it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.br_ex.source import Source
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.nmstate import state

KEPT = (
    *("destination", "next-hop-address", "table-id", "metric", "weight", "source", "cwnd", "initcwnd", "initrwnd"),
    *("mtu", "lock-mtu", "quickack", "advmss", "route-type"),
)
"""The keys of a route that move as they are."""
OF_BRIDGES = (48, 49)
"""The metrics that the routes of br-ex and br-ex1 get."""
Route = dict[str, Any]


def configured(source: Source, bridge: str, metric: int) -> list[Route]:
    """Return the routes of the bridge."""
    found = _own(source)
    best = {family: _metrics(found, ipv6=family) for family in (False, True)}
    moved = [_moved(source, route, bridge, metric, best[state.is_ipv6(route)]) for route in found]
    return sorted(moved, key=_place)


def learnt(source: Source, bridge: str, metric: int) -> list[Route]:
    """Return the IPv4 routes by a gateway that DHCP gave; they are used until the bridge has its own."""
    known = {_identity(route) for route in state.routes(source.facts.state, "config", source.link)}
    found = state.routes(source.facts.state, "running", source.link)
    given = [route for route in found if state.gateway_of(route) and not state.is_ipv6(route)]
    main = [route for route in given if state.table_of(route) == state.MAIN_TABLE and _identity(route) not in known]
    return sorted((_route({**route, "source": None}, bridge, metric) for route in main), key=_place)


def given_back(source: Source, original: Profile | None) -> list[Route]:
    """Return the routes as the uplink has them without the bridge: *original* has the metrics they had."""
    back = []
    for route in _own(source):
        metric = state.metric_of(route)
        if metric in OF_BRIDGES:
            item = _in_profile(original, route) or {}
            family = "ipv6" if state.is_ipv6(route) else "ipv4"
            metric = item.get("metric", original.setting(family, "route-metric", -1) if original else -1)
        moved = _route(route, source.uplink, metric)
        back.append(moved if metric >= 0 else {key: value for key, value in moved.items() if key != "metric"})
    return sorted(back, key=_place)


def gateways(source: Source) -> set[str]:
    """Return the next hops of the best default routes of each family."""
    found = [route for route in state.routes(source.facts.state, "running", source.link) if state.is_default(route)]
    best = {ipv6: _metrics(found, ipv6=ipv6)[:1] for ipv6 in (False, True)}
    used = (route for route in found if state.metric_of(route) in best[state.is_ipv6(route)])
    return {gateway for route in used if (gateway := state.gateway_of(route))}


def rules(source: Source, bridge: str) -> list[dict[str, Any]]:
    """Return the rules that the link's profile brings, and those that lead to a table of its routes."""
    tables = {state.table_of(route) for route in state.routes(source.facts.state, "config", source.link)}
    tables -= {state.MAIN_TABLE}
    own = [_of_profile(item) for family in ("ipv4", "ipv6") for item in source.setting(family, "routing-rules") or ()]
    found = []
    for rule in source.facts.state.get("route-rules", {}).get("config") or ():
        if rule.get("iif") == source.link or rule.get("route-table") in tables or _key(rule) in own:
            if source.link != bridge:
                # libnmstate leaves a rule that is there already in the profile it is in, which then loses it.
                found.append({**rule, "state": "absent"})
            found.append({**rule, "iif": bridge} if rule.get("iif") == source.link else dict(rule))
    return sorted(
        found, key=lambda rule: (int(rule.get("priority") or 0), "state" not in rule, str(sorted(rule.items())))
    )


def on_link(source: Source, bridge: str, metric: int) -> dict[str, list[Route]]:
    """Return family → all routes of the bridge as NetworkManager's ``route-data``, where one of them is on-link.

    NMState has no key for that attribute: the next hop is on the link although no prefix says so (ip-route(8)).
    """
    families = [family for family in ("ipv4", "ipv6") if _on_link_hops(source, family)]
    return {family: route_data(source, bridge, metric, family) for family in families}


def route_data(source: Source, bridge: str, metric: int, family: str) -> list[Route]:
    """Return the bridge's routes of one family as NetworkManager's ``route-data``."""
    hops = _on_link_hops(source, family)
    own = (route for route in configured(source, bridge, metric) if state.is_ipv6(route) is (family == "ipv6"))
    return [_route_data(route, hops) for route in own]


def _on_link_hops(source: Source, family: str) -> set[tuple[Any, ...]]:
    marked = (item for item in source.setting(family, "route-data") or () if item.get("onlink"))
    return {(item["dest"], int(item["prefix"]), item.get("next-hop")) for item in marked}


def _route_data(route: Route, hops: set[tuple[Any, ...]]) -> Route:
    destination, _, length = str(route["destination"]).partition("/")
    hop = route.get("next-hop-address")
    item = {"dest": destination, "prefix": int(length), "metric": route["metric"], "table": route["table-id"]}
    item |= {"next-hop": hop} if hop else {}
    item |= {name: route[key] for key, name in (("weight", "weight"), ("source", "src")) if key in route}
    return item | ({"onlink": True} if (destination, int(length), hop) in hops else {})


def _metrics(routes: list[state.State], *, ipv6: bool) -> list[int]:
    """Return the metrics of the default routes, best first."""
    defaults = (route for route in routes if state.is_default(route) and state.is_ipv6(route) is ipv6)
    return sorted({state.metric_of(route) for route in defaults})


def _moved(source: Source, route: state.State, bridge: str, metric: int, best: list[int]) -> Route:
    own = state.metric_of(route)
    if state.is_default(route):
        # A second default route stays behind the first one.
        place = best.index(own)
        return _route(route, bridge, metric if place == 0 else max(own, metric + place))
    return _route(route, bridge, own if _has_own_metric(source, route) else metric)


def _own(source: Source) -> list[state.State]:
    return [route for route in state.routes(source.facts.state, "config", source.link) if not _follows(source, route)]


def _follows(source: Source, route: state.State) -> bool:
    """Whether NetworkManager made *route* itself, to a gateway that no prefix of the link has."""
    host, _, length = str(route.get("destination")).partition("/")
    if state.gateway_of(route) or length not in {"32", "128"} or _in_profile(source.profile, route):
        return False
    return host in {state.gateway_of(other) for other in state.routes(source.facts.state, "config", source.link)}


def _has_own_metric(source: Source, route: state.State) -> bool:
    """Whether the profile gives the route a metric, or has no part in it; else it took that of its link."""
    item = _in_profile(source.profile, route)
    if item is not None:
        return "metric" in item
    family = "ipv6" if state.is_ipv6(route) else "ipv4"
    gateway = source.setting(family, "gateway")
    return gateway is None or route.get("destination") not in state.DEFAULT or gateway != state.gateway_of(route)


def _in_profile(profile: Profile | None, route: state.State) -> Mapping[str, Any] | None:
    """Return *route* as an entry of the profile's ``route-data``."""
    family = "ipv6" if state.is_ipv6(route) else "ipv4"
    destination, _, length = str(route.get("destination")).partition("/")
    wanted = (destination, length, state.gateway_of(route))
    items = (profile.setting(family, "route-data") if profile else None) or ()
    return next((item for item in items if (item["dest"], str(item["prefix"]), item.get("next-hop")) == wanted), None)


def _route(route: state.State, bridge: str, metric: int) -> Route:
    kept = {key: route[key] for key in KEPT if route.get(key) not in (None, "")}
    gateway = state.gateway_of(route)
    kept.pop("next-hop-address", None)
    hop = {"next-hop-address": gateway} if gateway else {}
    return {**kept, **hop, "next-hop-interface": bridge, "table-id": state.table_of(route), "metric": metric}


def _place(route: Route) -> tuple[Any, ...]:
    gateway = str(route.get("next-hop-address", ""))
    return route["table-id"], state.is_ipv6(route), str(route["destination"]), state.metric_of(route), gateway


def _identity(route: state.State) -> tuple[Any, ...]:
    return route.get("destination"), state.gateway_of(route), state.table_of(route), state.metric_of(route)


def _key(rule: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        rule.get("priority"),
        _prefix(rule.get("ip-from")),
        _prefix(rule.get("ip-to")),
        int(rule.get("route-table") or state.MAIN_TABLE),
    )


def _of_profile(item: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what identifies a rule of NetworkManager (NMIPRoutingRule)."""
    source = f"{item['from']}/{item['from-len']}" if "from" in item else None
    target = f"{item['to']}/{item['to-len']}" if "to" in item else None
    return item.get("priority"), source, target, int(item.get("table") or state.MAIN_TABLE)


def _prefix(text: object) -> str | None:
    if not text:
        return None
    host = "/128" if ":" in str(text) else "/32"
    return str(text) if "/" in str(text) else f"{text}{host}"
