"""Runs of the simulation leave little behind that only the collector can free: it may run seldom meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from simulation.summary import quiet_collector


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Let the collector pass over what other tests have left."""
    before = gc.get_threshold()
    quiet_collector()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
