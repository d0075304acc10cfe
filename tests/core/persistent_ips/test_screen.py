"""What is shown of addresses, and of a check."""

from __future__ import annotations

from core.persistent_ips.test_bus import CLAIMED, DOCUMENT, EPHEMERAL
from nodenet.core.persistent_ips.bus import differences, open_differences, rows


def test_addresses_are_in_their_order_and_not_in_that_of_their_letters() -> None:
    found = [f"192.0.2.{number}/24" for number in (100, 9, 20)] + ["2001:db8::10/64", "2001:db8::9/64", "nonsense"]
    entries = [{**CLAIMED, "address": address} for address in found]
    shown = [row[1] for row in rows({**DOCUMENT, "addresses": [EPHEMERAL, *entries]})]
    assert shown == [
        *("nonsense", "192.0.2.9/24", "192.0.2.20/24", "192.0.2.100/24", "2001:db8::9/64", "2001:db8::10/64"),
        "198.51.100.9/24",
    ]


def test_what_is_not_there_is_a_dash() -> None:
    (row,) = rows({**DOCUMENT, "addresses": [{**EPHEMERAL, "pod": None}]})
    assert row == ("red", "198.51.100.9/24", "attached", "-", "-", "worker-0", "2026-11-22T08:00:00Z")


def difference(*, repaired: bool) -> dict[str, object]:
    return {
        "network": "blue",
        "address": "192.0.2.7",
        "cause": "a Lease without a claim",
        "remedy": "Run `nodenetctl claims check --repair`",
        "repaired": repaired,
    }


def test_a_check_ends_with_a_sum() -> None:
    assert differences({"addresses": 7, "differences": []}) == ["7 addresses compared: store, Leases and claims agree"]
    found = {"addresses": 7, "differences": [difference(repaired=False), difference(repaired=True)]}
    assert differences(found) == [
        "blue 192.0.2.7: a Lease without a claim",
        "  Run `nodenetctl claims check --repair`",
        "blue 192.0.2.7: a Lease without a claim (repaired)",
        "7 addresses compared, 2 differences",
    ]


def test_only_what_is_not_repaired_is_open() -> None:
    assert open_differences({"differences": [difference(repaired=True), difference(repaired=False)]})
    assert not open_differences({"differences": [difference(repaired=True)]})
