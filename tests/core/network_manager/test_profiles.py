"""What a profile says where NetworkManager leaves a property out."""

from __future__ import annotations

from nodenet.core.network_manager.profiles import Profile


def test_a_property_that_is_left_out_has_its_default() -> None:
    """NetworkManager lists only what differs from it."""
    profile = Profile("u", "n", "802-3-ethernet", settings={"ipv4": {"method": "manual", "may-fail": False}})
    assert profile.setting("ipv4", "method", "auto") == "manual"
    assert profile.setting("ipv4", "may-fail", default=True) is False
    assert profile.setting("ipv4", "route-metric", -1) == -1
    assert profile.setting("ipv6", "method") is None
