"""What a host shows beyond the defaults."""

from nodenet.core.day_one.from_host import BOND, beyond_defaults


def test_only_what_differs_is_left() -> None:
    found = {"lacp_rate": "fast", "min_links": 0, "miimon": 100}
    assert beyond_defaults(found, BOND) == {"lacp_rate": "fast", "miimon": 100}
