"""Which file is applied after boots without READY."""

from __future__ import annotations

import pytest

from fakes import BOOT_ID, FakeFiles
from nodenet.core.apply import new_file
from nodenet.core.apply.new_file import NewFile
from nodenet.core.errors import PublishFailed
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.core.messages import Message
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.node_file.find import NodeFile, read
from nodenet.edge.files.store import Store
from nodenet.stages.apply.history import path_of
from nodenet.stages.apply.records import NEW_FILE
from nodenet.stages.nmstate.quarantine import Quarantine

FILE, OLD = read("worker-0.yml", b"a: 1\n"), read("worker-0.yml", b"a: 0\n")
GOOD = path_of(3)
LOST = NewFile(FILE.digest, ("boot1", "boot2"))


def disk(hostname: str = "worker-0", lost: NewFile = LOST) -> FakeFiles:
    return FakeFiles({str(GOOD): good(OLD, hostname), str(NEW_FILE): new_file.render(lost)})


def good(file: NodeFile, hostname: str = "worker-0") -> bytes:
    parts = (file.name, file.text, file.digest, hostname, BOOT_ID, 1.0)
    return entry.render(Entry(Kind.NODE_FILE, Result.COMMITTED, *parts, good=True), 1 << 20)


def quarantined(files: FakeFiles, boot_id: str, limit: int) -> Quarantine:
    return Quarantine(files, Store(files, KEYFILES), boot_id, limit)


def noted(files: FakeFiles) -> NewFile:
    return new_file.parse(files.content[str(NEW_FILE)])


def test_each_boot_of_a_new_file_is_noted() -> None:
    files = FakeFiles()
    for boot in ("boot1", "boot2"):
        quarantine = quarantined(files, boot, 2)
        assert quarantine.choose(FILE, "worker-0", run=None) == (FILE, None)
        quarantine.begin(FILE.digest, "worker-0")
    assert noted(files) == LOST


def test_a_file_that_worked_is_not_counted_where_there_is_nothing_to_go_back_to() -> None:
    """A reboot within `good_after` of the first boot writes nothing."""
    files = FakeFiles({str(NEW_FILE): new_file.render(NewFile(FILE.digest, ready="boot0"))})
    quarantined(files, "boot1", 2).begin(FILE.digest, "worker-0")
    assert files.writes == []


def test_boots_are_counted_also_after_one_that_stayed_ready() -> None:
    """A lease of the file may end a year later; the last known good file itself is never counted."""
    files = disk(lost=NewFile(FILE.digest, ready="boot0"))
    for boot in ("boot1", "boot2"):
        quarantined(files, boot, 2).begin(FILE.digest, "worker-0")
    assert noted(files) == LOST
    chosen, problem = quarantined(files, "boot3", 2).choose(FILE, "worker-0", run=None)
    assert chosen.digest == OLD.digest
    assert problem
    files = disk(lost=NewFile(OLD.digest, ready="boot0"))
    quarantined(files, "boot1", 2).begin(OLD.digest, "worker-0")
    assert noted(files) == NewFile(OLD.digest, ready="boot0")


@pytest.mark.parametrize(
    ("file", "hostname", "records"), [(OLD, "worker-0", 0), (FILE, "worker-0", 1), (OLD, "worker-1", 1)]
)
def test_the_last_known_good_file_is_not_new_where_its_record_is_lost(
    file: NodeFile, hostname: str, records: int
) -> None:
    files = disk()
    del files.content[str(NEW_FILE)]
    quarantined(files, BOOT_ID, 2).begin(file.digest, hostname)
    assert len(files.content) - 1 == records


def test_without_a_last_known_good_file_there_is_nothing_to_go_back_to() -> None:
    files = disk()
    del files.content[str(GOOD)]
    assert quarantined(files, BOOT_ID, 2).choose(FILE, "worker-0", run=None) == (FILE, None)


@pytest.mark.parametrize(("limit", "used"), [(2, OLD), (3, FILE), (0, FILE)])
def test_the_limit_is_a_setting(limit: int, used: object) -> None:
    chosen, problem = quarantined(disk(), BOOT_ID, limit).choose(FILE, "worker-0", run=None)
    assert (chosen.digest, problem is None) == (getattr(used, "digest", None), used is FILE)


def test_the_quarantine_stays_until_the_file_is_corrected_or_asked_for() -> None:
    files = disk()
    quarantine = quarantined(files, BOOT_ID, 2)
    assert quarantine.choose(FILE, "worker-0", run=None)[0].digest == OLD.digest
    corrected = read("worker-0.yml", b"a: 2\n")
    assert quarantine.choose(corrected, "worker-0", run=None) == (corrected, None)
    assert quarantine.choose(FILE, "worker-0", run=1) == (FILE, None)
    assert quarantine.choose(FILE, "worker-0", run=None) == (FILE, None)
    quarantine.begin(FILE.digest, "worker-0")
    assert noted(files) == NewFile(FILE.digest, (BOOT_ID,)), "it has two boots again"


def test_a_last_known_good_file_of_another_host_is_not_used_and_not_touched() -> None:
    files = disk(hostname="worker-9")
    before = files.content[str(GOOD)]
    chosen, problem = quarantined(files, BOOT_ID, 2).choose(FILE, "worker-0", run=None)
    assert (chosen, files.content[str(GOOD)]) == (FILE, before)
    assert problem is not None
    assert (problem.message, problem.cause, problem.remedy) == (
        Message.RECORD_UNREADABLE,
        (
            "2 boots in a row with worker-0.yml did not reach READY or ended soon after it, and no good entry of the "
            "history in /var/lib/nodenet/history can be used: /var/lib/nodenet/history/3.json: it belongs to the host "
            "worker-9, and this one is worker-0"
        ),
        ("Correct worker-0.yml, or run `nodenetctl reload --wait`; remove the entry if it is another node's"),
    )


def test_before_the_node_has_its_name_the_file_of_the_cluster_is_used() -> None:
    """A host name that could not be made static comes from DHCP, which the new file of the cluster may have broken."""
    new, old = read("cluster.yml", b"a: 1\n"), read("cluster.yml", b"a: 0\n")
    files = disk(lost=NewFile(new.digest, ("boot1", "boot2")))
    files.content[str(GOOD)] = good(old)
    chosen, problem = quarantined(files, BOOT_ID, 2).choose(new, None, run=None)
    assert chosen.digest == old.digest
    assert problem is not None
    assert problem.message is Message.NODE_FILE_QUARANTINED


def test_a_damaged_one_is_not_touched_either() -> None:
    files = disk()
    files.content[str(GOOD)] = b"\0" * 40
    chosen, problem = quarantined(files, BOOT_ID, 2).choose(FILE, "worker-0", run=None)
    assert (chosen, files.content[str(GOOD)]) == (FILE, b"\0" * 40)
    assert problem is not None
    assert problem.message is Message.RECORD_UNREADABLE


def test_a_disk_that_takes_nothing_does_not_fail_the_stage() -> None:
    files = FakeFiles(
        bad={str(NEW_FILE): PublishFailed("/var/lib/nodenet/boots.json cannot be read: Input/output error")}
    )
    quarantine = quarantined(files, BOOT_ID, 2)
    assert quarantine.choose(FILE, "worker-0", run=None) == (FILE, None)
    quarantine.begin(FILE.digest, "worker-0")
    files = disk()
    files.bad = {str(GOOD): PublishFailed("cannot be read: Input/output error")}
    chosen, problem = quarantined(files, BOOT_ID, 2).choose(FILE, "worker-0", run=None)
    assert (chosen, problem is None) == (FILE, False)


def test_a_file_that_cut_the_node_off_is_not_used_in_this_boot() -> None:
    """Nor by a later daemon of this boot; the next boot tries it, and so does an administrator who asks for it."""
    files = disk(lost=NewFile(FILE.digest, (BOOT_ID,)))
    quarantined(files, BOOT_ID, 2).give_up(FILE, "worker-0", "failed its probes (no gateway answers)")
    later = quarantined(files, BOOT_ID, 2)
    chosen, problem = later.choose(FILE, "worker-0", run=None)
    assert chosen.digest == OLD.digest
    assert problem is not None
    assert problem.cause == (
        "worker-0.yml failed its probes (no gateway answers): the last known good worker-0.yml is used in its place"
    )
    assert quarantined(files, "the next boot", 2).choose(FILE, "worker-0", run=None) == (FILE, None)
    assert later.choose(FILE, "worker-0", run=1) == (FILE, None)
    later.give_up(FILE, "worker-0", "failed its probes (no gateway answers)")
    assert later.choose(FILE, "worker-0", run=1)[0].digest == OLD.digest, "it was asked for once"
    assert later.choose(FILE, "worker-0", run=2) == (FILE, None)


def test_only_another_file_can_take_the_place_of_one() -> None:
    """And none where no file is ever taken out of use."""
    files = disk()
    assert quarantined(files, BOOT_ID, 2).has_other(FILE, "worker-0")
    assert not quarantined(files, BOOT_ID, 2).has_other(OLD, "worker-0")
    assert not quarantined(files, BOOT_ID, 2).has_other(FILE, "worker-9")
    assert not quarantined(files, BOOT_ID, 0).has_other(FILE, "worker-0")
