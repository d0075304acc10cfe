"""Why did nodenetd decide so? One module for each topic, which calls the same pure function as the daemon."""

from __future__ import annotations

import argparse
from importlib import import_module

TOPICS = {
    # topic → its line in the list of topics, and the module that explains it
    "node-ip": ("why these addresses are the node IPs", "explain_node_ip"),
    "br-ex": ("which link is the uplink of br-ex, and what nodenetd would apply", "explain_br_ex"),
    "hostname": ("why the node has this host name", "explain_hostname"),
    "nmstate": ("what answered before and after the last apply of a node file", "explain_nmstate"),
    "api-int": ("which address api-int has, and why", "explain_hosted"),
    "vip": ("who holds each VIP, and whether this node may", "explain_hosted"),
    "hosted": ("why each hosted service runs on this node or does not", "explain_hosted"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topics with their options."""
    parser.description = "Explain a decision of nodenetd."
    topics = parser.add_subparsers(title="what", dest="topic", metavar="WHAT", required=True)
    for topic, (summary, module) in TOPICS.items():
        described = topics.add_parser(topic, help=summary, description=f"Show {summary}.")
        import_module(f"nodenet.cli.{module}").add_arguments(described)


def run(arguments: argparse.Namespace) -> int:
    """Explain one topic; return the exit code."""
    code: int = import_module(f"nodenet.cli.{TOPICS[arguments.topic][1]}").run(arguments)
    return code
