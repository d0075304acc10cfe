"""Which units are the former chain, which stage does each of them do, and which files decide who does it?"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

import pytest

from nodenet.core.adoption.former_chain import (
    EVERY_UNIT,
    GATE,
    MARKER,
    NODENETD,
    AdoptionRecord,
    Skip,
    adopted_units,
    all_drop_ins,
    drop_ins,
    drops_conditions,
    gate_copy,
    held,
    is_copy,
    parse,
    render,
    why_skipped,
)
from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message

ONE, OTHER = "nodeip-configuration.service", "ovs-configuration.service"


def conditions(files: object) -> dict[str, str]:
    """Return the condition of each unit."""
    found = {}
    for path, text in dict(files).items():  # type: ignore[call-overload]
        (found[path.parent.name.removesuffix(".d")],) = re.findall(r"(?m)^ConditionPathExists=(.*)$", text.decode())
    return found


def test_the_marker_decides_for_both_sides() -> None:
    assert conditions(drop_ins([ONE, OTHER])) == {
        ONE: f"!{MARKER}",
        OTHER: f"!{MARKER}",
        NODENETD: str(MARKER),
        GATE: str(MARKER),
    }


def test_an_extension_is_merged_before_systemd_looks_for_nodenet() -> None:
    """Else the former chain would start, and nodenetd too."""
    for path, text in drop_ins(EVERY_UNIT).items():
        assert (b"After=systemd-sysext.service\n" in text) is (path.parent.name not in (f"{NODENETD}.d", f"{GATE}.d"))


def test_only_the_copy_of_an_adoption_is_replaced_or_removed() -> None:
    """A gate in /etc may be a mask, or from an administrator or the installer of a system extension."""
    copy = gate_copy(b"[Unit]\n", None)
    assert copy is not None
    assert copy.endswith(b"\n[Unit]\n")
    assert (is_copy(copy), is_copy(b"[Unit]\n"), is_copy(b""), is_copy(None)) == (True, False, False, False)
    assert gate_copy(b"[Service]\n", copy) == copy.replace(b"[Unit]", b"[Service]")
    assert (gate_copy(b"[Unit]\n", b""), gate_copy(b"[Unit]\n", b"[Unit]\n"), gate_copy(None, None)) == (None,) * 3


def test_a_held_unit_stays_held_whatever_its_other_drop_in_says() -> None:
    """Of two drop-ins with one name, systemd reads that in /etc only."""
    names = {path.name for path in drop_ins([ONE])} & {path.name for path in held([ONE])}
    assert names == set()


@pytest.mark.parametrize(
    ("name", "text", "void"),
    [
        ("99-mine.conf", "[Unit]\nConditionPathExists=\n", True),
        ("99-mine.conf", "[Unit]\n  ConditionVirtualization =  \n", True),
        ("99-mine.conf", "[Unit]\nConditionPathExists=/a\n", False),
        ("99-mine.conf", "[Unit]\nConditionPathExists=|/a\n# ConditionPathExists=\n", False),
        ("99-mine.conf", "[Service]\nEnvironment=\n", False),
        ("10-mine.conf", "[Unit]\nConditionPathExists=\n", False),
        ("90-nodenet-adopt.conf", "[Unit]\nConditionPathExists=!/etc/nodenet/adopted\n", False),
    ],
)
def test_an_empty_condition_that_is_read_later_voids_ours(name: str, text: str, void: bool) -> None:  # noqa: FBT001
    assert drops_conditions(PurePosixPath("/usr/lib/systemd/system/x.service.d", name), text) is void


def test_the_units_of_drop_ins() -> None:
    assert adopted_units(map(str, drop_ins([OTHER, ONE]))) == (ONE, OTHER)


def test_every_drop_in_is_found_again() -> None:
    assert set(all_drop_ins()) == set(drop_ins(EVERY_UNIT))


# The record of a run that never ended.


REST = "`nodenetctl adopt` completes the way to nodenet, `nodenetctl hand-back` the way to the former chain"
RECORD = AdoptionRecord("adopt", "b" * 32, ("drop-ins+", "marker+"), 1)


def test_it_is_read_as_it_was_written() -> None:
    assert parse(render(RECORD)) == RECORD


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"{}",
        render(RECORD).replace(b'"version": 1', b'"version": 2'),
        json.dumps({"version": 1, "verb": "adopt"}).encode(),
        render(RECORD).replace(b'"done": 1', b'"done": "1"'),
        render(RECORD).replace(b'"undoing": false', b'"undoing": 0'),
        render(RECORD).replace(b'"adopt"', b"7"),
        render(RECORD).replace(b'"done"', b'"todo"'),
    ],
)
def test_what_is_no_record_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (each has its own words)
        parse(content)


def test_an_interrupted_run_says_on_which_side_the_node_is() -> None:
    assert RECORD.interrupted(marker=True, same_boot=False) == Problem(
        Message.ADOPTION_FAILED,
        "A `nodenetctl adopt` was interrupted before the last boot (step 2 of 2): /etc/nodenet/adopted exists, so "
        "nodenet configures this node at every boot",
        REST,
    )
    assert RECORD.interrupted(marker=False, same_boot=True) == Problem(
        Message.ADOPTION_FAILED,
        "A `nodenetctl adopt` was interrupted in this boot (step 2 of 2): /etc/nodenet/adopted does not exist, so the "
        "former chain configures this node at every boot",
        REST,
    )


OURS = "{ path=/bin/sh ; argv[]=/bin/sh -c /usr/libexec/nodenet/former-chain; exit ; code=exited ; status="
THEIRS = "{ path=/bin/false ; argv[]=/bin/false ; code=exited ; status=1 }"
SHOWN = "LoadState=loaded\nActiveState=inactive\nResult=success\nConditionResult=no\nConditionTimestampMonotonic=0\n"
LOOKED = SHOWN.replace("Monotonic=0", "Monotonic=7")


def ended(*conditions: str) -> str:
    return SHOWN.replace("success", "exec-condition") + "".join(f"ExecCondition={each}\n" for each in conditions)


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("", None),
        (SHOWN, None),
        (LOOKED, Skip.CONDITION),
        (LOOKED + "Job=12\n", None),
        (LOOKED + "Job=0\n", Skip.CONDITION),
        (LOOKED.replace("=no", "=yes"), None),
        (LOOKED.replace("inactive", "activating"), None),
        (SHOWN.replace("=loaded", "=masked"), Skip.MASKED),
        (ended(f"{OURS}3 }}"), Skip.FORMER_CHAIN),
        (ended(f"{OURS}3 }}", THEIRS.replace("status=1", "status=0")), Skip.FORMER_CHAIN),
        (ended(f"{OURS}0 }}", THEIRS), Skip.COMMAND),
        (ended(THEIRS), Skip.COMMAND),
        (ended(OURS.replace("exited", "(null)") + "0/0 }"), Skip.COMMAND),
        (ended(f"{OURS}203 }}"), None),
        (ended(f"{OURS}2 }}"), None),
    ],
)
def test_it_is_skipped_by_a_condition_that_was_answered(shown: str, why: Skip | None) -> None:
    """One that could not be run, as where there is no memory, has no answer: nodenetd is started again.

    After a reload systemd has forgotten the exit code, and it is only known that a command said so.
    """
    assert why_skipped(shown) is why


def test_each_reason_has_a_remedy() -> None:
    assert [skip.remedy for skip in Skip] == [
        "Run `nodenetctl adopt` to let nodenetd do that",
        "Run `systemctl status nodenetd`",
        "Run `systemctl status nodenetd`",
        "Run `systemctl unmask nodenetd; systemctl unmask --runtime nodenetd; systemctl start nodenetd`",
    ]
