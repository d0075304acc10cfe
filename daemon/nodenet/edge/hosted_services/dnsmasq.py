"""How does this node's dnsmasq get its upstream servers, and when does it start and stop? (its DBus-interface document)

dnsmasq forgets what it was sent over D-Bus when it restarts: its name then gets another owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.dnsmasq import BUS_NAME
from nodenet.core.ip import Family, IPAddress
from nodenet.core.resolver.dns_message import addresses_of, question
from nodenet.edge.bus.connection import DBUS, Bus, Refused, name_owner_changed
from nodenet.edge.resolver.probe import PORT, ask

PATH = "/uk/org/thekelleys/dnsmasq"
INTERFACE = "uk.org.thekelleys.dnsmasq"
"""Path and interface are dnsmasq's own, whatever name it has on the bus."""
PROGRAM = "/usr/sbin/dnsmasq"
HELP_SECONDS = 5.0
FURTHER = ("max-tcp-connections=200",)
"""Twenty connections, as usual, are those of one pod (2.90 and later)."""


class Dnsmasq:
    """dnsmasq over the bus."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """Subscribe; *changed* is called when dnsmasq comes or goes."""
        self._bus = bus
        self._further: str | None = None
        bus.subscribe(name_owner_changed(BUS_NAME), lambda _: changed())

    async def owner(self) -> str | None:
        """Return the bus's own name of the process that runs now, None while none is on the bus. Raises Unavailable."""
        try:
            (owned,) = await self._bus.call(*DBUS, "NameHasOwner", "s", [BUS_NAME])
            return str((await self._bus.call(*DBUS, "GetNameOwner", "s", [BUS_NAME]))[0]) if owned else None
        except Refused as error:
            raise Unavailable(f"the bus does not say who owns {BUS_NAME} ({error.text})") from error

    async def set_servers(self, servers: Sequence[Sequence[str]]) -> None:
        """Replace all upstream servers: each an address, perhaps with ``#PORT``, then domains. Raises Unavailable."""
        await self._call("SetServersEx", "aas", [[list(server) for server in servers]])

    async def read_hosts(self) -> None:
        """Let it read its hosts file again and forget what it has cached. Raises Unavailable."""
        await self._call("ClearCache")

    async def further(self) -> str:
        """Return the lines of configuration that only a newer dnsmasq understands; an older one would not start.

        Empty where the program does not answer: whether it is there at all is another question.
        """
        if self._further is None:
            try:
                text = await _help()
            except (OSError, TimeoutError):
                return ""
            self._further = "".join(f"{line}\n" for line in FURTHER if line.partition("=")[0].encode() in text)
        return self._further

    async def _call(self, method: str, signature: str = "", body: Sequence[object] = ()) -> None:
        try:
            await self._bus.call(BUS_NAME, PATH, INTERFACE, method, signature, list(body))
        except Refused as error:
            raise Unavailable(f"dnsmasq refuses {method} ({error.text})") from error


async def _help() -> bytes:
    """Return what the program says of its options. Raises OSError, TimeoutError."""
    pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    program = await asyncio.create_subprocess_exec(PROGRAM, "--help", stdout=pipe, stderr=none)
    try:
        async with asyncio.timeout(HELP_SECONDS):
            return (await program.communicate())[0]
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


# Which addresses does the DNS server at an address of this node answer for a name? (RFC 1035, 4.1)

ANSWER_SECONDS = 1.0


class NameLookup:
    """Asks over UDP, past every cache of the resolver."""

    def __init__(self, port: int = PORT) -> None:
        """Ask at *port*."""
        self._port = port

    async def addresses(
        self, server: IPAddress, name: str, family: Family, port: int | None = None
    ) -> frozenset[IPAddress]:
        """Return the addresses of *name* that *server* answers, none where it does not answer in time."""
        asked = question(name, family, int.from_bytes(os.urandom(2)))
        answer = await ask(server, port or self._port, asked, ANSWER_SECONDS)
        with contextlib.suppress(ValueError):
            return addresses_of(answer, family) if answer else frozenset()
        return frozenset()
