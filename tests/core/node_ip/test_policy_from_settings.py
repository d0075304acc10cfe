"""The policy from settings and hint file; the hint file outranks the settings."""

from ipaddress import ip_address

from core.node_ip.test_choice import chosen, host
from nodenet.core.ip import Family
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, noted, read_policy
from nodenet.core.settings.model import Settings, Written

VIP = ip_address("192.0.2.2")


def test_settings_become_a_policy() -> None:
    settings = Settings(platform="baremetal", families=("ipv6", "ipv4"), api_vips=(VIP,), deny_links=("x*",))
    found = read_policy(settings, None)
    assert found.problems == ()
    assert (found.policy.platform, found.policy.families) == ("baremetal", (Family.IPV6, Family.IPV4))
    assert (found.policy.vips, found.policy.deny_links) == ((VIP,), ("x*",))


def test_the_hint_file_outranks_the_setting() -> None:
    settings = Settings(hint=Written("192.0.2.9", "nodenet.toml"))
    from_file = read_policy(settings, b"NODEIP_HINT=eth1\n").policy.hints
    assert [str(hint.meaning) for hint in from_file] == ["eth1"]
    assert [str(hint.meaning) for hint in read_policy(settings, None).policy.hints] == ["192.0.2.9"]


def test_a_hint_that_cannot_be_understood_is_a_note_of_the_selection() -> None:
    found = read_policy(Settings(), b"NODEIP_HINT=192.0.2.999\n")
    (problem,) = found.problems
    assert HINT_FILE in str(problem)
    assert noted(chosen(host(("eth0", "192.0.2.5", 100))), found).notes == (str(problem),)
