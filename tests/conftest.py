"""What every test gets for free: `async def` tests on a loop of their own, bounded."""

from __future__ import annotations

import asyncio
import inspect

import pytest

LONGEST_SECONDS = 60


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), LONGEST_SECONDS))
    return True
