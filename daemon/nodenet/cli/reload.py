"""Read settings and node file again: what ``systemctl reload nodenetd`` runs."""

from __future__ import annotations

import argparse
import asyncio
import sys

from nodenet.core.errors import NodenetError, Unavailable

RELOAD_SECONDS = 900.0
"""Three tries of a large apply; the daemon answers earlier when it only waits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Make nodenetd read its settings and the node file again and put them in force. When the new file is "
        "refused, the network and every published file stay as they are, the reason is printed and the exit "
        "code is not 0. An unchanged file changes nothing."
    )
    parser.add_argument("--wait", action="store_true", help="return when the reload is over, with its result")


def run(arguments: argparse.Namespace) -> int:
    """Ask the daemon over the bus; return 0 or the refusal's exit code."""
    return asyncio.run(_reload(wait=arguments.wait))


async def _reload(*, wait: bool) -> int:
    # Imported here: nobody else on the command line speaks D-Bus.
    from nodenet.edge.bus import Bus, Refused  # noqa: PLC0415
    from nodenet.edge.bus_service import INTERFACE, NAME, PATH  # noqa: PLC0415

    bus = Bus(changed=lambda _: None)
    connection = asyncio.create_task(bus.run())
    try:
        if not await bus.wait_up(5.0):
            raise Unavailable("the system bus does not answer", remedy="See `systemctl status dbus`")
        call = bus.call(NAME, PATH, INTERFACE, "Reload", seconds=RELOAD_SECONDS)
        if wait:
            await call
        else:
            await asyncio.wait({asyncio.ensure_future(call)}, timeout=0.2)
    except Refused as refusal:
        print(f"nodenetctl: reload refused: {refusal.text}", file=sys.stderr)
        return exit_code(refusal.name)
    finally:
        connection.cancel()
        await asyncio.wait({connection})
    return 0


def exit_code(bus_name: str) -> int:
    """Return the exit code that goes with a D-Bus error's name."""
    waiting = [NodenetError]
    while waiting:
        error = waiting.pop()
        if error.bus_name == bus_name:
            return error.exit_code
        waiting += error.__subclasses__()
    return NodenetError.exit_code
