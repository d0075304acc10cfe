"""Read settings and node file again: what ``systemctl reload nodenetd`` runs."""

from __future__ import annotations

import argparse

from nodenet.cli.ask import ask
from nodenet.cli.outputs import note
from nodenet.core.errors import NodenetError, Unavailable

RELOAD_SECONDS = 900.0
"""Three tries of a large apply; the daemon answers earlier when it only waits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Make nodenetd read its settings and the node file again and put them in force. Both are judged first: when "
        "one is refused, the network, every published file and the settings in force stay as they are, the reason is "
        "printed and the exit code is not 0. What fails only when it is applied is rolled back. What is unchanged "
        "changes nothing. Unlike `systemctl reload`, it works while the boot waits too."
    )
    parser.add_argument("--wait", action="store_true", help="return when the reload is over, with its result")
    parser.add_argument("--quiet", action="store_true", help="leave the reason to the journal, where nodenetd tells it")


def run(arguments: argparse.Namespace) -> int:
    """Ask the daemon over the bus."""
    try:
        ask("Reload", seconds=RELOAD_SECONDS, wait=arguments.wait)
    except Unavailable:
        raise  # nobody was there who could have told the journal
    except NodenetError as error:
        if not arguments.quiet:
            raise
        note("nodenetctl: not reloaded, or in part; see `nodenetctl status`")
        return error.exit_code
    return 0
