"""What do this host's links, addresses and routes look like, as a document to send or to explain elsewhere?

Without `--all` it has what the live reading of a selection has, so that `explain` accepts it of any host.
"""

from __future__ import annotations

import argparse
import json

from nodenet.core.kernel import iproute_read as iproute_json
from nodenet.core.kernel.iproute_write import to_document
from nodenet.edge.kernel.netlink import read_snapshot

DESCRIPTION = """Print links, addresses and routes of this host as JSON, in the words of iproute2.

`nodenetctl explain node-ip --snapshot FILE` reads it, on any machine. Of the routes it has those that matter to the
node IP: default routes that lead somewhere, and those of router advertisements. A host without nodenet makes one with

  jq -n --argjson links "$(ip -j -d link)" --argjson addresses "$(ip -j -d address)" \\
    --argjson routes "$(ip -j -d -4 route show table all)" \\
    --argjson routes6 "$(ip -j -d -6 route show table all)" '$ARGS.named'

Needs no daemon, no bus and no privilege."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = DESCRIPTION
    parser.add_argument(
        "--all",
        action="store_true",
        help="every route of every table; of a large table that is more than `explain` reads "
        f"({iproute_json.MOST_BYTES >> 20} MiB)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the snapshot; return the exit code."""
    print(json.dumps(to_document(read_snapshot(complete=arguments.all)), indent=1))
    return 0
