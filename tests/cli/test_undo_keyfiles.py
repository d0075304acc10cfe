"""The keyfiles of an interrupted change come back before NetworkManager starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes import FakeFiles
from nodenet.cli.undo_keyfiles import put_back
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.change.record import PATH, RESULT, Change, What, render
from nodenet.core.change.way_back import Network
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES

ETH0 = KEYFILES / "eth0.nmconnection"
OWN = "[connection]\nid=eth0\nuuid=u-0\ninterface-name=eth0\n"
PORT = b"[connection]\nid=eth0-port\nuuid=u-7\ninterface-name=eth0\n"
DURING = Intent("d" * 64, Phase.APPLYING, "the last boot", 90.0)
CHANGE = Change(
    What.NODE_FILE,
    "worker-0.yml",
    DURING,
    Network(("eth0",), (KeptProfile("u-0", "eth0", str(ETH0), in_memory=False, settings={}, keyfile=OWN),)),
)


def left(change: Change = CHANGE, result: Intent | None = None) -> FakeFiles:
    """Return the disk after a power cut."""
    more = {str(RESULT[What.NODE_FILE]): intent.render(result)} if result else {}
    return FakeFiles({str(PATH): render(change), str(KEYFILES / "eth0-port.nmconnection"): PORT, **more})


def test_the_keyfiles_are_those_from_before_and_the_change_stays_open() -> None:
    """Nodenetd looks whether anything is left to do, and closes it."""
    files = left()
    assert put_back(files, "this boot")
    assert files.content == {str(PATH): render(CHANGE), str(ETH0): OWN.encode()}
    assert files.writes[-1] == f"sync {KEYFILES}"
    assert not put_back(files, "this boot"), "a difference"


@pytest.mark.parametrize(
    "files",
    [
        FakeFiles(),
        left(replace(CHANGE, apply=replace(DURING, boot_id="this boot"))),
        left(result=replace(DURING, phase=Phase.GOOD)),
    ],
    ids=["none", "of this boot", "committed"],
)
def test_what_is_not_open_since_an_earlier_boot_is_left_alone(files: FakeFiles) -> None:
    """NetworkManager may run, or the network is the right one."""
    before = dict(files.content)
    assert not put_back(files, "this boot")
    assert files.content == before


def test_a_torn_record_is_named() -> None:
    with pytest.raises(ValueError, match=r"."):
        put_back(FakeFiles({str(PATH): b"\0" * 40}), "this boot")
