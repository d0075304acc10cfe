"""What `nodenetctl` prints when the daemon takes its time or the bus refuses, on a bus of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from edge.bus.test_connection import client
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli.ask import another_release, error_from_reply, is_same, refuse_another, runs
from nodenet.core.errors import AccessDenied, NodeFileInvalid, Unavailable
from nodenet.core.status.bus_interfaces import NAME
from nodenet.core.trial.trial import Trial
from nodenet.edge.bus.connection import UNKNOWN_METHOD, Message, MessageType
from nodenet.edge.bus.frames import Frame
from nodenet.edge.bus.objects import unknown

__all__ = ["private_bus"]
DENIED = AccessDenied.bus_name
RAW = 'Rejected send message, 1 matched rules; type="method_call", sender=":1.7" (uid=65534 pid=9 comm="nodenetctl")'


@contextlib.asynccontextmanager
async def busy_daemon(address: str) -> AsyncIterator[asyncio.Queue[str]]:
    """Own nodenetd's name and never answer; the queue has the methods that were called."""
    called: asyncio.Queue[str] = asyncio.Queue()

    def take(message: Message) -> bool:
        if message.message_type is MessageType.METHOD_CALL:
            called.put_nowait(message.member)
        return message.message_type is MessageType.METHOD_CALL

    async with client(address) as other:
        other.add_message_handler(take)
        await other.request_name(NAME)
        yield called


async def nodenetctl(address: str, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nodenet.cli.main", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "DBUS_SYSTEM_BUS_ADDRESS": address},
    )


async def printed(address: str, *words: str) -> tuple[int | None, str, str]:
    """Return exit code, output and errors of a verb, within a minute."""
    process = await nodenetctl(address, *words)
    async with asyncio.timeout(60):
        out, said = await process.communicate()
    return process.returncode, out.decode(), said.decode()


async def test_a_reload_that_nobody_waits_for_is_asked_for_in_silence(private_bus: PrivateBus) -> None:
    """The daemon goes on with it after the command has ended."""
    async with busy_daemon(private_bus.address) as called:
        process = await nodenetctl(private_bus.address, "reload")
        said = await process.communicate()
        assert (process.returncode, said) == (0, (b"", b""))
        assert await called.get() == "Reload"


async def test_a_command_whose_program_does_not_run_names_what_shows_why(private_bus: PrivateBus) -> None:
    for words, name, program in (
        (("reselect",), NAME, "nodenetd"),
        (("hosted", "undrain"), f"{NAME}.Hosted", "nodenet-hosted"),
    ):
        said = f"nodenetctl: {name} is not on the bus. See `systemctl status {program}`\n"
        assert await printed(private_bus.address, *words) == (Unavailable.exit_code, "", said)


async def test_a_command_whose_bus_goes_away_says_so(private_bus: PrivateBus) -> None:
    """At once, and not after the fifteen minutes that a reload may take."""
    async with busy_daemon(private_bus.address) as called:
        process = await nodenetctl(private_bus.address, "reload", "--wait")
        assert await called.get() == "Reload"
        private_bus.kill()
        _, said = await process.communicate()
        assert (process.returncode, said.decode()) == (
            Unavailable.exit_code,
            f"nodenetctl: the system bus went away before {NAME} answered. See `systemctl status nodenetd`\n",
        )


def test_who_is_not_root_is_told_so_in_our_words() -> None:
    """Not in those of dbus-daemon, nor otherwise where the daemon itself looks."""
    for text in (RAW, "Reload is for root only. Call it as root"):
        error = error_from_reply(DENIED, text, as_root=False)
        assert (str(error), error.exit_code) == ("only root may do this. Run it with sudo", 77)


def test_a_bus_that_refuses_root_lacks_its_policy() -> None:
    error = error_from_reply(DENIED, RAW, as_root=True)
    assert error.exit_code == 77
    assert error.remedy.endswith("org.nodenet1.conf")


def test_every_other_refusal_is_the_daemons_own() -> None:
    error = error_from_reply(NodeFileInvalid.bus_name, "worker-0.yml, line 3: duplicate key. Keep one", as_root=False)
    assert (type(error), str(error)) == (NodeFileInvalid, "worker-0.yml, line 3: duplicate key. Keep one")


@pytest.mark.parametrize("method", ["known", "unknown"])
async def test_a_nodenetd_of_another_release_is_named(private_bus: PrivateBus, method: str) -> None:
    """An upgrade did not restart it: it has the method with other arguments, or not at all."""
    call = cast("Frame", SimpleNamespace(interface="i", member="RollBackTrial", signature="", path="/org/nodenet1"))
    old = unknown(call)
    name, text = (old.bus_name, str(old)) if method == "known" else (UNKNOWN_METHOD, "i.RollBackTrial is not a method")

    def take(message: Message) -> Message | None:
        if message.member == "GetStatus":
            return Message.new_method_return(message, "s", ['{"trial": null}'])
        return Message.new_error(message, name, text) if message.member == "RollBackTrial" else None

    async with client(private_bus.address) as other:
        other.add_message_handler(take)
        await other.request_name(NAME)
        assert await printed(private_bus.address, "rollback") == (
            Unavailable.exit_code,
            "",
            (
                "nodenetctl: the nodenetd that runs is of another release than nodenetctl: it does not know this call "
                "of RollBackTrial. Start the installed release with `systemctl restart nodenetd`, which rolls back a "
                "trial of a node file\n"
            ),
        )


def test_a_program_of_another_release_is_named_by_its_unit() -> None:
    error = another_release("org.nodenet1.Ipam", "Check")
    assert str(error) == (
        "the nodenet-ipam that runs is of another release than nodenetctl: it does not know this call of Check. "
        "Start the installed release with `systemctl restart nodenet-ipam`"
    )


async def test_a_call_that_the_bus_does_not_pass_on_is_made_again(private_bus: PrivateBus) -> None:
    """A message of another program may fill the daemon's queue for a moment (R37)."""
    calls = 0

    def take(message: Message) -> Message | None:
        nonlocal calls
        if message.member != "Reload":
            return None
        calls += 1
        if calls < 3:
            return Message.new_error(message, "org.freedesktop.DBus.Error.LimitsExceeded", "full message queue")
        return Message.new_method_return(message)

    async with client(private_bus.address) as other:
        other.add_message_handler(take)
        await other.request_name(NAME)
        process = await nodenetctl(private_bus.address, "reload", "--wait")
        said = await process.communicate()
    assert (process.returncode, said, calls) == (0, (b"", b""), 3)


# Which trial nodenetd reports, and whose it is.


TRIAL = {
    "node_file": "new.yml",
    "digest": "d" * 64,
    "who": "root on pts/0 (process 7)",
    "state": "holding",
    "until": 160.0,
    "cause": None,
    "installed": None,
    "edited": None,
}
MINE = Trial("new.yml", "d" * 64, "root on pts/0 (process 7)")
OTHER = TRIAL | {"who": "admin on pts/1 (process 8)"}
"""Another administrator tries the same file."""


class Reports(dict[str, str]):
    """What nodenetd answers to one GetStatus after another: the file is on trial, and what is otherwise then."""

    def __init__(self, *changes: dict[str, Any], first: dict[str, Any] | None = None) -> None:
        super().__init__({"GetStatus": ""})
        self._left = [json.dumps({"trial": TRIAL | each}) for each in (first or {}, *changes)]

    def __getitem__(self, _: str) -> str:
        return self._left.pop(0)


def test_a_trial_of_the_same_file_by_another_program_is_another_trial() -> None:
    assert is_same(MINE, TRIAL)
    assert not is_same(MINE, OTHER)
    assert not is_same(MINE, TRIAL | {"digest": "e" * 64})
    assert not is_same(MINE, {})


def test_only_another_trial_that_runs_is_in_the_way() -> None:
    for trial in (TRIAL, OTHER | {"state": "confirmed"}, {}):
        refuse_another(MINE, trial)
    assert [runs(trial) for trial in (TRIAL, TRIAL | {"state": "applying"}, OTHER | {"state": "failed"}, {})] == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(Unavailable) as refused:
        refuse_another(MINE, OTHER)
    assert str(refused.value) == (
        "the trial is over, and another one, of new.yml, has begun since; admin on pts/1 (process 8) started it. "
        "Look at `journalctl -u nodenetd` for how this one has ended"
    )
