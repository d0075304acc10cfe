"""What another program has changed, in words."""

from __future__ import annotations

import pytest

from nodenet.core.apply.intent import Intent, Phase, summary, was_good


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        ({"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "mtu": 1400}]}, "eth0 (mtu)"),
        (
            {"interfaces": [{"name": "eth0", "ipv6": {}, "ipv4": {}}], "routes": {"config": []}},
            "eth0 (ipv4, ipv6), routes",
        ),
        ({"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up"}], "dns-resolver": {}}, "eth0"),
        ({"interfaces": [{"name": "w", "802.1x": {"password": "hunter2"}}]}, "w (802.1x)"),
        (
            {"interfaces": [{"name": f"eth{number}"} for number in range(10)]},
            "eth0, eth1, eth2, eth3, eth4, eth5, eth6, eth7, 2 more links",
        ),
    ],
)
def test_links_and_keys_are_named_and_no_value(difference: dict[str, object], words: str) -> None:
    assert summary(difference) == words


def test_only_what_an_earlier_boot_made_well_can_have_been_changed() -> None:
    assert was_good(Intent("d", Phase.GOOD, "before", 1.0), "now")
    assert not was_good(Intent("d", Phase.GOOD, "now", 1.0), "now")
    assert not was_good(Intent("d", Phase.ROLLED_BACK, "before", 1.0), "now")
    assert not was_good(None, "now")
