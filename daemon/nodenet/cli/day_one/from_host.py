"""A first node file from a running host, or from a state that was saved there."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.cli.table import printable
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import Unavailable
from nodenet.core.nmstate.failure import NmstateFailure

MOST_BYTES = 16 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a node file that gives a host with the same hardware the network that this host has, or had when FILE "
        "was saved. Only what differs from the defaults is in it, with remarks; what is left out is named on "
        "standard error. Leases, counters, hardware and secrets are not written."
    )
    parser.add_argument(
        "path",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="what `nmstatectl show` printed, or a NodeNetworkState (default: this host)",
    )
    folder.add_output(parser, "the node file")


def run(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    from nodenet.core.day_one import from_host  # noqa: PLC0415
    from nodenet.core.day_one.yaml_writing import plain, render  # noqa: PLC0415

    source = str(arguments.path) if arguments.path is not None else "this host"
    try:
        state = _saved(arguments.path) if arguments.path is not None else asyncio.run(_shown())
        made = from_host.made(state)
    except ArtefactInvalid as error:
        raise folder.invalid(source, error) from error
    text = render(made.document, _head(state, made.left_out))
    folder.write(text, arguments, mode=folder.PUBLIC)  # it has no secrets
    for line in made.left_out:
        note(printable(f"nodenetctl: left out: {line}"))
    # The state of the host does not have what keeps its addresses and metrics.
    expressed = json.dumps(plain(made.document, from_host.PINNED))
    for line in asyncio.run(_not_expressed(expressed, state)):
        note(printable(f"nodenetctl: warning: {line}"))
    return 0


def _head(state: dict[str, Any], left_out: list[str]) -> list[str]:
    names = state.get("hostname")
    name = names.get("running") if isinstance(names, dict) else None
    return [
        f"Made by `nodenetctl day-one from-host` from the state of {name or 'a host'}.",
        "Here is what differs from the defaults. Check it with `nodenetctl day-one check`.",
        *(f"Left out: {line}" for line in left_out),
    ]


def _saved(path: Path) -> dict[str, Any]:
    from nodenet.core.day_one import from_host, reading  # noqa: PLC0415

    text = folder.read(path, MOST_BYTES).decode()
    try:
        found = json.loads(text)
    except ValueError:
        found = reading.read(str(path), text)
    except RecursionError:
        raise ArtefactInvalid("nested too deeply") from None
    return dict(from_host.state_in(found))


async def _shown() -> dict[str, Any]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    try:
        async with Nmstate().transaction() as transaction:
            return await transaction.show()
    except NmstateFailure as failure:
        raise Unavailable(f"the state of this host: {failure.cause}", remedy=failure.remedy) from failure


async def _not_expressed(text: str, state: dict[str, Any]) -> list[str]:
    """Return where the file asks for something else than the host has: that is for a person to look at."""
    from nodenet.core.day_one import from_host  # noqa: PLC0415
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415

    try:
        async with Nmstate().transaction() as transaction:
            left = await transaction.compare(text, state)
    except NmstateFailure as failure:
        return [f"libnmstate cannot compare the file with the state: {failure.cause}"]
    differing = from_host.not_expressed(left, state)
    return [f"the file differs from the state of the host: {', '.join(differing)}"] if differing else []
