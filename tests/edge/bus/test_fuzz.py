"""Thirty seconds of strangers who send messages made by chance ; tools/fuzz_bus.py does it for longer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import fuzz_bus

SECONDS = 30.0


@pytest.mark.skipif(os.geteuid() != 0, reason="strangers give up root, and dbus-broker needs a mount namespace")
def test_strangers_do_no_harm(broker_programs: Path) -> None:
    """Loop lag, memory, journal, name, connection and root's reloads, on both buses and with both policies."""
    results = fuzz_bus.fuzz(messages=0, seconds=SECONDS, seed=11, broker=broker_programs)
    assert [result.faults for result in results] == [[]] * 4
    assert sum(result.messages for result in results) > 1000
