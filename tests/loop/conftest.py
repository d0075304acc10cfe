"""The loop is tested on virtual time: no test of this folder really sleeps."""

from __future__ import annotations

import pytest

import virtual_time


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests on virtual time."""
    return virtual_time.run(pyfuncitem)
