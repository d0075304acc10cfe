"""What every test gets for free: `async def` tests on a bounded loop, and a closing line for each tier."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter

import pytest  # noqa: TC002  (pytest reads the hooks' signatures)

LONGEST_SECONDS = 60


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), LONGEST_SECONDS))
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Close with one line a tier, so that nobody overlooks a tier that did not run."""
    tiers: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.getreports(outcome):
            if outcome != "passed" or report.when == "call":
                tier = "/".join(report.nodeid.split("/")[:2]).split(".py")[0]
                tiers.setdefault(tier, Counter())[outcome] += 1
    terminalreporter.section("tiers")
    for tier, counts in sorted(tiers.items()):
        terminalreporter.line(f"{tier}: " + ", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
