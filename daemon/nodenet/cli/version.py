"""Which version of nodenet is installed?"""

from __future__ import annotations

import argparse

from nodenet import __version__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = "Print the version of nodenet."


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001  (every verb has the same shape)
    """Print the version; return the exit code."""
    print(f"nodenet {__version__}")
    return 0
