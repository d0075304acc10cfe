"""Which tables of docs/br-ex.md are made from the fixtures? `python tools/make_bridge_docs.py` writes them.

Each row names a case under ``fixtures/br_ex``; what it shows was taken from that case's golden.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from bench.figures import table
from br_ex_cases import CASES, directories, expected_of
from make_docs import made
from nodenet.core.br_ex.condition import Owner, Rule
from nodenet.core.br_ex.uplink import UplinkRule

PAGE = Path(__file__).parents[1] / "docs" / "br-ex.md"
INTERFACE = 2
"""The place of the bridge's internal interface in a plan's document, behind the uplink and the bridge."""

CHOICES: Mapping[UplinkRule, tuple[str, str]] = {
    UplinkRule.DEFAULT_BRIDGE: ("the first line of `/etc/ovnk/default_bridge`", "choice-default-bridge"),
    UplinkRule.NODE_IP: ("the link that has the node IP; if that is br-ex, the link below it", "dhcp4"),
    UplinkRule.REMEMBERED: ("the uplink of the last boot, by name or by MAC", "choice-remembered-renamed"),
    UplinkRule.DEFAULT_ROUTE: ("the default route of the lowest metric, IPv4 first", "choice-default-route"),
    UplinkRule.EXTRA_BRIDGE: ("br-ex1: the first line of `/etc/ovnk/extra_bridge`", "choice-extra-bridge"),
}
"""What each rule looks at, and the case that shows it."""

STATIC = "static-dual-stack-policy-routes-rules-dns-onlink"
MOVES: tuple[tuple[str, str, str, str], ...] = (
    ("static addresses", "in their order", "two-static-in-order", "ipv4.address"),
    (
        "DHCPv4",
        "the client identifier of the lease in use",
        "client-id-of-another-kind",
        "ipv4.dhcp-client-id",
    ),
    ("DHCPv6", "the DUID in use", "dhcpv6-duid-uuid-and-iaid", "ipv6.dhcp-duid"),
    ("DHCPv6", "the IAID in use", "dhcpv6-duid-uuid-and-iaid", "beyond.ipv6.dhcp-iaid"),
    (
        "autoconfigured IPv6",
        "the interface identifier in use, however it was made",
        "dual-stack-dhcp-and-ra",
        "ipv6.token",
    ),
    ("privacy addresses", "whether they are made", "privacy-addresses", "beyond.ipv6.ip6-privacy"),
    (
        "default route",
        "metric 48, br-ex1 49; a second one keeps a higher metric",
        "multipath-and-second-default-route",
        "routes",
    ),
    ("never-default", "no default route from DHCP", "never-default", "ipv4.auto-gateway"),
    ("ignore-auto-routes", "no routes from DHCP", "ignore-auto-routes-own-table", "ipv4.auto-routes"),
    ("route table", "the table for routes from DHCP", "ignore-auto-routes-own-table", "ipv4.auto-route-table-id"),
    ("on-link routes", "set in NetworkManager; NMState has no key", STATIC, "on-link"),
    ("policy rules", "a rule about the uplink becomes one about the bridge", STATIC, "rules"),
    (
        "name servers",
        "in addition to those of DHCP or instead of them, in their order",
        "dns-instead-of-dhcp",
        "beyond.ipv4.dns-data",
    ),
    ("ignore-auto-dns", "none from DHCP", "dns-instead-of-dhcp", "ipv4.auto-dns"),
    ("may-fail", "the family for which activation waits", "may-fail-and-hostname", "wait-ip"),
    ("firewalld's zone", "and mDNS, LLMNR, metered", "may-fail-and-hostname", "beyond.connection.zone"),
    ("IPv4 link-local", "set in NetworkManager; NMState has no key", "ipv4-link-local", "beyond.ipv4.method"),
    ("IPv6 left to the kernel", "unchanged", "ipv6-left-to-the-kernel", "beyond.ipv6.method"),
    ("MTU", "that of the uplink", "mtu-9000", "mtu"),
    ("MAC", "that of the uplink", "bond-802-3ad", "copy-mac-from"),
    (
        "MAC of a bond with fail_over_mac",
        "the bridge gets its own MAC: that of the bond changes",
        "bond-active-backup-fail-over-mac",
        "copy-mac-from",
    ),
    ("sysctls", "those that differ from a new link's", "sysctls", "sysctls"),
)
"""What moves, how, the case that shows it, and which value of that case's plan to show."""

FINDINGS: Mapping[Rule, str] = {
    Rule.BRIDGE_WITHOUT_PROFILE: "stale-bridge-without-profile",
    Rule.PROFILE_WITHOUT_BRIDGE: "stale-profile-without-bridge",
    Rule.PORT_WITHOUT_LINK: "stale-port-without-link",
    Rule.WITHOUT_UPLINK: "stale-bridge-without-uplink",
    Rule.OTHER_UPLINK: "stale-other-uplink",
    Rule.FOREIGN_BRIDGE: "stale-foreign-bridge",
    Rule.FOREIGN_PORT: "standing-old-script-with-ports-of-others",
    Rule.NOT_MARKED: "standing-old-script",
    Rule.NOT_WANTED: "stale-extra-bridge-not-wanted",
    Rule.ADDRESS_BELOW: "stale-address-below",
}
"""The case that shows each finding."""

OWNERS: Mapping[Owner, tuple[str, str]] = {
    Owner.NONE: ("neither profile nor row in the database", "dhcp4"),
    Owner.OURS: ("`nodenet-uplink` in the `external_ids` of the profile or of the database", "standing-ours"),
    Owner.OLD_SCRIPT: ("profiles `br-ex` and `ovs-if-br-ex`", "standing-old-script"),
    Owner.NMSTATE: ("profiles `br-ex-br` and `br-ex-if` without our mark", "standing-node-file"),
    Owner.LEFT_OVER: ("no profile, and NetworkManager's mark in the database", "stale-bridge-without-profile"),
    Owner.FOREIGN: ("everything else", "stale-foreign-bridge"),
}
"""By what each owner is known, and the case that shows it."""


def choices() -> str:
    """Return the table of the rules that choose an uplink, in their order."""
    rows = []
    for rule, (looks_at, case) in CHOICES.items():
        uplink = next(each for each in expected_of(CASES / case)["uplinks"] if each["rule"] == rule)
        rows.append((f"`{rule}`", looks_at, f"`{uplink['link']}`: {uplink['reason']}", f"`{case}`"))
    return table(("rule", "looks at", "example", "case"), rows)


def refusals() -> str:
    """Return the table of every refusal."""
    rows = [(told["refused"], told["remedy"], f"`{case.name}`") for case, told in _all() if "refused" in told]
    return table(("refused", "remedy", "case"), rows)


def moves() -> str:
    """Return the table of what moves."""
    rows = [(what, how, f"`{_shown(case, key)}`", f"`{case}`") for what, how, case, key in MOVES]
    return table(("of the uplink", "on the bridge", "example", "case"), rows)


def findings() -> str:
    """Return the table of what may not fit together."""
    rows = []
    for rule, case in FINDINGS.items():
        parts = [part for each in expected_of(CASES / case)["bridges"] for part in each["findings"]]
        found = next(part for part in parts if part["rule"] == rule)
        rows.append((f"`{rule}`", found["sentence"], "yes" if found["ours"] else "no", f"`{case}`"))
    return table(("finding", "example", "nodenetd repairs it", "case"), rows)


def owners() -> str:
    """Return the table of who may have made a bridge."""
    rows = []
    for owner, (known_by, case) in OWNERS.items():
        if owner not in {each["owner"] for each in expected_of(CASES / case)["bridges"]}:
            raise AssertionError(f"{case} does not show {owner}")
        rows.append((f"`{owner}`", known_by, f"`{case}`"))
    return table(("owner", "known by", "case"), rows)


def _all() -> list[tuple[Path, dict[str, Any]]]:
    return [(case, expected_of(case)) for case in directories()]


def _shown(case: str, key: str) -> str:
    """Return what a golden has under *key*, as people write it."""
    told = expected_of(CASES / case)
    interface = told["document"]["interfaces"][INTERFACE]
    return json.dumps(_value(told, interface, key))


def _value(told: dict[str, Any], interface: dict[str, Any], key: str) -> object:
    document = told["document"]
    match key.split("."):
        case ["routes"]:
            defaults = (route for route in document["routes"]["config"] if route["destination"] == "0.0.0.0/0")
            value: object = {route["next-hop-address"]: route["metric"] for route in defaults}
        case ["rules"]:
            value = next(rule for rule in document["route-rules"]["config"] if rule.get("iif") == "br-ex")
        case ["on-link"]:
            value = next(route for route in told["beyond"]["br-ex"]["ipv4"]["route-data"] if "onlink" in route)
        case ["sysctls"]:
            value = told["sysctls"]["br-ex"]
        case ["beyond", section, name]:
            value = told["beyond"]["br-ex"][section][name]
        case [family, name]:
            value = interface[family][name]
        case _:
            value = interface.get(key)
    return value


BLOCKS: Mapping[str, Callable[[], str]] = {
    "choices": choices,
    "refusals": refusals,
    "moves": moves,
    "findings": findings,
    "owners": owners,
}


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8"), BLOCKS), encoding="utf-8")
