"""pytest's hooks of all tiers; they stand in `hooks`, since the lab has a module of this name too."""

from hooks import pytest_pyfunc_call, pytest_terminal_summary

__all__ = ["pytest_pyfunc_call", "pytest_terminal_summary"]
