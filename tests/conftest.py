"""pytest's hooks of all tiers; they stand in `hooks`, since the lab has a module of this name too."""

from hypothesis import settings

from hooks import pytest_pyfunc_call, pytest_terminal_summary

__all__ = ["pytest_pyfunc_call", "pytest_terminal_summary"]

settings.register_profile("nodenet", deadline=None)  # how long one example takes says more about the machine's load
settings.load_profile("nodenet")
