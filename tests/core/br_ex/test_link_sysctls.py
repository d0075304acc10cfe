"""Which sysctls move to the bridge?"""

from __future__ import annotations

from dataclasses import replace

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.plan import MOVED, plan


def test_a_read_only_sysctl_does_not_move() -> None:
    """`mc_forwarding` belongs to multicast routing daemons: writing it fails, and br-ex was rolled back (R29)."""
    facts = facts_of(CASES / "sysctls")
    others = {f"net/ipv4/conf/{name}": "1" for name in ("mc_forwarding", "tag", "of_a_later_kernel")}
    differing = {**facts.sysctls, "eth0": {**facts.sysctls["eth0"], **others}}
    assert plan(replace(facts, sysctls=differing)).sysctls == plan(facts).sysctls


def test_what_networkmanager_sets_by_the_profile_does_not_move() -> None:
    """It would be set back."""
    names = {name.rpartition("/")[2] for name in MOVED}
    assert not names & {"disable_ipv6", "addr_gen_mode", "use_tempaddr", "mtu", "stable_secret", "max_addresses"}
    assert {"forwarding", "rp_filter", "arp_announce", "accept_ra"} <= names
