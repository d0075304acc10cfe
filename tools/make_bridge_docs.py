"""Which tables of docs/br-ex.md are made from the fixtures? `python tools/make_bridge_docs.py` writes them.

Each row names a case under ``fixtures/br_ex``; what it shows was taken from that case's golden.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from bench.figures import table
from br_ex_cases import CASES, expected_of
from make_docs import made
from nodenet.core.br_ex.condition import Owner, Rule
from nodenet.core.br_ex.uplink import UplinkRule

PAGE = Path(__file__).parents[1] / "docs" / "br-ex.md"
CHOICES: Mapping[UplinkRule, tuple[str, str]] = {
    UplinkRule.DEFAULT_BRIDGE: ("the first line of `/etc/ovnk/default_bridge`", "choice-default-bridge"),
    UplinkRule.NODE_IP: ("the link that has the node IP; if that is br-ex, the link below it", "dhcp4"),
    UplinkRule.REMEMBERED: ("the uplink of the last boot, by name or by MAC", "choice-remembered-renamed"),
    UplinkRule.DEFAULT_ROUTE: ("the default route of the lowest metric, IPv4 first", "choice-default-route"),
    UplinkRule.EXTRA_BRIDGE: ("br-ex1: the first line of `/etc/ovnk/extra_bridge`", "choice-extra-bridge"),
}
"""What each rule looks at, and the case that shows it."""

FINDINGS: Mapping[Rule, str] = {
    Rule.BRIDGE_WITHOUT_PROFILE: "stale-bridge-without-profile",
    Rule.PROFILE_WITHOUT_BRIDGE: "stale-profile-without-bridge",
    Rule.PORT_WITHOUT_LINK: "stale-port-without-link",
    Rule.WITHOUT_UPLINK: "stale-bridge-without-uplink",
    Rule.OTHER_UPLINK: "stale-other-uplink",
    Rule.TAKES_OVER: "takes-over",
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
        rows.append((f"`{rule}`", looks_at, f"`{uplink['link']}`: {uplink['reason']}"))
    return table(("rule", "looks at", "example"), rows)


def findings() -> str:
    """Return the table of what may not fit together."""
    rows = []
    for rule, case in FINDINGS.items():
        parts = [part for each in expected_of(CASES / case)["bridges"] for part in each["findings"]]
        found = next(part for part in parts if part["rule"] == rule)
        rows.append((found["sentence"], "yes" if found["ours"] else "no"))
    return table(("what does not fit together", "nodenetd repairs it"), rows)


def owners() -> str:
    """Return the table of who may have made a bridge."""
    rows = []
    for owner, (known_by, case) in OWNERS.items():
        if owner not in {each["owner"] for each in expected_of(CASES / case)["bridges"]}:
            raise AssertionError(f"{case} does not show {owner}")
        rows.append((f"`{owner}`", known_by))
    return table(("owner", "known by"), rows)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "choices": choices,
    "findings": findings,
    "owners": owners,
}


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8"), BLOCKS), encoding="utf-8")
