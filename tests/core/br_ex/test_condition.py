"""Who made a bridge, and which of its parts contradict each other?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.condition import Owner, Rule, condition_of, is_port, orphans, profiles_of
from nodenet.core.network_manager.profiles import Profile


@pytest.mark.parametrize(
    ("case", "owner", "sound"),
    [
        ("dhcp4", Owner.NONE, False),
        ("standing-ours", Owner.OURS, True),
        ("standing-old-script", Owner.OLD_SCRIPT, True),
        ("standing-node-file", Owner.NMSTATE, True),
        ("stale-bridge-without-profile", Owner.LEFT_OVER, False),
        ("stale-foreign-bridge", Owner.FOREIGN, False),
    ],
)
def test_the_owner_of_a_bridge(case: str, owner: Owner, *, sound: bool) -> None:
    found = condition_of(facts_of(CASES / case), wanted="eth0")
    assert (found.owner, found.sound) == (owner, sound)


def test_a_foreign_bridge_is_reported_and_never_ours_to_change() -> None:
    (finding,) = condition_of(facts_of(CASES / "stale-foreign-bridge")).findings[:1]
    assert finding.sentence == "Open vSwitch has a bridge br-ex without a profile, which another program made"
    assert (finding.rule, finding.ours) == (Rule.FOREIGN_BRIDGE, False)


def test_the_profiles_of_a_bridge_begin_with_its_own() -> None:
    """They are deleted from the end, so that no freed link is attached again."""
    facts = facts_of(CASES / "standing-ours")
    kinds = [profile.kind for profile in profiles_of(facts.profiles, "br-ex")]
    assert kinds[0] == "ovs-bridge"
    assert kinds[1:3] == ["ovs-port", "ovs-port"]
    assert set(kinds[3:]) == {"ovs-interface", "802-3-ethernet"}


def test_a_port_whose_bridge_has_no_profile_is_an_orphan() -> None:
    """NetworkManager never activates it."""
    facts = facts_of(CASES / "standing-ours")
    uplink = next(each for each in facts.profiles if each.kind == "802-3-ethernet" and each.link == "eth0")
    without_bridge = tuple(each for each in facts.profiles if each.kind != "ovs-bridge")
    assert orphans(facts.profiles, {uplink.uuid}) == ()
    assert orphans(without_bridge, {uplink.uuid}) == (uplink,)
    plain = Profile("u-9", "plain", "802-3-ethernet", "eth9")
    assert orphans((plain,), {"u-9"}) == ()


def test_a_port_whose_bridge_has_no_interface_is_an_orphan() -> None:
    """The bridge comes up, and nothing has the addresses of the node."""
    facts = facts_of(CASES / "standing-ours")
    uplink = next(each for each in facts.profiles if each.kind == "802-3-ethernet" and each.link == "eth0")
    without_interface = tuple(each for each in facts.profiles if each.kind != "ovs-interface")
    assert orphans(without_interface, {uplink.uuid}) == (uplink,)


def test_a_bridge_that_nothing_asks_for_is_not_wanted() -> None:
    facts = facts_of(CASES / "standing-ours")
    (finding,) = condition_of(facts, wanted=None).findings
    assert (finding.rule, finding.sentence) == (Rule.NOT_WANTED, "br-ex exists and no file asks for it any more")
    over = condition_of(replace(facts), wanted="eth7").findings
    assert [each.sentence for each in over] == ["br-ex is over eth0 and should be over eth7"]


def test_a_node_ip_on_an_uplink_that_its_own_profile_configures_is_below_too() -> None:
    """A power cut in the apply: the profiles of bridge and uplink both configure their link."""
    facts = facts_of(CASES / "stale-address-below")
    ports = {each.uuid for each in facts.profiles if is_port(each) and each.link == "eth0"}
    plain = tuple(replace(each, settings={}) if each.uuid in ports else each for each in facts.profiles)
    (finding,) = condition_of(replace(facts, profiles=plain), wanted="eth0").findings
    assert (finding.rule, finding.ours) == (Rule.ADDRESS_BELOW, True)
