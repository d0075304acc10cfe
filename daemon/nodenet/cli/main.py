"""nodenetctl: which verb was asked for, and how does an error leave the program?"""

from __future__ import annotations

import argparse
import errno
import sys
from importlib import import_module
from typing import Any, NoReturn

from nodenet.cli import outputs
from nodenet.core.errors import NodenetError

VERBS = {
    # verb → what the list of verbs says of it; the module has the verb's name, with _ for -
    "status": "how the node stands: health, node IPs, stages; --wait waits until it is ready",
    "monitor": "tell what happens as it happens, one line an event",
    "boot-report": "where the time of a boot went: as text, JSON or a picture",
    "explain": "why this node IP (a verdict for each address), why this host name, what goes below br-ex",
    "check": "check node files without touching the network",
    "reload": "read settings and node file again, as `systemctl reload nodenetd`",
    "reselect": "choose the node IPs anew; --dry-run only says what would change",
    "bridge": "take br-ex away, or make it again",
    "wait": "wait until one stage is over",
    "snapshot": "print links, addresses and routes as JSON, for a bug report or for explain",
    "settings": "print every setting with the file it came from",
    "version": "print the version",
}
EPILOG = """exit codes: 0 ok, 1 not ready or failed, 2 degraded, 64 usage, 65 bad input, 69 nobody answers,
74 file or output not written, 75 time is up, 77 not allowed, 78 bad settings. See also: journalctl -u nodenetd -x"""


EX_IOERR, EX_NOPERM = 74, 77
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Of write(2): what has no file's name is standard output then."""
TELLING = frozenset({"monitor", "boot-report", "snapshot", "settings", "version"})
"""Verbs that judge and do nothing: `| head` has all that it wants of them."""


class Parser(argparse.ArgumentParser):
    """argparse with the exit code of sysexits.h for a wrong command line."""

    def error(self, message: str) -> NoReturn:
        """Print usage and reason; exit 64."""
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the command line's parser; with *only*, the options of that verb alone are read in."""
    top = Parser(
        prog="nodenetctl",
        description="Look at, check and steer nodenetd, which owns this node's network until kubelet starts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = top.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for verb, summary in VERBS.items():
        sub = verbs.add_parser(verb, help=summary)
        if only in (None, verb):
            _module(verb).add_arguments(sub)
    return top


def _module(verb: str) -> Any:  # noqa: ANN401
    return import_module(f"nodenet.cli.{verb.replace('-', '_')}")


def main(argv: list[str] | None = None) -> int:
    """Run one verb; return its exit code, which stands also where nobody reads the output (`status | true`).

    A reader that left before there was a code makes it 74, and 0 of a verb that only tells.
    """
    words = sys.argv[1:] if argv is None else argv
    verb = next((word for word in words if not word.startswith("-")), "")
    code = 0 if verb in TELLING else EX_IOERR
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


def _run(verb: str, words: list[str]) -> int:
    try:
        arguments = parser(only=verb).parse_args(words)
    except SystemExit as end:  # of help, or of a wrong command line
        return int(end.code or 0)
    try:
        code: int = _module(arguments.verb).run(arguments)
    except NodenetError as error:
        outputs.note(f"nodenetctl: {error}")
        return error.exit_code
    return code


def _unforeseen(error: OSError) -> int:
    """Say what the kernel refused, be it the output or a file; return the exit code."""
    outputs.drop(sys.stdout)
    what = error.filename or ("the output cannot be written" if error.errno in DISK_ERRORS else type(error).__name__)
    outputs.note(f"nodenetctl: {what}: {error.strerror or error}")
    return EX_NOPERM if isinstance(error, PermissionError) else EX_IOERR


if __name__ == "__main__":
    sys.exit(main())
