"""The time line of a boot: of kept journals of real boots, and of journals that lack something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from make_boots import BOOTS, expected
from nodenet.cli.boot_report import COLUMNS, lines
from nodenet.cli.outputs import moment
from nodenet.core.boot_report.svg import picture
from nodenet.core.boot_report.timeline import FINISHED, UNIT_STARTED, UNIT_STARTING, Kind, Report, report
from nodenet.core.messages import Message
from nodenet.core.node_ip.published_files import UNITS

CASES = sorted(path.parent for path in BOOTS.glob("*/journal.json"))
SVG = "{http://www.w3.org/2000/svg}"


def journal(name: str) -> list[Any]:
    entries: list[Any] = json.loads((BOOTS / name / "journal.json").read_text())
    return entries


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kept_boot_is_reported_as_it_was_reviewed(case: Path) -> None:
    """Text, JSON and picture."""
    for name, text in expected(journal(case.name)).items():
        assert (case / name).read_text() == text, f"{name}: run tools/make_boots.py and read the difference"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_line_fits_the_terminal(case: Path) -> None:
    """A hundred columns, reasons included."""
    assert [line for line in lines(report(journal(case.name))) if len(line) > COLUMNS] == []


def test_a_wait_is_told_with_its_reason_and_apart_from_the_work() -> None:
    """Both waits of nmstate for a late NetworkManager; they begin where the work before them ends."""
    spans = [span for span in report(journal("network-manager-late")).spans if span.actor == "nmstate"]
    assert [span.kind for span in spans] == [Kind.WORK, Kind.WAIT, Kind.WORK, Kind.WAIT, Kind.WORK]
    assert [span.text for span in spans if span.kind is Kind.WAIT] == [
        "NetworkManager is not on the bus yet",
        "NetworkManager is still starting (its first activations are not over)",
    ]
    for before, after in pairwise(spans):
        assert before.end == pytest.approx(after.start, abs=1e-3)


def test_what_libnmstate_and_waits_took_is_not_own_work() -> None:
    """The stages took more than five seconds, most of it waiting and applying."""
    late = report(journal("network-manager-late"))
    assert late.ready is not None
    assert 0 < late.own < 1
    assert late.share == late.own / late.ready


def test_what_happens_after_the_boot_is_not_part_of_it() -> None:
    """A reload, later: the same report."""
    assert report(journal("reloaded")).spans == report(journal("network-manager-late")).spans
    assert len(journal("reloaded")) > len(journal("network-manager-late"))


def test_a_boot_without_nodenetd_has_a_report_too() -> None:
    """NetworkManager, CRI-O and kubelet, for comparison."""
    without = report(journal("without-nodenetd"))
    assert (without.ready, without.share, without.own) == (None, None, 0)
    assert {"NetworkManager", "crio", "kubelet", "userspace"} == {span.actor for span in without.spans} - {
        "ovsdb-server",
        "ovs-vswitchd",
    }


def test_a_boot_that_is_not_over_ends_where_its_journal_ends() -> None:
    """The wait is open, and its reason is reported."""
    entries = journal("no-address")
    later = entries[-1] | {"__MONOTONIC_TIMESTAMP": str(int(entries[-1]["__MONOTONIC_TIMESTAMP"]) + 60_000_000)}
    still = report([*entries, {key: value for key, value in later.items() if key.startswith("_")}])
    (wait,) = (span for span in still.spans if span.kind is Kind.WAIT)
    assert (wait.actor, wait.end) == ("nodeip", None)
    assert "eth0 has carrier" in wait.text
    assert still.end == still.until == pytest.approx(wait.start + 60, abs=1)


@pytest.mark.parametrize("torn", [None, {}, [], "text", {"__MONOTONIC_TIMESTAMP": "x"}])
def test_a_torn_line_is_counted_and_costs_nothing_else(torn: object) -> None:
    """Wherever it stands."""
    whole = journal("network-manager-late")
    for position in (0, 5, len(whole)):
        made_of = report([*whole[:position], torn, *whole[position:]])  # type: ignore[list-item]
        assert made_of.unreadable == 1
        assert made_of.spans == report(whole).spans


def test_any_line_may_be_missing() -> None:
    """No journal is too short for a report, and no span ends before it begins."""
    whole = journal("daemon-killed")
    for position in range(len(whole)):
        for part in (whole[:position], whole[position:], whole[:position] + whole[position + 1 :]):
            made_of = report(part)
            assert [span for span in made_of.spans if span.end is not None and span.end < span.start] == []
            assert picture([made_of], moment)


class Journal:
    """A journal of a machine, written by hand; times in seconds."""

    def __init__(self) -> None:
        self.entries: list[dict[str, str]] = []
        self.add(0.001, _TRANSPORT="kernel")

    def add(self, at: float, **fields: str) -> None:
        entry = {"MESSAGE": "", "_BOOT_ID": "b" * 32, "__REALTIME_TIMESTAMP": str(int((1e9 + at) * 1e6)), **fields}
        self.entries.append({"__MONOTONIC_TIMESTAMP": str(int(at * 1e6)), **entry})

    def daemon(self, at: float, message: Message, text: str = "", **fields: str) -> None:
        known = {"SYSLOG_IDENTIFIER": "nodenetd", "_SYSTEMD_UNIT": "nodenetd.service"}
        self.add(at, **known, MESSAGE_ID=message.value, MESSAGE=text, **fields)

    def stage(self, at: float, status: str, started: float, waited: float = 0, **fields: str) -> None:
        times = {"STAGE_STARTED": f"{started:.6f}", "STAGE_WAITED": f"{waited:.6f}", "STAGE_ENDED": f"{at:.6f}"}
        self.daemon(at, Message.STAGE_WAITING, STAGE="nodeip", STATUS=status, **times, **fields)

    def unit(self, at: float, message: str, unit: str) -> None:
        self.add(at, MESSAGE_ID=message, UNIT=unit, _PID="1")

    def report(self) -> Report:
        return report(self.entries)


def spans_of(what: Report, actor: str) -> Iterator[tuple[str, float, float | None]]:
    return ((span.kind.value, span.start, span.end) for span in what.spans if span.actor == actor)


def test_a_machine_counts_from_its_kernel() -> None:
    """Systemd logs at the end how long kernel and initrd took."""
    made = Journal()
    made.add(
        9.0, _PID="1", MESSAGE_ID=FINISHED[0], KERNEL_USEC="2000000", INITRD_USEC="1000000", USERSPACE_USEC="6000000"
    )
    what = made.report()
    assert list(spans_of(what, "kernel")) == [("work", 0.0, 2.0)]
    assert list(spans_of(what, "initrd")) == [("work", 2.0, 3.0)]
    assert list(spans_of(what, "userspace")) == [("work", 3.0, 9.0)]
    assert what.began == 1e9


def test_a_daemon_that_dies_while_it_waits() -> None:
    """The wait ends where the next process begins, which starts the stage again; both worked."""
    made = Journal()
    made.daemon(1.0, Message.STARTED)
    made.stage(1.5, "waiting", started=1.0, WAIT="an address")
    made.daemon(4.0, Message.STARTED)
    made.stage(4.25, "waiting", started=4.0, WAIT="an address")
    made.stage(7.5, "done", started=4.0, waited=3.0)
    made.daemon(8.0, Message.READY)
    what = made.report()
    assert list(spans_of(what, "nodeip")) == [
        *(("work", 1.0, 1.5), ("wait", 1.5, 4.0)),
        *(("work", 4.0, 4.25), ("wait", 4.25, 7.25), ("work", 7.25, 7.5)),
    ]
    assert [mark.at for mark in what.marks] == [4.0, 8.0]
    assert what.own == 0.5


def test_own_clocks_are_believed_before_journald_which_may_be_late() -> None:
    """NetworkManager and nodenetd log the time; a busy journald adds its own a moment later."""
    made = Journal()
    made.stage(1.9, "waiting", started=1.0, WAIT="NetworkManager", STAGE_WAITING_SINCE="1.500000")
    manager = {"_SYSTEMD_UNIT": "NetworkManager.service", "MESSAGE": "manager: startup complete"}
    made.add(4.5, TIMESTAMP_BOOTTIME="4.000000", **manager)
    made.stage(5.0, "done", started=1.0, waited=2.5, STAGE_RESUMED="4.010000")
    assert [span.end for span in made.report().spans if span.actor == "NetworkManager"] == [4.0]
    assert [span for span in spans_of(made.report(), "nodeip") if span[0] == "wait"] == [("wait", 1.5, 4.01)]


def test_a_second_look_is_not_a_second_run() -> None:
    """Its entry has the times of the first run again."""
    made = Journal()
    made.stage(2.0, "done", started=1.0)
    made.entries.append(made.entries[-1] | {"__MONOTONIC_TIMESTAMP": "3000000", "STATUS": "failed"})
    assert list(spans_of(made.report(), "nodeip")) == [("work", 1.0, 2.0)]


def test_the_gate_waits_until_ready_and_not_after() -> None:
    """It is started by READY, or has been since a start of nodenetd failed."""
    for start, waits in ((2.5, []), (1.0, [("wait", 1.0, 2.0)])):
        made = Journal()
        events = [(start, UNIT_STARTING), (2.0, ""), (3.0, UNIT_STARTED)]
        for at, message in sorted(events):
            if message:
                made.unit(at, message, "nodenet-ready.service")
            else:
                made.daemon(at, Message.READY)
        assert list(spans_of(made.report(), "nodenet-ready")) == [*waits, ("work", max(start, 2.0), 3.0)]


def test_after_ready_only_first_starts_count() -> None:
    """Kubelet that is restarted in the afternoon did not boot then."""
    made = Journal()
    made.daemon(2.0, Message.READY)
    for at in (3.0, 5000.0):
        made.unit(at, UNIT_STARTING, "kubelet.service")
        made.unit(at + 1, UNIT_STARTED, "kubelet.service")
    assert list(spans_of(made.report(), "kubelet")) == [("work", 3.0, 4.0)]


def test_the_picture_is_well_formed_and_names_each_wait() -> None:
    """Whatever a reason contains; boots stand below one another."""
    made = Journal()
    made.stage(1.5, "waiting", started=1.0, WAIT="<eth0> & \"friends'")
    root = ET.fromstring(picture([made.report(), report(journal("network-manager-late"))], moment))  # noqa: S314 - our own
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any("<eth0> & \"friends'" in title for title in titles)
    assert any("NetworkManager is not on the bus yet" in title for title in titles)
    assert len(root.findall(f"{SVG}g")) == 2


def test_an_empty_journal_is_a_report_of_nothing() -> None:
    assert lines(report([]))[0].endswith("not ready at the end of the journal")


def test_what_another_user_writes_into_the_journal_is_no_part_of_a_boot() -> None:
    """Only fields that journald adds itself say who has written (S9)."""
    made = Journal()
    made.unit(1.0, UNIT_STARTING, "nodenetd.service")
    before = made.report()
    forged = {"SYSLOG_IDENTIFIER": "nodenetd", "_SYSTEMD_UNIT": "user@1000.service", "_PID": "4711"}
    made.add(2.0, **forged, MESSAGE_ID=Message.READY.value, MESSAGE="Ready")
    made.add(3.0, **forged, MESSAGE_ID=UNIT_STARTED, UNIT="kubelet.service")
    made.add(4.0, SYSLOG_IDENTIFIER="NetworkManager", MESSAGE="manager: startup complete")
    made.add(5.0, MESSAGE_ID=FINISHED[0], USERSPACE_USEC="4000000")
    after = made.report()
    assert (after.ready, after.spans, after.marks) == (None, before.spans, ())


@pytest.mark.parametrize("unit", UNITS)
def test_a_service_that_systemd_only_calls_started_is_shown(unit: str) -> None:
    """Kubeadm's kubelet.service has Type=simple: systemd logs no start (A12)."""
    made = Journal()
    made.unit(7.0, UNIT_STARTED, unit)
    made.unit(9.0, UNIT_STARTED, unit)
    assert list(spans_of(made.report(), unit.removesuffix(".service"))) == [("work", 7.0, 7.0)]


def test_a_boot_that_waits_lasts_until_now() -> None:
    """Its journal may be silent for an hour while something is waited for; a boot that is over does not grow."""
    waiting, over = journal("no-address"), journal("network-manager-late")
    last = int(waiting[-1]["__MONOTONIC_TIMESTAMP"]) / 1e6
    lasting = report(waiting, last + 3600)
    assert lasting.is_present
    assert lasting.end == pytest.approx(report(waiting).until + 3600)
    assert "(for 3600.0 s so far)" in " ".join(" ".join(lines(lasting)[-2:]).split())
    assert report(over, 1e9) == report(over)
    assert report(over).kubelet == pytest.approx(6.36, abs=0.01)
    assert report(over).host == "a"
