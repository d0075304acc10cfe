"""day-one: node files for the tools that install a cluster. One module an artefact; all work offline."""

from __future__ import annotations

import argparse
from importlib import import_module

ARTEFACTS = {
    # artefact → its line in the help, and the module that makes it
    "check": ("every rule of day one, all findings at once: node files, install-config, hosts", "check"),
    "show": ("a table of hosts, files, addresses and gateways; duplicate addresses are marked", "show"),
    "early": ("the documents of the first step, without Open vSwitch, from files that make br-ex", "early"),
    "keyfiles": ("NetworkManager keyfiles for the deployment image", "keyfiles"),
    "ignition": ("an Ignition configuration that carries node files", "ignition"),
    "machine-config": (
        "a MachineConfig that carries node files, or back to the files with --extract",
        "machine_config",
    ),
    "secret": ("the Secret and the BareMetalHost fields for a host that is added later", "secret"),
    "from-csv": ("the node file of each host, from one document and a table of values", "from_csv"),
    "from-host": ("a first node file from a running host, or from its saved state", "from_host"),
    "install-config": ("install-config with the node file of each bare-metal host", "install_config"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artefacts with their options."""
    parser.description = (
        "Make the files that cluster installers read, from one folder of node files, offline. "
        "The same input gives the same bytes, and nothing is overwritten without --force."
    )
    words = parser.add_subparsers(title="what", dest="artefact", metavar="WHAT", required=True)
    for word, (summary, module) in ARTEFACTS.items():
        import_module(f"nodenet.cli.day_one.{module}").add_arguments(words.add_parser(word, help=summary))


def run(arguments: argparse.Namespace) -> int:
    """Make one artefact; return the exit code. Raises NodenetError."""
    code: int = import_module(f"nodenet.cli.day_one.{ARTEFACTS[arguments.artefact][1]}").run(arguments)
    return code
