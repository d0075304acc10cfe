"""Which workload has which address of this node's networks, and why?"""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from nodenet.cli.ask import ask
from nodenet.cli.outputs import Table, has_colours, note, printable
from nodenet.core.errors import Unavailable, UsageInvalid
from nodenet.core.persistent_ips import bus
from nodenet.core.persistent_ips.bus import HEADINGS, IPAM, NAME, NOTHING, PATH, REPAIR, differences, open_differences

SECONDS, CHECK_SECONDS = 10.0, 300.0
SETTLE_SECONDS = 120.0
"""So long an ADD of whereabouts may take."""
DEGRADED = 2
REMEDY = "Look at `systemctl status nodenet-ipam`; it is off until `systemctl enable --now nodenet-ipam`"
_CLAIM = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Show the addresses that nodenet-ipam gave to workloads: address, state, claim, pod, node, and since when. "
        "This needs no API. `explain` shows why a claim has its address, or what it waits for. `check` compares the "
        "store of this node with the Leases and claims of the cluster, for root. `import` takes over what whereabouts "
        "has given: for each address a Lease, then the configuration of its definitions. "
        "Exits 0 without problems, 2 where there are problems or differences."
    )
    parser.add_argument(
        "order", nargs="?", choices=("explain", "check", "import"), metavar="ORDER", help="explain, check or import"
    )
    parser.add_argument("claim", nargs="?", metavar="CLAIM", help="NAMESPACE/NAME of the claim to explain")
    parser.add_argument("--network", default="", metavar="NAME", help="this network only")
    parser.add_argument("--json", action="store_true", help="print the document that the service returns")
    parser.add_argument("--repair", action="store_true", help="with check: also repair what can safely be repaired")
    parser.add_argument("--kubeconfig", default="", metavar="FILE", help="with import: an administrator's")
    parser.add_argument(
        "--lease-namespace", default="nodenet-ipam", metavar="NAME", help="with import: `[ipam] lease_namespace`"
    )
    parser.add_argument(
        "--settle",
        type=float,
        default=SETTLE_SECONDS,
        metavar="SECONDS",
        help="with import: how long late addresses are looked for",
    )
    parser.add_argument("--dry-run", action="store_true", help="with import: print what would be done, change nothing")


def run(arguments: argparse.Namespace) -> int:
    """Print what was asked for; return the exit code."""
    _judge(arguments)
    if arguments.order == "explain":
        print("\n".join(map(printable, _asked("Explain", arguments.claim, SECONDS).splitlines())))
        return 0
    if arguments.order == "check":
        return _check(repair=arguments.repair, as_json=arguments.json)
    if arguments.order == "import":
        from nodenet.cli import claims_import  # noqa: PLC0415 -- only this order needs it

        return claims_import.run(arguments)
    document = json.loads(_asked("GetClaims", arguments.network, SECONDS))
    if arguments.json:
        print(json.dumps(document, indent=2))
    else:
        _show(document)
    return DEGRADED if document["problems"] else 0


def _judge(arguments: argparse.Namespace) -> None:
    """Raise UsageInvalid for words that do not belong together."""
    if arguments.order == "explain" and not _CLAIM.fullmatch(arguments.claim or ""):
        raise UsageInvalid("explain takes NAMESPACE/NAME of a claim", remedy="Run `nodenetctl claims` to see all")
    if arguments.order != "explain" and arguments.claim:
        raise UsageInvalid(f"{arguments.order} takes no claim", remedy="Run `nodenetctl claims explain NAMESPACE/NAME`")
    if arguments.order in ("explain", "check") and arguments.network:
        raise UsageInvalid(f"{arguments.order} takes no --network", remedy="Run it without")
    if arguments.repair and arguments.order != "check":
        raise UsageInvalid("--repair belongs to check", remedy="Run `nodenetctl claims check --repair`")
    if arguments.order != "import" and (arguments.kubeconfig or arguments.dry_run):
        raise UsageInvalid("--kubeconfig and --dry-run belong to import", remedy="Run `nodenetctl claims import`")
    if arguments.order == "import" and arguments.json:
        raise UsageInvalid("import has no --json", remedy="Run it without")


def _asked(member: str, argument: str, seconds: float) -> str:
    try:
        (answer,) = ask(member, "s", [argument], seconds=seconds, at=(NAME, PATH, IPAM.name))
    except Unavailable as error:
        if error.cause == f"{NAME} is not on the bus":
            raise Unavailable("nodenet-ipam does not run on this node", remedy=REMEDY) from error
        raise
    return str(answer)


def _check(*, repair: bool, as_json: bool) -> int:
    document = json.loads(_asked("Check", REPAIR if repair else "", CHECK_SECONDS))
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(map(printable, differences(document))))
    return DEGRADED if open_differences(document) else 0


def _show(document: dict[str, Any]) -> None:
    for problem in document["problems"]:
        note(f"nodenetctl: {printable(problem)}")
    if rows := bus.rows(document):
        table = Table(HEADINGS)
        for row in rows:
            table.add(row)
        print(table.render(coloured=has_colours()))
    else:
        print(NOTHING)
