"""The parts of a report."""

from __future__ import annotations

from nodenet.core.report import parts
from nodenet.core.report.parts import MOST_BYTES, PARTS, Made, document, within_limit


def test_every_part_has_a_name_of_its_own_and_a_bound() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)
    assert all(0 < part.seconds <= 30 and 0 < part.most_bytes <= 24 << 20 for part in PARTS)
    assert parts.CONTENTS not in {part.name for part in PARTS}


def test_no_command_prints_secrets_by_itself() -> None:
    """Nmcli has an option for that, keys of IPsec and MACsec have commands, and keyfiles are not copied."""
    words = " ".join(" ".join(part.command) for part in PARTS)
    risky = ("--show-secrets", "xfrm", "macsec", "system-connections", "kubeconfig")
    assert [word for word in risky if word in words] == []


def test_what_does_not_fit_is_named_and_what_fits_stays() -> None:
    kept = within_limit([Made("a", "A", b"x" * 10), Made("b", "B", b"x" * MOST_BYTES), Made("c", "C", b"y")])
    assert [(one.name, len(one.content)) for one in kept] == [("a", 10), ("b", 0), ("c", 1)]
    assert kept[1].note == "left out: the report would be too large"


def test_the_list_of_contents() -> None:
    assert document([Made("a", "A", b"xy", "cut off")], {"node": "n"}) == {
        "schema_version": 1,
        "node": "n",
        "parts": [{"name": "a", "what": "A", "bytes": 2, "note": "cut off"}],
    }
