"""How is nodenet's own nft table set and removed? (nft(8))

nft reads a whole file as one transaction: a packet meets the old table or the new one.
"""

from __future__ import annotations

import asyncio

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.haproxy import TABLE

NFT = "/usr/sbin/nft"
SECONDS = 10.0
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
            async with asyncio.timeout(SECONDS):
                output, errors = await process.communicate(given.encode())
        except TimeoutError as error:
            raise Unavailable(f"{self._nft} did not end within {SECONDS:.0f} s", remedy=REMEDY) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = errors.decode(errors="replace").strip().partition("\n")[0]
            raise Unavailable(f"nft refuses the table {self._table}: {said or process.returncode}", remedy=REMEDY)
        return output.decode(errors="replace")
