"""Which part of the DNS configuration moves with a link?

NMState knows one configuration for the whole node. libnmstate then chooses where the name servers are
written (its ``nm/query_apply/dns.rs``). If that is ``GlobalDnsConfiguration``, NetworkManager ignores the name servers
of every link.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.source import Source

LISTS = ("dns-data", "dns-search", "dns-options")
"""The properties of a profile that list DNS data, for each family."""
Document = dict[str, Any]


def is_in_profile(source: Source) -> bool:
    """Whether the link's own profile has name servers, search domains or resolver options."""
    return any(source.setting(family, key) for family in ("ipv4", "ipv6") for key in LISTS)


def of_profile(source: Source, family: str) -> Document:
    """Return the part of the profile, for NetworkManager itself.

    libnmstate gathers all in one family and gives it other priorities: the order of resolv.conf would change.
    """
    lists: Document = {key: list(source.setting(family, key) or ()) for key in LISTS}
    return lists | {"dns-priority": source.setting(family, "dns-priority", 0)}


def resolver(sources: Collection[Source], names: Mapping[str, str]) -> Document:
    """Return ``dns-resolver`` where a profile that moves has a part in it; *names*: link → what it is called now.

    What is shown is said again, so that no other link's part is lost.
    """
    if not any(map(is_in_profile, sources)):
        return {}
    facts = next(iter(sources)).facts
    config = facts.state.get("dns-resolver", {}).get("config") or {}
    kept: Document = {key: list(config[key]) for key in ("server", "search", "options") if config.get(key)}
    if "server" in kept:
        kept["server"] = [_server(text, names) for text in kept["server"]]
    return {"dns-resolver": {"config": kept}} if kept else {}


def hides_other_links(facts: BridgeFacts, document: Document) -> bool:
    """Whether libnmstate would make a global DNS configuration of *document* where the node had none."""
    config = document.get("dns-resolver", {}).get("config", {})
    if facts.global_dns or not config.get("server"):
        return False
    scoped = any("%" in server for server in config["server"])
    parts = (item.get(family, {}) for item in document["interfaces"] for family in ("ipv4", "ipv6"))
    return not scoped and not any(part.get("dhcp") and part.get("auto-dns") for part in parts)


def _server(text: str, names: Mapping[str, str]) -> str:
    """Return a name server; the scope of a link-local one moves too (RFC 4007)."""
    address, percent, scope = text.partition("%")
    return f"{address}{percent}{names.get(scope, scope)}"
