"""What the lab's fixtures hand out, by name, for the tests that are given it."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from harness import Node

NodeFactory = Callable[..., Node]
"""Takes what `Lab.node()` takes; `nics` defaults to one NIC on the `lan`."""


@contextlib.contextmanager
def uncaptured(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let progress lines reach the terminal while something slow is made."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        yield
