"""Why does this node have this host name, and why not another one?

Reads every source itself: files, kernel, NetworkManager's leases, DNS. Needs no daemon and changes nothing.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from nodenet.cli.outputs import Table, has_colours, note, printable
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.hostname import (
    FALLBACK_FILE,
    STATIC_FILE,
    Judged,
    Origin,
    Source,
    Verdict,
    judged,
    kernel_source,
    on_command_line,
    static_source,
)

DESCRIPTION = """Show the host name of this node, and for every other name that a source gives why it is not used.

The sources are /etc/hostname, the present host name of the kernel, the DHCP leases of NetworkManager, reverse DNS of
the addresses of this host, and the kernel command line. Neither the daemon nor a node file is needed."""
EPILOG = "exit codes: 0 the node has a host name, 1 no source gives a valid one."
COLOURS = {Verdict.SELECTED: "1;32", Verdict.USABLE: "33", Verdict.REFUSED: "2", Verdict.ABSENT: "2"}
"""SGR parameters (ECMA-48)."""
QUIET_SECONDS = 0.3
DNS_SECONDS = 1.0
"""How long DNS may take, all in all, and how long before that is reported."""
MOST_ADDRESSES = 8
"""A node's own name belongs to one of its first addresses, if it belongs to an address at all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topic's options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")
    parser.add_argument("--root", type=Path, default=Path("/"), metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--no-dns", action="store_true", help="do not ask DNS for the names of this host's addresses")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; return the exit code."""
    found = judged(_sources(arguments.root, ask_dns=not arguments.no_dns), dhcpv6=_dhcpv6())
    name = next((item.name for item in found if item.verdict is Verdict.SELECTED), None)
    print(json.dumps(_document(name, found), indent=1) if arguments.json else _table(name, found))
    return 0 if name else 1


def _document(name: str | None, found: Sequence[Judged]) -> dict[str, object]:
    sources = [
        {
            "source": item.source.origin.value,
            "where": item.source.where,
            "value": item.source.value,
            "name": item.name,
            "verdict": item.verdict.value,
            "because": item.sentence,
        }
        for item in found
    ]
    return {"schema_version": 1, "hostname": name, "sources": sources}


def _table(name: str | None, found: Sequence[Judged]) -> str:
    table = Table(("SOURCE", "WHERE", "NAME", "VERDICT", "BECAUSE"))
    for item in found:
        row = (item.source.origin.value, item.source.where, item.source.value or "-", item.verdict.value, item.sentence)
        table.add(row, COLOURS[item.verdict])
    answer = f"The host name is {name}." if name else "This node has no host name yet: no source gives a valid one."
    return f"{table.render(coloured=has_colours())}\n\n{printable(answer)}"


def _sources(root: Path, *, ask_dns: bool) -> tuple[Source, ...]:
    static = static_source(_read(root, str(STATIC_FILE)))
    kernel = kernel_source(socket.gethostname(), _read(root, str(FALLBACK_FILE)))
    leases = _lease_names() or (Source(Origin.DHCP, "NetworkManager's leases"),)
    line = (_read(root, "/proc/cmdline") or b"").decode(errors="replace")
    command_line = on_command_line(line) or (Source(Origin.COMMAND_LINE, "systemd.hostname=, ip="),)
    return (static, kernel, *leases, *(_reverse_names() if ask_dns else ()), *command_line)


def _dhcpv6() -> bool:
    """Return whether the settings let names by DHCPv6 count; not while they cannot be read."""
    from nodenet.core.settings.parse import parse  # noqa: PLC0415
    from nodenet.edge.files.settings import read  # noqa: PLC0415

    try:
        return parse(read()).settings.dhcpv6_hostname
    except NodenetError:
        return False


def _read(root: Path, path: str) -> bytes | None:
    try:
        return (root / path.lstrip("/")).read_bytes()
    except OSError:
        return None


def _lease_names() -> tuple[Source, ...]:
    import asyncio  # noqa: PLC0415 - the other topics need neither loop nor bus

    return asyncio.run(_ask_network_manager())


async def _ask_network_manager() -> tuple[Source, ...]:
    from nodenet.cli.ask import system_bus  # noqa: PLC0415
    from nodenet.edge.hostname import LeaseNames  # noqa: PLC0415

    try:
        async with system_bus() as bus:
            return await LeaseNames(bus).names()
    except Unavailable:
        return ()


def _reverse_names() -> tuple[Source, ...]:
    """Ask DNS for the names of this host's addresses, all at once; an address without a timely answer has none."""
    from nodenet.edge.kernel import netlink  # noqa: PLC0415

    loose = (known.address for known in netlink.snapshot().addresses)
    addresses = [str(ip) for ip in loose if not (ip.is_loopback or ip.is_link_local)][:MOST_ADDRESSES]
    names: dict[str, str] = {}
    threads = [threading.Thread(target=_look_up, args=(ip, names), daemon=True) for ip in addresses]
    for thread in threads:
        thread.start()
    if not _ended(threads, QUIET_SECONDS):
        note("nodenetctl: waiting for DNS")
        _ended(threads, DNS_SECONDS - QUIET_SECONDS)
    return tuple(Source(Origin.REVERSE_DNS, ip, names.get(ip, "")) for ip in addresses)


def _ended(threads: Sequence[threading.Thread], seconds: float) -> bool:
    """Wait at most *seconds* until all *threads* have ended; return whether they have."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def _look_up(address: str, names: dict[str, str]) -> None:
    try:
        names[address] = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
    except OSError:
        return
