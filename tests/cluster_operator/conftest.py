"""The operator's tests run on virtual time, where nothing real takes part."""

import pytest

from virtual_time import run


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests on virtual time."""
    return run(pyfuncitem)
