"""`nodenetctl reload`: what is printed and which exit code it has, on a bus of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from cli.test_ask import nodenetctl
from edge.bus.test_connection import client
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli import reload
from nodenet.core.errors import NodeFileInvalid
from nodenet.core.status.bus_interfaces import NAME
from nodenet.core.status.text import Aftermath
from nodenet.edge.bus.connection import Message, MessageType

if TYPE_CHECKING:
    import pytest

__all__ = ["private_bus"]
CAUSE = "nmstate: worker-0.yml, line 3: duplicate key. Keep one"


@contextlib.asynccontextmanager
async def daemon(address: str, error: str | None) -> AsyncIterator[None]:
    """Own nodenetd's name and answer each call, with *error* if there is one."""

    def answer(message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if error is None:
            return Message.new_method_return(message)
        return Message.new_error(message, NodeFileInvalid.bus_name, error)

    async with client(address) as other:
        other.add_message_handler(answer)
        await other.request_name(NAME)
        yield


async def run(private_bus: PrivateBus, error: str | None, *words: str) -> tuple[int | None, str, str]:
    async with daemon(private_bus.address, error):
        process = await nodenetctl(private_bus.address, "reload", *words)
        async with asyncio.timeout(60):
            out, said = await process.communicate()
    return process.returncode, out.decode(), said.decode()


async def test_a_reload_that_goes_well_prints_nothing(private_bus: PrivateBus) -> None:
    assert await run(private_bus, None, "--wait") == (0, "", "")


async def test_a_refusal_is_printed_with_its_remedy(private_bus: PrivateBus) -> None:
    assert await run(private_bus, CAUSE, "--wait") == (65, "", f"nodenetctl: {CAUSE}\n")


async def test_for_systemd_the_journal_has_the_reason(private_bus: PrivateBus) -> None:
    """ExecReload= runs it so: the daemon has logged the reason already."""
    sentence = "nodenetctl: the reload failed at least in part; see `nodenetctl status`\n"
    assert await run(private_bus, CAUSE, "--wait", "--quiet") == (65, "", sentence)


async def test_what_the_daemon_says_cannot_control_the_terminal(private_bus: PrivateBus) -> None:
    """A cause contains text of a file (R40)."""
    assert await run(private_bus, "\x1b]0;owned\x07", "--wait") == (65, "", "nodenetctl: ?]0;owned?\n")


def test_what_a_reload_leaves_is_printed_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """All of it, or for systemd that there is something (R55, R58)."""
    left = Aftermath(("The reload is complete, but the node has problems:", "  problem     nodeip: a \x1b[2J cause"), 2)
    reload._print(left, quiet=False)
    assert capsys.readouterr() == ("", f"{left.lines[0]}\n  problem     nodeip: a ?[2J cause\n")
    reload._print(left, quiet=True)
    assert capsys.readouterr() == (
        "",
        "nodenetctl: the reload is complete, but the node has problems; see `nodenetctl status`\n",
    )
    reload._print(Aftermath(), quiet=True)
    assert capsys.readouterr() == ("", "")
