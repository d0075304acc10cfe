"""Why is a VIP, ``api-int`` or a hosted service as it is? From what the companion of this node reported last."""

from __future__ import annotations

import argparse

from nodenet.cli.outputs import note
from nodenet.cli.table import printable
from nodenet.core.hosted_services.explain import explain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topic's options."""
    parser.description = (
        "Explain it from what nodenet-hosted reported last; the kernel, the wire and the cluster are not asked again."
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
