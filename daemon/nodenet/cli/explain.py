"""Why did nodenetd decide so? One topic a module; each asks the pure function that the daemon asks."""

from __future__ import annotations

import argparse
from importlib import import_module

TOPICS = {
    # topic → what the list of topics says of it, and the module that explains it
    "node-ip": ("the choice of the node IPs", "explain_node_ip"),
    "br-ex": ("the link that goes below br-ex, and what is done with it", "explain_br_ex"),
    "hostname": ("the name of this node", "explain_hostname"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topics with their options."""
    parser.description = "Explain a decision of nodenetd."
    topics = parser.add_subparsers(title="what", dest="topic", metavar="WHAT", required=True)
    for topic, (summary, module) in TOPICS.items():
        import_module(f"nodenet.cli.{module}").add_arguments(topics.add_parser(topic, help=summary))


def run(arguments: argparse.Namespace) -> int:
    """Explain one topic; return the exit code."""
    code: int = import_module(f"nodenet.cli.{TOPICS[arguments.topic][1]}").run(arguments)
    return code
