"""How does an administrator make nodenetd read settings and node file again? `systemctl reload nodenetd` runs this."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from nodenet.cli import progress, status
from nodenet.cli.ask import ask
from nodenet.cli.outputs import note, printable
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.status.text import Aftermath, aftermath

RELOAD_SECONDS = 900.0
"""Three tries of a large apply; the daemon answers earlier when it only waits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Have nodenetd read its settings and the node file again and apply them. nodenetd checks both first: when it "
        "refuses one, the network, every published file and the settings in force stay as they are, the reason is "
        "printed and the exit code is not 0. If applying fails, the network is rolled back. What has not changed is "
        "not written. Unlike `systemctl reload`, this also works during boot. With --wait, problems of the node are "
        "printed. Exits 2 when the reload brought a problem or the node file has one, 0 when the node only has "
        "problems of other stages that it had before."
    )
    parser.add_argument(
        "--prune",
        action="store_true",
        help="also remove what earlier node files made and this one does not name, as `nodenetctl status` lists it",
    )
    parser.add_argument("--wait", action="store_true", help="return when the reload has ended, with its result")
    parser.add_argument("--quiet", action="store_true", help="do not print the reason; the journal contains it")


def run(arguments: argparse.Namespace) -> int:
    """Ask the daemon over the bus and print what it left; return the exit code."""
    before = status.read()
    try:
        with progress.shown() if arguments.wait and not arguments.quiet else nullcontext():
            ask("Prune" if arguments.prune else "Reload", seconds=RELOAD_SECONDS, wait=arguments.wait)
    except Unavailable:
        raise  # the request may not have reached the daemon: then the journal has no reason
    except NodenetError as error:
        if not arguments.quiet:
            raise
        note("nodenetctl: the reload failed at least in part; see `nodenetctl status`")
        return error.exit_code
    if not arguments.wait:
        return 0
    left = aftermath(before, status.read())
    _print(left, quiet=arguments.quiet)
    return left.exit_code


def _print(left: Aftermath, *, quiet: bool) -> None:
    if quiet and left.lines:
        note("nodenetctl: the reload is complete, but the node has problems; see `nodenetctl status`")
    elif left.lines:
        note("\n".join(map(printable, left.lines)))
