"""`nodenetctl reselect`: what it asks nodenetd, what it prints and its exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest

from cli.test_ask import nodenetctl
from edge.bus.test_connection import client
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli.reselect import _change, _print_left
from nodenet.core.boot.outcome import Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import NodenetError, StageFailed
from nodenet.core.messages import Message as Event
from nodenet.core.status.bus_interfaces import NAME
from nodenet.core.status.document import BootStatus, document
from nodenet.edge.bus.connection import Message, MessageType

__all__ = ["private_bus"]
EXPLAINED = {"Explain": json.dumps({"node_ips": ["192.0.2.5", "2001:db8::5"]})}
CAUSE = "no address is eligible. Look at `nodenetctl explain node-ip`"


@contextlib.asynccontextmanager
async def daemon(
    address: str,
    *,
    refuses: bool = False,
    documents: Mapping[str, str] = EXPLAINED,
    error: type[NodenetError] = StageFailed,
) -> AsyncIterator[list[tuple[str, list[str]]]]:
    """Own nodenetd's name; give the calls that come. *documents* are answered, all other calls may be refused."""
    calls: list[tuple[str, list[str]]] = []

    def answer(message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        calls.append((message.member, message.body))
        if message.member in documents:
            return Message.new_method_return(message, "s", [documents[message.member]])
        if refuses:
            return Message.new_error(message, error.bus_name, CAUSE)
        return Message.new_method_return(message)

    async with client(address) as other:
        other.add_message_handler(answer)
        await other.request_name(NAME)
        yield calls


async def reselect(address: str, *words: str) -> tuple[int | None, str, str]:
    process = await nodenetctl(address, "reselect", *words)
    async with asyncio.timeout(60):
        out, said = await process.communicate()
    return process.returncode, out.decode(), said.decode()


async def test_a_dry_run_only_asks_what_would_be_selected(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address) as calls:
        assert await reselect(private_bus.address, "--dry-run") == (0, "none would become 192.0.2.5, 2001:db8::5\n", "")
    assert calls == [("Explain", ["reselect"])]


async def test_the_order_is_given_and_its_result_printed(private_bus: PrivateBus) -> None:
    """Here nothing is published, before or after."""
    async with daemon(private_bus.address) as calls:
        assert await reselect(private_bus.address) == (0, "unchanged: none\n", "")
    assert calls == [("Reselect", [])]


async def test_a_refusal_is_printed_with_its_exit_code(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address, refuses=True):
        assert await reselect(private_bus.address) == (StageFailed.exit_code, "", f"nodenetctl: {CAUSE}\n")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (["192.0.2.5"], ["192.0.2.6", "fd00::6"], "192.0.2.5 became 192.0.2.6, fd00::6"),
        (["192.0.2.5"], ["192.0.2.5"], "unchanged: 192.0.2.5"),
        (["192.0.2.5"], [], "192.0.2.5 became none"),
    ],
)
def test_a_change_is_one_line(before: list[str], after: list[str], line: str) -> None:
    assert _change(before, after, "became") == line


def test_the_commands_that_are_left_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Until kubelet runs with the new node IP the node is degraded, and so is the exit code."""
    lost = Problem(Event.NODE_IP_NOT_IN_USE, "kubelet runs with A; published is B", "`systemctl restart kubelet`")
    status = BootStatus(new_boot({}, degrade=True))
    assert _print_left(document(status)) == 0
    assert capsys.readouterr().out == ""
    assert _print_left(document(replace(status, losses=(lost,)))) == 2
    left = "kubelet runs with A; published is B.\nLeft to do: `systemctl restart kubelet`\n"
    assert capsys.readouterr().out == left
