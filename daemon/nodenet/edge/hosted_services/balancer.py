"""Which API servers does the haproxy that runs take for alive? (its management guide, 9.3)"""

from __future__ import annotations

import asyncio
import contextlib

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.haproxy import QUESTION, STATE_SOCKET, TABLE

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
