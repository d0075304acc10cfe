"""An event loop on virtual time: its clock jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
import inspect
import selectors
import time

import pytest  # noqa: TC002  (pytest reads the hook's signature)

REAL_SECONDS = 20.0
"""Seconds of processor and wall clock after which a test has hung."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that is its own clock (`nodenet.ports.Clock`)."""

    def __init__(self) -> None:
        """Begin at 120 s, at which timers of a minute meet (`until_common`)."""
        self.now = 120.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        """Return the virtual time."""
        return self.now

    def boottime(self) -> float:
        """Return the virtual time."""
        return self.now

    def elsewhere(self) -> float:
        """Return 0: nobody works elsewhere."""
        return 0.0

    def unix(self) -> float:
        """Return the virtual time."""
        return self.now


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self._hung = time.monotonic() + REAL_SECONDS

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "the loop sleeps, and nothing will ever wake it"
        assert time.monotonic() < self._hung, "the test hangs: it runs for REAL_SECONDS already"
        self._loop.now += max(timeout, 0.0)
        return super().select(0)


class VirtualClock:
    """The clock of the virtual loop that runs now."""

    def boottime(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    def elsewhere(self) -> float:
        """Return 0."""
        return 0.0

    def unix(self) -> float:
        """Return the loop's time."""
        return self.boottime()


def run(function: pytest.Function) -> bool | None:
    """Run an `async def` test on virtual time; the hook `pytest_pyfunc_call` of a folder."""
    if not inspect.iscoroutinefunction(function.obj):
        return None
    arguments = {name: function.funcargs[name] for name in function._fixtureinfo.argnames}
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(function.obj(**arguments))
    return True
