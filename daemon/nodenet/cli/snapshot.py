"""Which links, addresses and routes does this host have, as a document for a bug report or for `explain` elsewhere?

Without `--all` it contains what the daemon reads for a selection, so `explain` accepts the snapshot of any host.
"""

from __future__ import annotations

import argparse
import asyncio
import json

from nodenet.core.kernel.iproute import MOST_BYTES, to_document
from nodenet.edge.kernel import netlink

DESCRIPTION = """Print links, addresses and routes of this host as JSON, with the keys of iproute2.

`nodenetctl explain node-ip --snapshot FILE` reads it, on any machine. It contains the routes that matter for the node
IP: usable default routes, and routes from router advertisements. A host without nodenet makes a snapshot with

  jq -n --argjson links "$(ip -j -d link)" --argjson addresses "$(ip -j -d address)" \\
    --argjson routes "$(ip -j -d -4 route show table all)" \\
    --argjson routes6 "$(ip -j -d -6 route show table all)" '$ARGS.named'

Neither the daemon nor the bus nor root privileges are needed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = DESCRIPTION
    parser.add_argument(
        "--all",
        action="store_true",
        help="print every route of every table; `explain` reads at most "
        f"{MOST_BYTES >> 20} MiB, and large tables exceed that",
    )

    parser.add_argument(
        "--nmstate",
        action="store_true",
        help="print the network as libnmstate shows it instead, without secrets and without what other programs have "
        "on it: what the captures of an NMState policy see (exit code 69 if NetworkManager does not answer)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the snapshot; return the exit code. Raises NodenetError."""
    if arguments.nmstate:
        from nodenet.cli import preview  # noqa: PLC0415 - a snapshot needs no libnmstate

        print(json.dumps(asyncio.run(preview.own_network()), indent=1))
        return 0
    print(json.dumps(to_document(netlink.snapshot(complete=arguments.all)), indent=1))
    return 0
