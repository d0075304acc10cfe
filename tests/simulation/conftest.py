"""Runs of the simulation leave little behind that only the collector can free: it runs after each test."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from simulation.summary import quiet_collector


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Let the collector pass over what other tests have left."""
    quiet_collector()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Free what the runs of a test have left."""
    yield
    gc.collect()
