"""The keyfiles from before a change, as files."""

from __future__ import annotations

from pathlib import PurePosixPath

from nodenet.core.change.way_back import Network, keyfiles_back
from nodenet.core.network_manager.objects import KeptProfile

HERE = PurePosixPath("/etc/NetworkManager/system-connections")
ETH0 = HERE / "eth0.nmconnection"


def keyfile(uuid: str, name: str, link: str = "") -> bytes:
    return f"# rack 7\n[connection]\nid = {name}\nuuid={uuid}\ninterface-name={link}\n[ipv4]\nid=x\n".encode()


def kept(uuid: str, path: str, content: bytes | None = None, *, in_memory: bool = False) -> KeptProfile:
    return KeptProfile(uuid, uuid, path, in_memory, {}, content.decode() if content else None)


OWN = keyfile("u-0", "eth0", "eth0")
BEFORE = Network(("br-ex", "eth0"), (kept("u-0", str(ETH0), OWN), kept("u-1", "", in_memory=True)), names=("lan",))


def test_what_is_as_before_is_left_alone() -> None:
    assert keyfiles_back(BEFORE, {ETH0: OWN}) == ({}, ())


def test_what_was_changed_torn_or_deleted_comes_back_to_the_byte() -> None:
    for present in ({ETH0: keyfile("u-0", "eth0-port", "eth0")}, {ETH0: b"[conn"}, {}):
        assert keyfiles_back(BEFORE, present) == ({ETH0: OWN}, ())


def test_what_libnmstate_made_for_the_change_goes_and_what_another_program_made_stays() -> None:
    made = {HERE / "br-ex-br": keyfile("u-7", "br-ex-br", "br-ex"), HERE / "lan": keyfile("u-8", "lan")}
    others = {
        HERE / "mine": keyfile("u-9", "mine", "eth0"),
        HERE / "storage": keyfile("u-a", "storage", "eth7"),
        HERE / "readme": b"no keyfile",
        HERE / "binary": b"\xff\xfe",
    }
    assert keyfiles_back(BEFORE, {ETH0: OWN, **made, **others}) == ({}, tuple(sorted(made)))


def test_a_profile_that_was_in_memory_or_in_another_file_is_there_once() -> None:
    """NetworkManager makes the first one again, for a link that has none when it begins."""
    second = {HERE / "eth0-2": OWN, HERE / "Wired 1": keyfile("u-1", "Wired connection 1", "eth1")}
    assert keyfiles_back(BEFORE, {ETH0: OWN, **second}) == ({}, (HERE / "Wired 1", HERE / "eth0-2"))


def test_the_only_copy_of_a_profile_is_not_removed() -> None:
    """Its file could not be kept as text: nodenetd restores its settings over the bus."""
    unread = Network(("eth0",), (kept("u-0", str(ETH0)),))
    assert keyfiles_back(unread, {HERE / "eth0-2": OWN, ETH0: OWN}) == ({}, ())
