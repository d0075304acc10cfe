"""What do HAProxy and dnsmasq on this node answer?"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.dnsmasq import BUS_NAME
from nodenet.core.hosted_services.haproxy import QUESTION, STATE_SOCKET, TABLE
from nodenet.core.ip import Family, IPAddress
from nodenet.core.resolver import addresses_of, question
from nodenet.edge.bus.connection import DBUS, Bus, Refused, name_owner_changed
from nodenet.edge.resolver import PORT, ask

SECONDS = 1.0
MOST_BYTES = 1 << 20


class Balancer:
    """haproxy of this node, by a socket that answers questions alone."""

    def __init__(self, path: str = STATE_SOCKET) -> None:
        """Ask at *path*."""
        self._path = path

    async def servers(self) -> str:
        """Return the states of its servers, as it says them. Raises Unavailable."""
        content = bytearray()
        try:
            async with asyncio.timeout(SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._path)
                with contextlib.closing(writer):
                    writer.write(f"{QUESTION}\n".encode())
                    while (part := await reader.read(1 << 16)) and len(content) < MOST_BYTES:
                        content += part
        except OSError as error:  # TimeoutError is one
            raise Unavailable(f"haproxy does not answer at {self._path}: {error.strerror or 'time-out'}") from error
        return content.decode("ascii", "replace")


# How is nodenet's own nft table set and removed? (nft(8))
#
# nft reads a whole file as one transaction: a packet meets the old table or the new one.

NFT = "/usr/sbin/nft"
NFT_SECONDS = 10.0
REMEDY = "Run `nft list tables`; install nftables where there is no nft"


class RedirectTable:
    """A table of nodenet's own: that of ``core.hosted_services.haproxy``, or another one."""

    def __init__(self, nft: str = NFT, table: str = TABLE) -> None:
        """*nft* is the program, *table* the table's family and name."""
        self._nft = nft
        self._table = table

    async def put(self, rules: str) -> None:
        """Replace the table by *rules* in one transaction. Raises Unavailable."""
        await self._run("-f", "-", given=rules)

    async def remove(self) -> None:
        """Remove the table; where there is none, nothing happens. Raises Unavailable."""
        await self._run("-f", "-", given=f"table {self._table}\ndelete table {self._table}\n")

    async def is_there(self) -> bool:
        """Return whether the table exists. Raises Unavailable."""
        return f"table {self._table}" in (await self._run("list", "tables")).splitlines()

    async def printed(self) -> str:
        """Return the table that exists as nft prints it. Raises Unavailable, also where there is none."""
        return await self._run("list", "table", *self._table.split())

    async def _run(self, *words: str, given: str = "") -> str:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(self._nft, *words, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise Unavailable(f"{self._nft} does not start: {error.strerror}", remedy=REMEDY) from error
        try:
            async with asyncio.timeout(NFT_SECONDS):
                output, errors = await process.communicate(given.encode())
        except TimeoutError as error:
            raise Unavailable(f"{self._nft} did not end within {NFT_SECONDS:.0f} s", remedy=REMEDY) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = errors.decode(errors="replace").strip().partition("\n")[0]
            raise Unavailable(f"nft refuses the table {self._table}: {said or process.returncode}", remedy=REMEDY)
        return output.decode(errors="replace")


# How does dnsmasq get its upstream servers, and when does it start and stop? (its DBus-interface document)
#
# dnsmasq forgets what it was sent over D-Bus when it restarts: its name then gets another owner.

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
