"""How are records kept that a full disk may refuse, and which process changes the node?"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path, PurePath, PurePosixPath

import pytest

from fakes import FakeFiles
from nodenet.core.errors import PublishFailed
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.edge.files.store import Store, is_released

PATH = PurePosixPath("/var/lib/nodenet/intent.json")
COPY = "/run/nodenet/owed-intent.json"
FULL = PublishFailed("/var/lib/nodenet/intent.json cannot be written: No space left on device")


class HalfFull(FakeFiles):
    """A disk of which only /run takes anything while *full* is set."""

    full = False

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        if self.full and not str(path).startswith("/run/"):
            raise FULL
        return super().write(path, content, mode)

    def remove(self, path: PurePath) -> bool:
        if self.full and not str(path).startswith("/run/"):
            raise FULL
        return super().remove(path)


def test_a_record_is_on_the_disk_behind_the_keyfiles_and_nothing_else_is_left() -> None:
    """NetworkManager syncs neither a new keyfile nor that one is gone."""
    files = FakeFiles()
    store = Store(files, KEYFILES)
    store.save(PATH, b"good")
    assert (store.read(PATH), files.content) == (b"good", {str(PATH): b"good"})
    assert files.writes.index(f"sync {KEYFILES}") < files.writes.index(str(PATH))
    store.save(PATH, None)
    assert (store.read(PATH), files.content, store.pay()) == (None, {}, None)


def test_what_must_be_on_the_disk_before_the_change_is_refused_by_a_full_one() -> None:
    store = Store(FakeFiles(broken=FULL), KEYFILES)
    with pytest.raises(PublishFailed):
        store.save_ahead(PATH, b"applying")
    assert store.read(PATH) is None


def test_a_record_that_is_too_large_to_be_read_again_is_none() -> None:
    class Forgetful(FakeFiles):
        def read(self, path: PurePath) -> bytes | None:
            if (content := super().read(path)) and len(content) > 10:
                raise PublishFailed(f"{path} is larger than 10 bytes")
            return content

    files = Forgetful()
    with pytest.raises(PublishFailed, match="larger than"):
        Store(files, KEYFILES).save_ahead(PATH, b"x" * 11)
    assert str(PATH) not in files.content


@pytest.mark.parametrize("content", [b"good", None])
def test_what_has_happened_is_true_though_the_disk_does_not_take_it(content: bytes | None) -> None:
    """For this process, for the next one of the same boot, and on the disk once that takes it."""
    files = HalfFull({str(PATH): b"applying"})
    store = Store(files, KEYFILES)
    files.full = True
    store.save(PATH, content)
    assert (store.read(PATH), store.pay(), files.content[str(PATH)]) == (content, FULL, b"applying")
    after = Store(files, KEYFILES)
    assert (after.read(PATH), after.pay()) == (content, FULL)
    files.full = False
    assert after.pay() is None
    assert files.content == ({} if content is None else {str(PATH): content})


def test_a_record_that_is_saved_while_an_older_one_is_written_is_not_lost() -> None:
    class Interrupted(FakeFiles):
        def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
            written = super().write(path, content, mode)
            if content == b"older":
                store.save(PATH, b"newer")
            return written

    store = Store(files := Interrupted(), KEYFILES)
    store.save(PATH, b"older")
    assert (store.read(PATH), store.pay(), files.content) == (b"newer", None, {str(PATH): b"newer"})


def test_a_record_that_is_saved_meanwhile_and_not_taken_stays_owed_in_run() -> None:
    class FullFromNowOn(HalfFull):
        def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
            written = super().write(path, content, mode)
            if content == b"older":
                self.full = True
                store.save(PATH, b"newer")
            return written

    store = Store(files := FullFromNowOn(), KEYFILES)
    store.save(PATH, b"older")
    assert (store.read(PATH), store.pay(), files.content[str(PATH)]) == (b"newer", FULL, b"older")
    assert Store(files, KEYFILES).read(PATH) == b"newer", "the next process of this boot"


def test_without_run_it_is_true_in_memory() -> None:
    store = Store(FakeFiles(broken=FULL), KEYFILES)
    store.save(PATH, b"good")
    assert (store.read(PATH), store.pay()) == (b"good", FULL)


@pytest.mark.parametrize("copy", [b"{", b"[]", b'{"instead_of": ""}', b'{"instead_of": "", "content": 7}'])
def test_a_copy_that_is_torn_or_of_an_older_record_says_nothing(copy: bytes) -> None:
    files = HalfFull()
    files.full = True
    Store(files, KEYFILES).save(PATH, b"good")
    files.full = False
    files.content[str(PATH)] = b"newer"
    assert Store(files, KEYFILES).read(PATH) == b"newer"
    files.content = {COPY: copy}
    assert Store(files, KEYFILES).read(PATH) is None


def test_a_disk_that_cannot_be_read_says_so() -> None:
    with pytest.raises(PublishFailed):
        Store(FakeFiles(bad={str(PATH): FULL}), KEYFILES).read(PATH)


HOLD = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_is_released_when_its_process_ends(tmp_path: Path) -> None:
    """However it ends; looking does not take the lock (R56)."""
    lock = tmp_path / "lock"
    lock.write_text("1\n")
    assert is_released(lock)
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        assert not is_released(lock)
        process.kill()
    assert is_released(lock)


def test_a_lock_of_another_kind_or_file_is_not_the_daemons(tmp_path: Path) -> None:
    lock, other = tmp_path / "lock", tmp_path / "other"
    for path in (lock, other):
        path.write_text("1\n")
    with lock.open("r+") as file, other.open() as another:
        fcntl.lockf(file, fcntl.LOCK_EX)  # POSIX, not flock(2)
        fcntl.flock(another, fcntl.LOCK_EX)
        assert is_released(lock)
        assert not is_released(other)


def test_without_a_lock_file_or_a_list_of_locks_nothing_is_known(tmp_path: Path) -> None:
    """A state file that was copied to another place, and a /proc that shows nothing."""
    assert not is_released(tmp_path / "lock")
    lock = tmp_path / "lock"
    lock.touch()
    assert not is_released(lock, tmp_path / "locks")


def test_a_process_that_waits_does_not_hold_it(tmp_path: Path) -> None:
    """Its line has an arrow before the fields (proc_locks(5))."""
    lock, locks = tmp_path / "lock", tmp_path / "locks"
    lock.touch()
    number = lock.stat().st_ino
    device = f"{lock.stat().st_dev >> 8:02x}:{lock.stat().st_dev & 0xFF:02x}"
    locks.write_text(f"1: -> FLOCK ADVISORY WRITE 812 {device}:{number} 0 EOF\nnonsense\n\n")
    assert is_released(lock, locks)
