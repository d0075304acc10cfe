"""nodenetctl: which verb runs, and how does an error leave the program?"""

from __future__ import annotations

import argparse
import errno
import sys
from importlib import import_module
from typing import Any, NoReturn

from nodenet import __version__
from nodenet.cli import outputs
from nodenet.cli.outputs import printable
from nodenet.core.errors import NodenetError

VERBS = {
    # verb → its line in the list of verbs; the module has the name of the verb, with _ for -
    "status": "show the status of the node: health, node IPs, stages; --wait waits until it is ready",
    "doctor": "look at cable, addresses, gateway, DNS, MTU, kubelet and more now, also while nodenetd is dead",
    "monitor": "print each change as it happens, one line for each event",
    "boot-report": "show where the time of a boot went, as text, JSON or a picture",
    "explain": "show why an address is the node IP, which link br-ex uses, who holds a VIP, and more",
    "hosted": "show DNS, VIPs and load balancer of this node and who holds each VIP; drain this node",
    "claims": "show which workload has which address, why a claim waits, and whether everything agrees",
    "check": "check node files without changing the network",
    "diff": "show what a node file would change on this node, or how two entries of the history differ",
    "verify": "print what another program has changed of the network that the node file asks for",
    "try": "apply a node file and roll it back unless it is confirmed in time",
    "confirm": "keep the node file that is on trial, and install it",
    "rollback": "end the trial of a node file; --to goes back to an entry of the history",
    "history": "show each change of the network: its file, how it ended, and whether the node worked with it",
    "reload": "read settings and node file again, as `systemctl reload nodenetd`",
    "reselect": "select the node IPs again; --dry-run only prints what would change",
    "bridge": "remove br-ex, or make it again",
    "adopt": "take a running node over from the former chain of units; --dry-run prints the steps",
    "hand-back": "give an adopted node back to the former chain of units; --dry-run prints the steps",
    "wait": "wait until one stage has ended",
    "snapshot": "print links, addresses and routes as JSON, for a bug report or for explain",
    "settings": "print every setting with the file that sets it",
    "day-one": "make Ignition, MachineConfig, Secret and install-config from a folder of node files",
    "report": "write one archive for a bug report: status, journal, network and versions, without secrets",
    "fleet": "show many nodes in one table or HTML page, from saved reports, and mark the odd ones",
    "what-if": "show what new node files would do to each node of a fleet, and a roll-out order",
    "version": "print the version",
}
MODULES = {"try": "try_file"}
"""Verbs that are words of Python."""
EPILOG = """exit codes: 0 ok, 1 not ready or failed, 2 degraded, 64 wrong usage, 65 invalid input, 69 no answer,
74 file or output not written, 75 timeout, 77 not allowed, 78 invalid settings. See also: journalctl -u nodenetd -x"""


EX_IOERR, EX_NOPERM = 74, 77
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of write(2); one that has no file name is about standard output."""
PRINTING = frozenset({"monitor", "boot-report", "snapshot", "settings", "version"})
"""Verbs that only print: a reader that leaves early (`| head`) is no failure."""


class Parser(argparse.ArgumentParser):
    """argparse with the exit code of sysexits.h for a wrong command line, and the usage of the verb it is about."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401
        """Parse; exit 64 for an argument that is not known here: the parser of all verbs would print its own usage."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print usage and reason; exit 64."""
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line; with *only*, it has the options of that verb only."""
    top = Parser(
        prog="nodenetctl",
        description="Inspect, check and control nodenetd, which sets up the node network before kubelet starts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"nodenet {__version__}", help="print the version")
    verbs = top.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for verb, summary in VERBS.items():
        sub = verbs.add_parser(verb, help=summary)
        if only in (None, verb):
            _module(verb).add_arguments(sub)
    return top


def _module(verb: str) -> Any:  # noqa: ANN401
    return import_module(f"nodenet.cli.{MODULES.get(verb, verb.replace('-', '_'))}")


def main(argv: list[str] | None = None) -> int:
    """Run one verb; return its exit code, which stays the same without a reader of the output (`status | true`).

    If the reader leaves before the code is known, it is 74; for a verb that only prints it is 0.
    """
    words = (sys.argv[1:] if argv is None else argv) or ["status"]
    verb = next((word for word in words if not word.startswith("-")), "")
    code = 0 if verb in PRINTING else EX_IOERR
    outputs.prepare()
    try:
        code = _run(verb, words)
        sys.stdout.flush()
    except BrokenPipeError:
        outputs.drop(sys.stdout)
    except OSError as error:
        return _unforeseen(error)
    except KeyboardInterrupt:
        return 130
    finally:
        outputs.end()
    return code


def _unknown(verb: str) -> str:
    """Return what is wrong with a word that is no verb, with the verb that it nearly is."""
    import difflib  # noqa: PLC0415 - needed for a mistake only

    near = [known for known in VERBS if len(verb) > 1 and known.startswith(verb)]
    near = near or difflib.get_close_matches(verb, VERBS, n=1, cutoff=0.7)
    meant = f" Did you mean `{near[0]}`?" if near else ""
    return f"there is no verb {verb!r}.{meant} `nodenetctl --help` lists them"


def _run(verb: str, words: list[str]) -> int:
    try:
        top = parser(only=verb)
        if verb and verb not in VERBS:
            top.error(printable(_unknown(verb)))
        arguments = top.parse_args(words)
    except SystemExit as end:  # of help, or of a wrong command line
        return int(end.code or 0)
    try:
        code: int = _module(arguments.verb).run(arguments)
    except NodenetError as error:
        outputs.note(printable(f"nodenetctl: {error}"))
        return error.exit_code
    return code


def _unforeseen(error: OSError) -> int:
    """Print what the kernel refused for the output or for a file; return the exit code."""
    outputs.drop(sys.stdout)
    what = error.filename or ("the output cannot be written" if error.errno in DISK_ERRORS else type(error).__name__)
    outputs.note(f"nodenetctl: {what}: {error.strerror or error}")
    return EX_NOPERM if isinstance(error, PermissionError) else EX_IOERR


if __name__ == "__main__":
    sys.exit(main())
