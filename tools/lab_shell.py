"""How do I look around on a node? `make lab` boots one with the product and opens a shell on it.

Everything is removed when the shell ends.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from harness import Flavour, Lab, LabError, Node, host, install_product, progress

EX_UNAVAILABLE = 69
NODE_FILES = "/etc/nmstate/openshift"


def main() -> int:
    """Boot a node, hand it over, clean up; the exit code is the shell's."""
    options = _parse()
    why = host.obstacle()
    if why:
        progress(why)
        return EX_UNAVAILABLE
    # A closed terminal or a `kill` ends the program by an exception, so that the lab is removed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        with Lab() as lab:
            return _visit(_node(lab, options), options.command)
    except LabError as error:
        progress(str(error))
        return 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Boot a throw-away node and open a shell on it.")
    parser.add_argument("--name", default="worker-0", help="host name of the node (default: %(default)s)")
    parser.add_argument("--nics", type=int, default=1, help="network cards, each on its own LAN")
    parser.add_argument("--plain", action="store_true", help="kubelet and CRI-O without OpenShift's targets")
    parser.add_argument("--bare", action="store_true", help="leave the product out")
    parser.add_argument(
        "--node-file", type=Path, action="append", default=[], help=f"copy into {NODE_FILES} (repeatable)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="run this instead of a shell")
    return parser.parse_args()


def _node(lab: Lab, options: argparse.Namespace) -> Node:
    lans = [lab.lan(f"lan{number}") for number in range(options.nics)]
    node = lab.node(
        options.name,
        nics=lans,
        flavour=Flavour.PLAIN if options.plain else Flavour.OPENSHIFT,
        layers=[] if options.bare else [install_product()],
        enable=[] if options.bare else ["nodenetd.service"],
        files={f"{NODE_FILES}/{path.name}": path.read_text() for path in options.node_file},
    )
    node.boot()
    return node


def _visit(node: Node, command: list[str]) -> int:
    if not command:
        progress(f"node {node.name} is booting; its console is {node.console_log}; leave it with `exit`")
    argv = node.enter_argv(*(command or ["/bin/bash", "--login"]), term=os.environ.get("TERM", "dumb"))
    return subprocess.call(argv)


if __name__ == "__main__":
    sys.exit(main())
