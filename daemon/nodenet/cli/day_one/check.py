"""Is everything right before the first host boots? Every rule of day one, all findings at once."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.errors import UsageInvalid

STEPS = ("first", "second", "both")


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Check a folder of node files, and what install-config, BareMetalHosts and MachineConfigs say of the same "
        "hosts. All findings are printed at once, each with file, line, column, the name of its rule and a remedy; "
        "docs/day-one-rules.md has the rules. Exits 0 without errors, 65 with errors, 1 with warnings and --strict."
    )
    parser.add_argument("path", type=Path, metavar="DIR", help="a folder of node files, or one of them")
    parser.add_argument("--install-config", type=Path, metavar="FILE", help="install-config.yaml of the cluster")
    parser.add_argument(
        "--hosts", type=Path, metavar="FILE", help="BareMetalHosts and Secrets, one or several YAML documents"
    )
    parser.add_argument(
        "--machine-config",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a file with MachineConfigs; may be given several times",
    )
    folder.add_map(parser)
    parser.add_argument(
        "--step",
        choices=STEPS,
        default="both",
        help="what the node files are for: the deployment image (first), the running node (second), or both (default)",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 when there are warnings")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run_check(arguments: argparse.Namespace) -> int:
    """Print the findings; return the exit code. Raises NodenetError."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.cli.day_one.findings import gathered  # noqa: PLC0415
    from nodenet.core.day_one import rules  # noqa: PLC0415
    from nodenet.core.node_file.finding import Severity  # noqa: PLC0415

    listing = folder.listed(arguments.path)
    found, files = gathered(arguments, listing)
    if not files and not found:
        raise UsageInvalid(f"{arguments.path} has no node file", remedy="Node files end in .yml or .yaml")
    if arguments.json:
        print(json.dumps(rules.document(found, files), indent=2))
    else:
        findings.printed(found)
        sys.stderr.flush()
        print(rules.summary(found, files))
    if any(each.severity is Severity.ERROR for each in found):
        return 65
    return 1 if found and arguments.strict else 0
