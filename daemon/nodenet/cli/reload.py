"""Read settings and node file again: what ``systemctl reload nodenetd`` runs."""

from __future__ import annotations

import argparse

from nodenet.cli.ask import ask

RELOAD_SECONDS = 900.0
"""Three tries of a large apply; the daemon answers earlier when it only waits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Make nodenetd read its settings and the node file again and put them in force. When the new file is "
        "refused, the network and every published file stay as they are, the reason is printed and the exit "
        "code is not 0. An unchanged file changes nothing."
    )
    parser.add_argument("--wait", action="store_true", help="return when the reload is over, with its result")


def run(arguments: argparse.Namespace) -> int:
    """Ask the daemon over the bus."""
    ask("Reload", seconds=RELOAD_SECONDS, wait=arguments.wait)
    return 0
