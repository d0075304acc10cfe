"""Records that the disk does not take are one problem, with one timer."""

from __future__ import annotations

from pathlib import PurePosixPath

from fakes import FakeFiles
from nodenet.core.boot.outcome import Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import PublishFailed
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.status.document import BootStatus
from nodenet.edge.files.store import Store
from nodenet.loop.background import AGAIN_SECONDS, StoreWatch

FULL = PublishFailed("/var/lib/nodenet cannot be written: No space left on device", remedy="Free space")


def test_a_disk_that_refuses_is_one_problem_until_it_has_taken_all() -> None:
    files, reported = FakeFiles(broken=FULL), list[Problem | None]()
    store = Store(files, KEYFILES)
    watch, status = StoreWatch(store, reported.append), BootStatus(new_boot({}, degrade=True))
    assert (watch.show(status), reported) == (None, [])
    for name in ("intent.json", "change.json"):
        store.save(PurePosixPath("/var/lib/nodenet") / name, b"{}")
        assert watch.show(status) == AGAIN_SECONDS
    cause = f"{FULL.cause}; what nodenet did is remembered until a reboot only"
    assert reported == [Problem(FULL.message, cause, "Free space")]
    files.broken = None
    assert watch.show(status) is None
    assert reported[1:] == [None]
    assert files.content.keys() == {"/var/lib/nodenet/intent.json", "/var/lib/nodenet/change.json"}
