"""Which tables of docs/node-ip.md are made from the fixtures? `python tools/make_docs.py` writes them.

A marked block of the page has a row for each rule or place, in the order of the code. Each row names a case, and is
made only if the selection of that case shows the rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from bench.figures import table
from node_ip_cases import CASES, read_case
from nodenet.core.node_ip.ranking import KEY_NAMES
from nodenet.core.node_ip.rules import REJECTIONS, Rule
from nodenet.core.node_ip.select import Candidate, Selection, Verdict

PAGE = Path(__file__).parents[1] / "docs" / "node-ip.md"
_BLOCK = re.compile(r"(<!-- (?P<name>[a-z-]+): made from the fixtures -->\n\n).*?(\n<!-- end -->)", re.DOTALL)

REJECTED: Mapping[Rule, tuple[str, str]] = {
    Rule.UNSPECIFIED: ("`0.0.0.0`, `::`", "reject-unspecified"),
    Rule.LOOPBACK: ("`127.0.0.0/8`, `::1` (not: other addresses on `lo`)", "address-on-lo"),
    Rule.MULTICAST: ("`224.0.0.0/4`, `ff00::/8`", "reject-multicast"),
    Rule.IPV4_MAPPED: ("`::ffff:0:0/96`", "reject-ipv4-mapped"),
    Rule.LINK_LOCAL: ("`169.254.0.0/16`, `fe80::/10`", "reject-link-local-ipv4"),
    Rule.DENIED_LINK: (
        "links of OVN, container engines and pod networks (`br-ex1`, `docker0`, `cali*` …) and of `deny_links`",
        "reject-denied-link",
    ),
    Rule.VIP: ("a VIP of the settings, by value; or keepalived's label `vip`", "vip-on-node"),
    Rule.EGRESS_IP: ("a label with `eip` after the link's name", "reject-egress-ip"),
    Rule.OVN_INTERNAL: (
        "`fd69::/112`, `ovn_masquerade_subnets`, those that OVN's routes show; type OVNKubernetes or none",
        "reject-ovn-internal",
    ),
    Rule.UNWANTED_FAMILY: ("a family that the setting `families` leaves out", "reject-unwanted-family"),
    Rule.LINK_DOWN: ("its link is down or has no carrier", "reject-no-carrier"),
    Rule.DAD_FAILED: ("another host has it", "reject-dad-failed"),
    Rule.TENTATIVE: ("duplicate address detection still runs (optimistic addresses are usable)", "reject-tentative"),
    Rule.TEMPORARY: ("a privacy address", "reject-temporary"),
    Rule.DEPRECATED: ("the preferred lifetime is over", "reject-deprecated"),
    Rule.NOT_BINDABLE: ("a server was tried on it and could not listen", "reject-not-bindable"),
}
"""What each rule holds for, and the case that shows it."""

RANKED: tuple[tuple[str, str, str], ...] = (
    ("path", "hint, VIP, default route", "hint-outranks-vip"),
    ("hint", "the one that is named earlier", "hint-several-in-order"),
    (
        "metric",
        "the lower metric of the default route of its family; none: IPv4 0, IPv6 1024, as in the kernel",
        "lower-metric-wins",
    ),
    ("link index", "the lower", "lower-index-before-public"),
    ("family", "the preferred one", ""),
    ("gateway", "inside the address's subnet", "gateway-in-prefix-first"),
    ("own", "not the second address of a small IPv6 subnet on br-ex: OVN-Kubernetes' own", "ovn-own-masquerade-subnet"),
    ("scope", "public before private (RFC 1918, RFC 4193)", "public-before-private"),
    ("source", "a /128 of DHCPv6 before the address that the host made itself", "dhcpv6-before-slaac"),
    ("kind", "primary before secondary", "primary-before-secondary"),
    ("address", "the lower", "lower-address-before-longer-prefix"),
    ("prefix", "the longer", "same-address-two-prefixes"),
)
"""The places of the rank, what each prefers, and the case that shows it; addresses of one link need no family."""


def rejections() -> str:
    """Return the table of the rules that reject, in their order; each has a case that shows it."""
    for rule, (_, case) in REJECTED.items():
        _shown(case, lambda item, rule=rule: item.rule is rule)  # type: ignore[misc]
    return table(("rule", "holds for"), [(f"`{rule}`", REJECTED[rule][0]) for rule, _ in REJECTIONS])


def ranks() -> str:
    """Return the table of the places of the rank."""
    if len(RANKED) != len(KEY_NAMES):
        raise AssertionError("the rank has places that the page does not describe")
    return table(("place", "prefers", "as in"), [_rank(*entry) for entry in RANKED])


def _rank(place: str, prefers: str, case: str) -> tuple[str, str, str]:
    return place, prefers, _shown(case, lambda item: item.verdict is Verdict.ELIGIBLE).sentence if case else ""


def _shown(case: str, wanted: Callable[[Candidate], bool]) -> Candidate:
    selection: Selection = read_case(CASES / case).selection()
    return next(item for item in selection.candidates if wanted(item))


BLOCKS: Mapping[str, Callable[[], str]] = {"rejections": rejections, "ranks": ranks}


def made(page: str, blocks: Mapping[str, Callable[[], str]] = BLOCKS) -> str:
    """Return *page* with its marked blocks made again."""
    return _BLOCK.sub(lambda found: found[1] + blocks[found["name"]]() + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
