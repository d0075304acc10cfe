"""When a node file is the last known good one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from structlog.testing import capture_logs

from fakes import BOOT_ID, FakeClock, FakeFiles
from nodenet.core.apply import new_file
from nodenet.core.apply.new_file import NewFile
from nodenet.core.boot.outcome import Done, Facts, Failed, Problem
from nodenet.core.boot.stage_state import Request
from nodenet.core.boot.stages import Boot, new_boot
from nodenet.core.errors import PublishFailed
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.core.messages import Message
from nodenet.core.node_file.find import NodeFile, read
from nodenet.core.since import BEAT_SECONDS
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.core.trial.trial import Trial, TrialState
from nodenet.edge.files.disk import MOST_BYTES
from nodenet.edge.files.node_file import MAX_BYTES
from nodenet.stages.apply.history import LONGEST, History, path_of
from nodenet.stages.apply.records import NEW_FILE
from nodenet.stages.nmstate.known_good import KnownGood

FILE = read("worker-0.yml", b"a: 1\n")
APPLIED = "/etc/nmstate/openshift/applied"
FACTS = Facts(hostname="worker-0", node_file=FILE.name, digest=FILE.digest, applied_digest=FILE.digest)


def boot(**failed: Problem) -> Boot:
    """Return a boot whose stages are done, but for those that *failed*."""
    made = new_boot({}, degrade=True)
    for name in StageName:
        problem = failed.get(name.name.lower())
        outcome = Failed(problem, FACTS) if problem else Done("done", FACTS, Message.STARTED)
        made = made.begun(name, 1.0).after(name, outcome, 2.0)
    return made


READY = BootStatus(boot(), FACTS, ready=True)


def good(file: NodeFile, hostname: str = "worker-0", *, is_good: bool = True) -> bytes:
    """Return an entry of the history."""
    parts = (file.name, file.text, file.digest, hostname, BOOT_ID, 1.0)
    return entry.render(Entry(Kind.NODE_FILE, Result.COMMITTED, *parts, good=is_good), MOST_BYTES)


GOOD = path_of(1)
OTHER = read(FILE.name, b"b: 1\n")
BEFORE = good(OTHER)
"""The file that the node worked with before."""
LOST = Problem(Message.UPLINK_LOST, "eth0 has no carrier", "Check the cable")
GONE = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.5 is missing", "Bring the address back")
SECONDS = 60.0


@dataclass
class Rig:
    files: FakeFiles = field(
        default_factory=lambda: FakeFiles(
            {
                APPLIED: b"a: 1\n",
                str(NEW_FILE): new_file.render(NewFile(FILE.digest, ("boot1", BOOT_ID))),
                str(GOOD): BEFORE,
            }
        )
    )
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.watch = KnownGood(self.files, self.clock, BOOT_ID)

    def after(self, seconds: float, status: BootStatus = READY) -> float | None:
        self.clock.now += seconds
        return self.watch.show(status)

    def begins(self, seconds: float = 0.0) -> bool:
        """Return whether the minute begins after *seconds*: it ends with the first beat of the watchdog after it."""
        due = self.after(seconds)
        return due is not None and SECONDS <= due <= SECONDS + BEAT_SECONDS + 0.01

    def written_by_reboots(self) -> list[str]:
        """Return what two reboots write, the second one right after READY."""
        self.files.writes.clear()
        self.watch.ended()
        self.watch = KnownGood(self.files, self.clock, "the next boot")
        self.after(0)
        self.watch.ended()
        return self.files.writes

    @property
    def counted(self) -> NewFile:
        """The record of the boots that count against the file."""
        return new_file.parse(self.files.content[str(NEW_FILE)])

    @property
    def kept(self) -> bool:
        return self.good_file == FILE.digest

    @property
    def good_file(self) -> str | None:
        """The digest of the last known good file."""
        found = History(self.files).good("worker-0").entry
        return found.digest if found else None


def test_a_file_is_good_after_a_minute_of_ready() -> None:
    """The record is written once, also by a later daemon, and the journal has a line."""
    rig = Rig()
    assert rig.begins()
    assert not rig.kept
    with capture_logs() as logs:
        assert rig.after(SECONDS) is None
    assert [line["message"] for line in logs] == [Message.NODE_FILE_GOOD]
    found = History(rig.files).good("worker-0").entry
    assert found is not None
    assert (found.name, found.text, found.time) == ("worker-0.yml", "a: 1\n", rig.clock.unix())
    rig.files.writes.clear()
    assert rig.after(SECONDS) is None
    rig.watch = KnownGood(rig.files, rig.clock, BOOT_ID)
    assert (rig.begins(), rig.after(SECONDS)) == (True, None)
    assert rig.files.writes == []


@pytest.mark.parametrize("kept", [b"{", good(FILE, "another")])
def test_an_entry_that_is_damaged_or_of_another_host_is_no_good_one(kept: bytes) -> None:
    """It stays: it may be of use to an administrator."""
    rig = Rig()
    rig.files.content[str(GOOD)] = kept
    rig.after(0)
    rig.after(SECONDS - 1)
    assert rig.good_file is None
    rig.after(1)
    assert rig.kept
    assert rig.files.content[str(GOOD)] == kept


COUNTED = NewFile(FILE.digest, ("boot1", BOOT_ID))


def test_a_minute_of_ready_ends_the_count_of_lost_boots() -> None:
    """Not READY itself: the kernel may panic under the first traffic, in each boot. The uplink need not work."""
    rig = Rig()
    assert rig.after(0, replace(READY, ready=False)) is None
    lost = replace(READY, uplink=LOST)
    due = rig.after(0, lost)
    assert due is not None
    assert SECONDS <= due <= SECONDS + BEAT_SECONDS + 0.01
    rig.after(SECONDS - 1, lost)
    assert rig.counted == COUNTED
    assert rig.after(1, lost) is None
    assert rig.counted == NewFile(FILE.digest, ready=BOOT_ID)


@pytest.mark.parametrize("known", [None, b"torn", good(FILE)])
def test_without_another_good_file_ready_ends_the_count(known: bytes | None) -> None:
    """Nothing can take the place of the file: a restart or a reboot right after READY writes nothing."""
    rig = Rig()
    rig.files.content[str(GOOD)] = known or b""
    if known is None:
        del rig.files.content[str(GOOD)]
    rig.after(0)
    assert rig.counted == NewFile(FILE.digest, ready=BOOT_ID)
    assert rig.written_by_reboots() == []


def test_a_boot_that_is_counted_after_ready_is_not_lost() -> None:
    """The disk was full when the boot began with the file, and took that after READY."""
    rig = Rig()
    del rig.files.content[str(GOOD)]
    counted = rig.files.content.pop(str(NEW_FILE))
    rig.after(0)
    rig.files.content[str(NEW_FILE)] = counted
    rig.after(1)
    assert rig.counted == NewFile(FILE.digest, ready=BOOT_ID)
    assert rig.written_by_reboots() == []


def test_a_node_that_is_rebooted_right_after_ready_has_lost_no_boot() -> None:
    """It stops nodenetd. A stop before READY may be the work of a person who gave up waiting."""
    rig = Rig()
    rig.after(0, replace(READY, ready=False))
    rig.watch.ended()
    assert rig.counted == COUNTED
    rig.after(0)
    rig.files.bad = {str(NEW_FILE): PublishFailed("Read-only file system")}
    rig.watch.ended()
    rig.files.bad = {}
    assert rig.counted == COUNTED
    rig.watch.ended()
    assert rig.counted == NewFile(FILE.digest, ("boot1",))


def test_a_file_that_leaves_the_node_dark_is_counted_however_long_kubelet_runs() -> None:
    """Its lease ended after READY; the node is switched off, or restarted by a person."""
    rig = Rig()
    rig.after(0)
    for _ in range(5):
        rig.after(SECONDS, replace(READY, losses=(GONE,)))
    rig.watch.ended()
    assert new_file.parse(rig.files.content[str(NEW_FILE)]) == NewFile(FILE.digest, ("boot1", BOOT_ID))


def test_a_stop_of_a_node_that_works_writes_nothing() -> None:
    rig = Rig()
    rig.after(0)
    rig.after(SECONDS)
    assert rig.written_by_reboots() == []


def test_a_disk_that_does_not_take_the_end_of_the_count_is_tried_again() -> None:
    rig = Rig()
    rig.after(0)
    rig.files.bad = {str(NEW_FILE): PublishFailed("No space left on device")}
    assert rig.after(SECONDS) == 1.0
    rig.files.bad = {}
    assert rig.after(1) is None
    assert (rig.counted.ready, rig.kept) == (BOOT_ID, True)


def test_the_minute_begins_again_after_a_trial_of_another_file() -> None:
    """During it the network is that of the other file."""
    rig = Rig()
    trial = Trial("new.yml", "d" * 64, "root", TrialState.HOLDING, 200.0)
    rig.after(0)
    assert rig.after(50, replace(READY, trial=trial)) == 10 + BEAT_SECONDS, "the count of lost boots goes on"
    assert rig.after(SECONDS, replace(READY, trial=trial)) is None
    assert not rig.kept
    assert rig.begins()
    rig.after(SECONDS, replace(READY, trial=trial.ended(TrialState.ROLLED_BACK)))
    assert rig.kept


def test_a_boot_that_is_ready_without_its_file_is_not_counted_and_its_file_not_good() -> None:
    """The file was refused; the network is that of an older one."""
    rig = Rig()
    refused = replace(READY, facts=replace(FACTS, applied_digest="another"))
    assert (rig.after(0, refused), rig.after(SECONDS, refused)) == (None, None)
    assert new_file.parse(rig.files.content[str(NEW_FILE)]) == NewFile(FILE.digest, ("boot1",))
    assert not rig.kept


OLD = replace(FACTS, digest="old", applied_digest="old")


def test_a_node_that_was_ready_with_the_file_before_is_not_ready_with_a_reloaded_one() -> None:
    """The new file may keep the stages behind it from their end; what worked before stays the last known good file."""
    rig = Rig()
    rig.after(0, replace(READY, facts=OLD))
    reloaded = new_boot({}, degrade=True).instead_of(READY.boot, Request(2, retry_refused=True))
    assert rig.after(0, replace(READY, boot=reloaded)) is None
    assert rig.after(10 * SECONDS, replace(READY, boot=reloaded)) is None
    assert (new_file.parse(rig.files.content[str(NEW_FILE)]).ready, rig.kept) == ("", False)
    assert rig.after(0, replace(READY, boot=boot(nodeip=LOST))) is None
    assert (new_file.parse(rig.files.content[str(NEW_FILE)]).ready, rig.kept) == ("", False)
    assert rig.begins()
    rig.after(SECONDS)
    assert (rig.counted.ready, rig.kept) == (BOOT_ID, True)


def test_a_reload_whose_file_is_refused_loses_no_boot() -> None:
    """The node is READY with the file before: the first time, and when the same file is refused once more."""
    rig = Rig()
    refused = replace(READY, facts=replace(FACTS, applied_digest="old"))
    under_way = replace(refused, boot=new_boot({}, degrade=True))
    rig.after(0, replace(READY, facts=OLD))
    for _ in range(2):
        rig.after(0, under_way)
        rig.files.content[str(NEW_FILE)] = new_file.render(NewFile(FILE.digest, (BOOT_ID,)))
        rig.after(0, under_way)
        rig.after(0, refused)
        assert new_file.parse(rig.files.content[str(NEW_FILE)]) == NewFile(FILE.digest)


@pytest.mark.parametrize(
    "lost", [replace(READY, uplink=LOST), replace(READY, losses=(replace(LOST, message=Message.NODE_IP_DRIFT),))]
)
def test_the_minute_begins_again_when_the_uplink_was_lost(lost: BootStatus) -> None:
    """Or a node IP: then the count of lost boots does not end either."""
    rig = Rig()
    rig.after(0)
    assert rig.after(50, lost) == (10 + BEAT_SECONDS if lost.uplink else None)
    rig.after(20)
    assert new_file.parse(rig.files.content[str(NEW_FILE)]).ready == (BOOT_ID if lost.uplink else "")
    assert not rig.kept
    rig.after(SECONDS)
    assert rig.kept


def test_a_marker_of_another_program_is_not_kept() -> None:
    """It is not known what was applied, until a full disk takes the marker of the file."""
    rig = Rig()
    rig.files.content[APPLIED] = b"a: 2\n"
    rig.after(0)
    assert (rig.after(SECONDS), rig.kept) == (None, False)
    rig.files.content[APPLIED] = b"a: 1\n"
    assert (rig.after(1), rig.kept) == (None, True)


def test_a_disk_that_takes_nothing_is_tried_again() -> None:
    """It is logged once."""
    rig = Rig()
    rig.after(0)
    rig.files.bad = {str(path_of(2)): PublishFailed("No space left on device")}
    with capture_logs() as logs:
        assert rig.after(SECONDS) == 1.0
        assert rig.after(1) == 2.0
    assert len(logs) == 1
    rig.files.bad = {}
    assert (rig.after(2), rig.kept) == (None, True)


def test_without_a_node_file_there_is_nothing_to_keep() -> None:
    rig = Rig()
    assert rig.after(0, replace(READY, facts=Facts(hostname="worker-0"))) is None
    assert rig.after(SECONDS, replace(READY, facts=Facts(hostname="worker-0"))) is None
    assert not rig.kept


@pytest.mark.parametrize("line", ["#\n", '"', "\u00e4", "\U0001f600"])
def test_the_record_of_the_largest_node_file_can_be_read_again(line: str) -> None:
    """JSON has more bytes than the text."""
    text = line * (MAX_BYTES // len(line.encode()))
    record = good(read("worker-0.yml", text.encode()))
    assert len(record) < MOST_BYTES == LONGEST


def test_a_file_that_comes_back_after_a_confirmed_trial_is_kept_again() -> None:
    """The confirmation has kept the file of the trial; the node works with the one before for months."""
    rig = Rig()
    rig.after(0)
    rig.after(SECONDS)
    rig.files.content[str(path_of(9))] = good(OTHER)
    assert rig.good_file == OTHER.digest
    facts = replace(FACTS, digest=OTHER.digest, applied_digest=OTHER.digest)
    rig.after(0, replace(READY, facts=facts))
    assert rig.begins()
    rig.after(SECONDS)
    assert rig.good_file == FILE.digest


def test_the_entry_of_the_apply_is_the_one_that_becomes_good() -> None:
    """It has the network."""
    rig = Rig()
    rig.files.content[str(path_of(2))] = good(FILE, is_good=False)
    rig.after(0)
    rig.after(SECONDS)
    assert rig.files.content[str(path_of(2))] == good(FILE)
    assert History(rig.files).numbers() == [2, 1]
