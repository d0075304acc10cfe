"""What a verb does while the system bus is dead: it waits a second at most, and says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cli.test_ask import nodenetctl
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli.ask import BUS_SECONDS, system_bus
from nodenet.core.errors import Unavailable
from nodenet.edge.bus.connection import DBUS

__all__ = ["private_bus"]
DEAD = (
    "nodenetctl: waiting for the system bus\n"
    "nodenetctl: the system bus did not answer within 1 s. See `systemctl status dbus`\n"
)
VERBS = [("reload",), ("reload", "--wait"), ("reselect",), ("bridge", "remove"), ("bridge", "make")]


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
async def test_a_verb_waits_a_second_for_a_bus_that_does_not_exist(tmp_path: Path, words: tuple[str, ...]) -> None:
    """And says while it waits what for (R61)."""
    process = await nodenetctl(f"unix:path={tmp_path}/none", *words)
    assert process.stderr
    assert (await process.stderr.readline()).decode() == DEAD.splitlines(keepends=True)[0]
    out, rest = await process.communicate()
    assert (process.returncode, out, rest.decode()) == (Unavailable.exit_code, b"", DEAD.splitlines(keepends=True)[1])


async def test_a_stalled_bus_is_given_up_in_time(
    private_bus: PrivateBus, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its socket takes connections, and nobody reads them (R61)."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", private_bus.address)
    private_bus.stall()
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        with pytest.raises(Unavailable) as caught:
            async with system_bus():
                pass
    finally:
        private_bus.resume()
    assert f"nodenetctl: {caught.value}\n" == DEAD.splitlines(keepends=True)[1]
    assert capsys.readouterr().err == DEAD.splitlines(keepends=True)[0]
    assert BUS_SECONDS <= loop.time() - began < BUS_SECONDS + 3.0


async def test_a_bus_that_comes_meanwhile_is_used(
    private_bus: PrivateBus, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verb in the middle of a restart of the bus does not fail."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", private_bus.address)
    private_bus.stall()
    asyncio.get_running_loop().call_later(0.5, private_bus.resume)
    async with system_bus() as bus:
        assert await bus.call(*DBUS, "NameHasOwner", "s", [DBUS[0]]) == [True]
    assert capsys.readouterr().err == "nodenetctl: waiting for the system bus\n"
