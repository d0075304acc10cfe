"""The parts of a report."""

from __future__ import annotations

import json

import pytest

from nodenet.core.report import parts
from nodenet.core.report.parts import MOST_BYTES, PARTS, Made, document, journal_text, within_limit


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


# The journal as a report shows it.


LATE = {"__REALTIME_TIMESTAMP": "1763827200000001", "SYSLOG_IDENTIFIER": "nodenetd", "_PID": "7", "MESSAGE": "Late"}
EARLY = {**LATE, "__REALTIME_TIMESTAMP": "1763827100000000", "MESSAGE": "Early", "REMEDY": "Do this"}


def shown(printed: str) -> str:
    return journal_text(printed, lambda seconds: f"at {seconds}")


def test_oldest_first_with_the_remedy() -> None:
    printed = f"{json.dumps(LATE)}\n{json.dumps(EARLY)}\n"
    assert shown(printed) == (
        "at 1763827100.0 nodenetd[7]: Early To do: Do this\nat 1763827200.000001 nodenetd[7]: Late\n"
    )


def test_other_bytes_and_several_lines() -> None:
    odd = {**LATE, "MESSAGE": [255, 97], "_PID": "7"}
    assert "[7]: \\xffa\n" in shown(json.dumps(odd))
    assert "Late\n  more\n" in shown(json.dumps({**LATE, "MESSAGE": "Late\nmore"}))
    assert "nodenetd[7]: a b\n" in shown(json.dumps({**LATE, "MESSAGE": ["a", "b"]}))


@pytest.mark.parametrize(
    "line", ["", "[]", "1", '{"MESSAGE": "x"}', json.dumps(LATE)[:40], '{"__REALTIME_TIMESTAMP": "9e99"}', "[" * 99999]
)
def test_a_line_that_is_no_entry_is_left_out(line: str) -> None:
    assert shown(f"{json.dumps(LATE)}\n{line}").count("\n") == 1
