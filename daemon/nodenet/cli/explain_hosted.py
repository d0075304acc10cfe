"""Who holds a VIP, what is ``api-int``, why does a hosted service run? From the last report of nodenet-hosted."""

from __future__ import annotations

import argparse

from nodenet.cli.outputs import note, printable
from nodenet.core.hosted_services.report import explain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topic's options."""
    parser.description = (
        f"{parser.description} The answer is what nodenet-hosted reported last: the command reads neither the kernel "
        "nor the wire nor the cluster."
    )
    parser.set_defaults(file=None)


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; return the exit code."""
    from nodenet.cli.hosted import NOT_REPORTED, REPORT, read  # noqa: PLC0415 - other topics need no bus

    document = read(arguments.file or REPORT)
    if document is None:
        note(f"nodenetctl: {NOT_REPORTED}")
        return 1
    print("\n".join(map(printable, explain(arguments.topic, document) or ())))
    return 0
