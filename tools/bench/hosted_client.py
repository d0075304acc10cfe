"""Opens connections to one address at a steady rate, from the namespace that it is started in.

``hosted_client.py ADDRESS RATE SECONDS [CA]`` prints a list: for each connection the monotonic time of its start, and
the seconds until it was there (with a CA: until the answer to GET /readyz, by TLS), null where it failed or took longer
than ``PATIENCE_SECONDS``. Why some failed is on standard error.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from collections import Counter

PORT = 6443
NAME = "api-int.c1.example.com"
PATIENCE_SECONDS = 2.5
reasons: Counter[str] = Counter()
"""Why connections failed, and how many."""
REQUEST = b"GET /readyz HTTP/1.0\r\nHost: x\r\n\r\n"


async def attempt(address: str, tls: ssl.SSLContext | None) -> tuple[float, float | None]:
    """Open one connection, and ask by it where *tls* is given."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(
                address, PORT, ssl=tls, server_hostname=NAME if tls else None
            )
            if tls is not None:
                writer.write(REQUEST)
                if b" 200 " not in await reader.readline():
                    raise ConnectionError
            took = time.monotonic() - began
            writer.transport.abort()
    except (OSError, TimeoutError) as error:
        reasons[type(error).__name__] += 1
        return began, None
    return began, took


async def run(address: str, rate: float, seconds: float, ca: str | None) -> list[tuple[float, float | None]]:
    """Return what became of each connection, in the order of their starts."""
    tls = None
    if ca is not None:
        tls = ssl.create_default_context(cafile=ca)
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    began, attempts = time.monotonic(), []
    for number in range(round(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        attempts.append(asyncio.create_task(attempt(address, tls)))
    return list(await asyncio.gather(*attempts))


if __name__ == "__main__":
    address, rate, seconds, *ca = sys.argv[1:]
    print(json.dumps(asyncio.run(run(address, float(rate), float(seconds), ca[0] if ca else None))))
    if reasons:
        print(dict(reasons), file=sys.stderr)
