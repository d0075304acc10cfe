"""These tests need the wheel of `packaging/libnmstate` in the running interpreter; `make` puts it there."""

from __future__ import annotations

import importlib.util

WHEEL_IS_HERE = (
    importlib.util.find_spec("libnmstate") is not None and importlib.util.find_spec("libnmstate._native") is not None
)
collect_ignore_glob = [] if WHEEL_IS_HERE else ["test_*.py"]


def pytest_report_header() -> str:
    """Say which module is tested, or that none is."""
    return "libnmstate: our wheel" if WHEEL_IS_HERE else "libnmstate: wheel not installed, its tests are left out"
