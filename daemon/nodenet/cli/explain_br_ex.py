"""Which link is the uplink of br-ex and why, what would be applied, and what would that change?

Prints a YAML stream. Text for people is in comments, so each document can be cut out and used.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from io import StringIO
from typing import Any

from nodenet.cli import outputs
from nodenet.cli.outputs import printable
from nodenet.core.br_ex import facts_json
from nodenet.core.br_ex.condition import BridgeCondition
from nodenet.core.br_ex.explain import MADE_BY, conditions, explanation
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.plan import Plan, plan
from nodenet.core.errors import Unavailable
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.settings.model import Datapath

DESCRIPTION = """Show which link is the uplink of br-ex (and br-ex1) and why, the condition of a bridge that exists,
what nodenetd would apply as an NMState document, and what that would change. Nothing is changed."""
EPILOG = """exit codes: 0 there is a plan, 64 wrong option, 65 the uplink is refused or the file is invalid, 69 a
service that is needed does not answer, 77 a service answers only root, 78 invalid settings."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topic's options."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    add = parser.add_argument
    add("--snapshot", metavar="FILE", help="explain these facts (`-`: standard input) instead of those of this host")
    add("--facts", action="store_true", help="print the facts themselves, for --snapshot on another machine")
    add(
        "--datapath",
        choices=[str(each) for each in Datapath],
        help="use this datapath instead of the setting bridge.datapath",
    )
    add("--json", action="store_true", help="print one JSON document instead of YAML")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; return the exit code."""
    facts, datapath = _facts(arguments)
    if arguments.facts:
        print(json.dumps(facts_json.document(facts), indent=1))
        return 0
    with nullcontext() if arguments.snapshot is None else outputs.whole(arguments.snapshot):
        made = plan(facts, datapath)
        found = conditions(facts, made.uplinks)
        difference = _difference(made, facts)
    if arguments.json:
        print(json.dumps(explanation(made, found) | {"difference": difference}, indent=1))
    else:
        unused = None if arguments.snapshot is not None else _why_not_made()
        print("\n".join([*([f"# {printable(unused)}."] if unused else []), *_lines(made, found, difference)]))
    return 0


def _why_not_made() -> str | None:
    """Return why nodenetd makes no br-ex on this node, None where it does. Raises SettingsInvalid."""
    from nodenet.core.settings.parse import parse  # noqa: PLC0415 - a saved node needs no settings
    from nodenet.edge.files.settings import read  # noqa: PLC0415

    name = parse(read()).settings.network_type
    if name == "OVNKubernetes":
        return None
    return f"{f'network_type is {name}' if name else 'network_type is not set'}: nodenetd makes no br-ex on this node"


def _facts(arguments: argparse.Namespace) -> tuple[BridgeFacts, Datapath]:
    if arguments.snapshot is not None:
        facts = outputs.read(arguments.snapshot, facts_json.MOST_BYTES, facts_json.parse)
        return facts, Datapath(arguments.datapath or Datapath.SYSTEM)
    from nodenet.cli import facts_here  # noqa: PLC0415 - a saved node needs neither bus nor kernel

    facts, datapath = facts_here.read()
    return facts, Datapath(arguments.datapath or datapath)


def _difference(made: Plan, facts: BridgeFacts) -> dict[str, Any]:
    """Ask libnmstate, in a separate process, what the plan would change in the state of the facts."""
    import asyncio  # noqa: PLC0415 - the other topics need no child process

    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415

    async def ask() -> dict[str, Any]:
        async with Nmstate().transaction() as transaction:
            return await transaction.compare(json.dumps(made.document), facts.state)

    try:
        return asyncio.run(ask())
    except NmstateFailure as error:
        raise Unavailable(f"libnmstate cannot compare the plan: {error.cause}", remedy=error.remedy) from error


def _lines(made: Plan, found: tuple[BridgeCondition, ...], difference: Mapping[str, Any]) -> Iterator[str]:
    for uplink in made.uplinks:
        yield f"# {uplink.bridge} goes over {printable(uplink.link)}, because {printable(uplink.reason)}."
    for condition in found:
        end = "." if condition.sound or not condition.findings else ":"
        yield f"# {condition.bridge} {MADE_BY[condition.owner]}{end}"
        for finding in condition.findings:
            who = "nodenetd repairs it" if finding.ours else "nodenetd does not change it"
            yield f"#   {finding.rule}: {printable(finding.sentence)} ({who})."
    yield from (f"# Note: {printable(note)}." for note in made.notes)
    if made.document_with_lease is not None:
        yield "# Leased addresses and their routes are static at first, until the DHCP server has confirmed them."
    yield from _beside("Set in NetworkManager's profile, because NMState has no key for it", made.nm_properties)
    yield from _beside("Moves with the link", made.sysctls)
    yield from ("---", "# The state that nodenetd would apply.", _yaml(made.document))
    title = "# What that would change." if difference.get("interfaces") else "# That would change nothing."
    yield from ("---", title, _yaml(difference))


def _beside(title: str, by_bridge: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for bridge, values in by_bridge.items():
        yield f"# {title}, {bridge}:"
        for name, value in values.items():
            parts = {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {name: value}
            yield from (f"#   {key} = {printable(json.dumps(each))}" for key, each in parts.items())


def _yaml(document: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415 - JSON needs none

    text = StringIO()
    yaml = YAML(pure=True)
    yaml.indent(mapping=2, sequence=2, offset=0)
    # Through JSON: YAML would otherwise print anchors for parts that occur twice.
    yaml.dump(json.loads(json.dumps(document)), text)
    return "\n".join(map(printable, text.getvalue().rstrip().splitlines()))
