"""day-one: node files for the tools that install a cluster. All work offline."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

ARTEFACTS = {
    # artefact → its line in the help, and the module with its add_… and run_…
    "check": ("every rule of day one, all findings at once: node files, install-config, hosts", "check"),
    "show": ("a table of hosts, files, addresses and gateways; duplicate addresses are marked", "node_files"),
    "early": ("the documents of the first step, without Open vSwitch, from files that make br-ex", "node_files"),
    "keyfiles": ("NetworkManager keyfiles for the deployment image", "node_files"),
    "ignition": ("an Ignition configuration that carries node files", "manifests"),
    "machine-config": ("a MachineConfig that carries node files, or back to the files with --extract", "manifests"),
    "secret": ("the Secret and the BareMetalHost fields for a host that is added later", "manifests"),
    "from-csv": ("the node file of each host, from one document and a table of values", "node_files"),
    "from-host": ("a first node file from a running host, or from its saved state", "node_files"),
    "install-config": ("install-config with the node file of each bare-metal host", "manifests"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artefacts with their options."""
    parser.description = (
        "Make the files that cluster installers read, from one folder of node files, offline. "
        "The same input gives the same bytes, and nothing is overwritten without --force."
    )
    words = parser.add_subparsers(title="what", dest="artefact", metavar="WHAT", required=True)
    for word, (summary, _) in ARTEFACTS.items():
        _function("add", word)(words.add_parser(word, help=summary))


def run(arguments: argparse.Namespace) -> int:
    """Make one artefact; return the exit code. Raises NodenetError."""
    code: int = _function("run", arguments.artefact)(arguments)
    return code


def _function(what: str, word: str) -> Callable[..., Any]:
    module = import_module(f"nodenet.cli.day_one.{ARTEFACTS[word][1]}")
    function: Callable[..., Any] = getattr(module, f"{what}_{word.replace('-', '_')}")
    return function
