"""A profile is given back as its author wrote it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from fakes import FakeFiles, FakeProfiles
from nodenet.core.errors import PublishFailed
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Profile
from nodenet.stages.apply.network_before import ProfileKeeper

FILE = PurePosixPath("/etc/NetworkManager/system-connections/eth0.nmconnection")
TEXT = "# uplink of rack 7\n[connection]\nid=eth0\n"


def keeper(profile: Profile) -> tuple[ProfileKeeper, FakeProfiles, FakeFiles]:
    profiles, files = FakeProfiles(Inventory(profiles=(profile,))), FakeFiles({str(FILE): TEXT.encode()})
    return ProfileKeeper(profiles, files), profiles, files


async def test_a_file_is_given_back_to_the_byte() -> None:
    """And read again, unless it is that already."""
    made, profiles, files = keeper(Profile("u", "eth0", "802-3-ethernet", path=str(FILE)))
    kept = await made.keep("u")
    assert kept.keyfile == TEXT
    await made.give_back(kept)
    assert profiles.done == [("give_back", kept)]
    files.content[str(FILE)] = b"[connection]\nid=eth0\n"
    await made.give_back(kept)
    assert files.content[str(FILE)] == TEXT.encode()
    assert profiles.done[1:] == [("give_back", kept), ("load", str(FILE))]


@pytest.mark.parametrize("content", [TEXT.encode(), b"id=\xff"])
async def test_without_a_text_on_disk_the_settings_must_do(content: bytes) -> None:
    """A profile in memory, and a file that is no text."""
    in_memory = content == TEXT.encode()
    made, profiles, files = keeper(Profile("u", "eth0", "802-3-ethernet", path=str(FILE), on_disk=not in_memory))
    files.content[str(FILE)] = content
    kept = await made.keep("u")
    assert kept == replace(kept, keyfile=None)
    await made.give_back(kept)
    assert (profiles.done, files.writes) == ([("give_back", kept)], [])


async def test_a_file_that_cannot_be_written_is_returned_as_an_error() -> None:
    """NetworkManager has the settings all the same: only the comments are lost."""
    made, profiles, files = keeper(Profile("u", "eth0", "802-3-ethernet", path=str(FILE)))
    kept = await made.keep("u")
    files.broken = PublishFailed(f"{FILE} cannot be written: No space left on device", remedy="Free space")
    error = await made.give_back(kept)
    assert str(error) == (
        f"{FILE} cannot be written: No space left on device; "
        "NetworkManager has its settings, but not its comments. Free space"
    )
    assert profiles.done == [("give_back", kept)]
